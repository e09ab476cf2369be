"""A supervisor from start to delivery, with real ranks under mpirun and an API that misbehaves."""

import json
import os
from pathlib import Path

import pytest
from hooke.cluster.places import write_atomically

from tests.cluster.bench import BRIEF, FAST, Tree, kill9, only_child, spec
from tests.waiting import LIMIT, wait_for


def test_a_run_is_reported_and_every_point_arrives_once(bench):
    run, supervisor = bench.start("--steps", "20")
    bench.finish(supervisor)
    assert bench.api.states(run) == ["starting", "running", "succeeded"]
    bench.assert_complete(run)
    assert len(bench.points(run, 1)) == 20
    assert {line.text for line in bench.api.logs[run, 1]} >= {"rank 0 of 2 is here", "rank 1 of 2 is here"}
    assert all(message.renew for *_, message in bench.api.requests if len(message.reports) < 3)
    assert not bench.home.job(bench.started[0][1].path.name).tokens.exists(), "secrets outlive the job"


def test_secrets_are_in_no_command_line_environment_or_readable_file(bench, monkeypatch):
    monkeypatch.setenv("HOOKE_REDIS_URL", "redis://:hunter2@localhost")
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    for pid in Tree(supervisor.pid).ranks.values():
        told = Path(f"/proc/{pid}/environ").read_text() + Path(f"/proc/{pid}/cmdline").read_text()
        assert "HOOKE_ATTEMPT" in told
        assert "hunter2" not in told and f"secret-{run}" not in told
    for path in bench.home.path.rglob("*"):
        if path.is_file() and f"secret-{run}" in path.read_text(errors="replace"):
            assert path.stat().st_mode & 0o077 == 0, path
    bench.folder(run).cancel.touch()
    bench.finish(supervisor)


def test_cancel_ends_the_ranks_with_their_handlers_and_leaves_nothing(bench):
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    samples = bench.folder(run).system
    wait_for(samples.exists, "a sample of what the ranks use")
    bench.api.cancel.add((run, 1))  # by the answer to the next request
    bench.finish(supervisor)
    first, *_, last = map(json.loads, bench.api.files[run, 1, "system"].splitlines())
    assert (list(first["ranks"]), last["ranks"], last["last"]) == (["0", "1"], {}, True)
    assert ("joules" in last) != ("no_joules" in last)
    end = bench.api.end(run)
    assert (end.state, end.exit_code) == ("cancelled", 0)
    assert bench.api.records[run, 1, 0][-1].reason == "cancelled"
    bench.assert_complete(run)


def test_every_rank_is_told_once_of_a_wish_for_a_checkpoint_and_goes_on(bench):
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    for asked in (1, 2):
        bench.api.checkpoints[run, 1] = asked  # said again in every answer from now on
        wait_for(lambda n=asked: [told(bench, run, rank) for rank in (0, 1)] == [n, n], "both ranks")
    answers = len(bench.api.requests)
    wait_for(lambda: len(bench.api.requests) > answers + 4, "more answers")
    assert [told(bench, run, rank) for rank in (0, 1)] == [2, 2]
    assert sum("SIGUSR1" in line.text for line in bench.api.logs[run, 1]) == 2
    bench.folder(run).cancel.touch()
    bench.finish(supervisor)
    bench.assert_complete(run)


def told(bench, run, rank):
    return sum(record.kind == "checkpoint" for record in bench.api.records[run, 1, rank])


def test_cancel_kills_a_rank_that_does_not_listen_and_its_children(bench):
    run, supervisor = bench.start("--steps", "100000", "--fault", "1:5:deaf", timing=BRIEF)
    bench.running(run)
    wait_for(lambda: only_child(Tree(supervisor.pid).ranks[1]), "the child of the rank that is deaf")
    bench.folder(run).cancel.touch()
    bench.finish(supervisor)
    assert bench.api.end(run).state == "cancelled"
    bench.assert_complete(run)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ({"max_stall_seconds": 5}, "no step and no evaluation for"),
        ({"max_seconds": 1}, "after its wall limit of 1 s: a rank hangs: rank 1 is stopped by a signal"),
    ],
)
def test_a_rank_that_is_stopped_ends_the_run_with_its_name(bench, budget, said):
    name = bench.run_name()
    document = spec() | {"budget": {"samples": 1000, **budget}}
    # by itself: a busy test might stop it only once its time is over
    more = {"runs": [name], "specs": {name: document}, "timing": FAST.model_copy(update={"backstop": 8.0})}
    run, supervisor = bench.start("--steps", "100000", "--fault", "1:5:stopped", **more)
    bench.finish(supervisor)
    end = bench.api.end(run)
    assert end.state == "failed_infra"
    assert said in end.why
    assert "rank 1 is stopped by a signal" in end.why
    bench.assert_complete(run)


def test_a_named_pipe_in_place_of_a_rank_s_file_keeps_nobody_waiting(bench):
    """Users' code can make one; who opens it waits for a writer, and a supervisor that waits is heard no more."""
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    folder = bench.folder(run)
    for path in (folder.rank_log(1), folder.exit(1), folder.path / "segments.1", folder.path / "checkpoints"):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    answers = len(bench.api.requests)
    wait_for(lambda: len(bench.api.requests) > answers + 5, "more requests")
    folder.cancel.touch()
    bench.finish(supervisor)
    assert bench.api.end(run).state == "cancelled"
    bench.assert_complete(run)


def test_cancel_before_the_start_starts_nothing(bench):
    run = bench.run_name()
    job = bench.job([run])
    bench.folder(run).path.mkdir(parents=True)
    bench.folder(run).cancel.touch()
    bench.finish(bench.supervise(job))
    assert bench.api.states(run) == ["starting", "cancelled"]
    assert not bench.folder(run).launcher_log.exists()


def test_an_attempt_that_was_declared_dead_never_starts(bench):
    run = bench.run_name()
    job = bench.job([run])
    bench.folder(run).path.mkdir(parents=True)
    bench.folder(run).dead.touch()
    bench.finish(bench.supervise(job))
    assert bench.api.states(run) == ["starting", "failed_infra"]
    assert not bench.folder(run).launcher_log.exists()


def test_an_attempt_that_another_one_superseded_ends_at_once(bench):
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    bench.api.fenced.add((run, 1))
    bench.finish(supervisor)
    assert bench.api.end(run).state == "failed_infra"
    assert "another attempt" in bench.api.end(run).why


def test_an_invalid_specification_is_the_users_fault_and_says_where(bench):
    run = bench.run_name()
    bad = spec() | {"algorithm": {"name": "no-such-thing"}}
    _, supervisor = bench.start(runs=[run], specs={run: bad})
    bench.finish(supervisor)
    assert bench.api.states(run) == ["starting", "failed_user"]
    assert "/algorithm/name" in bench.api.end(run).why


def test_an_api_in_trouble_loses_and_doubles_nothing(bench):
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    for trouble in ("down", "500", "garbage", "deaf"):
        before = bench.written(run, 1)
        bench.api.down() if trouble == "down" else setattr(bench.api, "mode", trouble)
        wait_for(lambda before=before: bench.written(run, 1) > before + 2, "training to go on meanwhile")
        bench.api.up() if trouble == "down" else setattr(bench.api, "mode", "ok")
    bench.enough(run)
    bench.finish(supervisor)
    assert bench.api.states(run) == ["starting", "running", "succeeded"]
    bench.assert_complete(run)


def test_a_run_that_ends_while_the_api_answers_nobody_is_delivered_later(bench):
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    bench.api.mode = "500"
    bench.enough(run)
    wait_for(bench.folder(run).exit(0).exists, "the end of rank 0")
    refused = bench.api.refused
    wait_for(lambda: bench.api.refused > refused + 3, "more attempts to deliver")
    assert supervisor.poll() is None
    bench.api.mode = "ok"
    bench.finish(supervisor)
    assert bench.api.states(run) == ["starting", "running", "succeeded"]
    bench.assert_complete(run)


def test_an_api_that_refuses_large_bodies_gets_smaller_ones(bench):
    run = bench.run_name()
    job = bench.job([run], "--steps", "1100", "--pause", "0")
    bench.api.down()
    supervisor = bench.supervise(job)
    wait_for(bench.folder(run).exit(0).exists, "the end of rank 0")
    bench.api.limit = 150_000
    bench.api.up()
    bench.finish(supervisor)
    assert max(size for *_, size, _ in bench.api.requests) <= 150_000
    bench.assert_complete(run)
    assert len(bench.points(run, 1)) == 1100


def test_flooded_output_is_capped_and_a_damaged_journal_is_named(bench):
    run, supervisor = bench.start("--steps", "20", "--fault", "1:3:flood", "--fault", "0:5:garbage")
    bench.finish(supervisor)
    lines = bench.api.logs[run, 1]
    assert any("bytes of output not shipped" in line.text for line in lines)
    assert max(len(line.text) for line in lines) == 8192
    assert bench.api.end(run).state == "failed_infra"
    assert "journal" in bench.api.end(run).why and "damaged" in bench.api.end(run).why
    assert len(bench.points(run, 1)) == 20


def test_killing_the_supervisor_ends_the_ranks_and_the_next_one_tells(bench):
    run = bench.run_name()
    job = bench.job([run], "--steps", "100000")
    supervisor = bench.supervise(job)
    bench.running(run)
    kill9(supervisor.pid)
    supervisor.wait()
    again = bench.supervise(job)
    bench.finish(again)
    assert bench.api.states(run) == ["starting", "running", "failed_infra"]
    assert "supervisor died" in bench.api.end(run).why
    bench.assert_complete(run)


def test_killing_the_supervisor_after_the_end_still_reports_the_true_end(bench):
    run = bench.run_name()
    job = bench.job([run], "--steps", "100000")
    supervisor = bench.supervise(job)
    bench.running(run)
    bench.api.down()
    bench.enough(run)
    for rank in range(2):
        wait_for(bench.folder(run).exit(rank).exists, f"the end of rank {rank}")
    kill9(supervisor.pid)
    supervisor.wait()
    bench.api.up()
    bench.finish(bench.supervise(job))
    assert bench.api.states(run) == ["starting", "running", "succeeded"]
    bench.assert_complete(run)


def test_a_second_supervisor_of_the_same_job_leaves_at_once(bench):
    run = bench.run_name()
    job = bench.job([run], "--steps", "100000")
    first = bench.supervise(job)
    bench.running(run)
    assert bench.supervise(job).wait(LIMIT) == 0
    assert bench.api.states(run) == ["starting", "running"]
    assert first.poll() is None
    bench.folder(run).cancel.touch()
    bench.finish(first)
    assert bench.supervise(job).wait(LIMIT) == 0, "all is delivered: nothing to do"
    assert bench.api.states(run) == ["starting", "running", "cancelled"]


def test_a_supervisor_that_is_told_to_end_cancels_and_says_so(bench):
    run, supervisor = bench.start("--steps", "100000")
    bench.running(run)
    supervisor.terminate()
    bench.finish(supervisor)
    assert bench.api.states(run) == ["starting", "running", "cancelled"]
    bench.assert_complete(run)


def test_a_program_that_cannot_start_says_why(bench):
    run = bench.run_name()
    job = bench.job([run])
    text = job.description.read_text().replace("rank_program.py", "no_such_program.py")
    write_atomically(job.description, text)
    bench.finish(bench.supervise(job))
    assert bench.api.end(run).state == "failed_infra"
    assert any("no_such_program" in line.text for line in bench.api.logs[run, 1])
