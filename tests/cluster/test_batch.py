"""Several attempts that share processes."""

import signal

import pytest
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.job import Order

from tests.cluster.bench import kill9, only_child, spec
from tests.waiting import wait_for


def batch(bench, count, *options):
    runs = [bench.run_name() for _ in range(count)]
    specs = {run: spec("original-easgd", workers=2, virtual=True) for run in runs}
    job = bench.job(runs, *options, specs=specs)
    return runs, job


def endless_in_the_middle(bench):
    """Return three runs and their job; the first and the last are done at once."""
    runs, job = batch(bench, 3, "--steps", "100000")
    bench.enough(runs[0])
    bench.enough(runs[2])
    return runs, job


def current(bench, runs):
    return next(run for run in reversed(runs) if bench.folder(run).begun())


def worker_of(supervisor):
    def found():
        guard = only_child(supervisor.pid)
        witness = guard and only_child(guard)
        return witness and only_child(witness)

    return wait_for(found, "the process of the batch")


def test_a_wish_for_a_checkpoint_reaches_the_attempt_that_runs_and_no_other(bench):
    runs, job = batch(bench, 2, "--steps", "100000")

    def kept():
        return [[r.step for r in bench.api.records[run, 1, 0] if r.kind == "checkpoint"] for run in runs]

    supervisor = bench.supervise(job)
    bench.running(runs[0])
    bench.api.checkpoints[runs[0], 1] = 1
    wait_for(lambda: kept()[0], "the checkpoint")
    bench.enough(runs[0])
    bench.running(runs[1])
    answers = len(bench.api.requests)
    wait_for(lambda: len(bench.api.requests) > answers + 4, "more answers")
    bench.enough(runs[1])
    bench.finish(supervisor)
    assert [len(steps) for steps in kept()] == [1, 0]


def test_every_attempt_succeeds_in_one_process(bench):
    runs, job = batch(bench, 3, "--steps", "20")
    bench.finish(bench.supervise(job))
    pids = set()
    for run in runs:
        assert bench.api.states(run) == ["starting", "running", "succeeded"]
        bench.assert_complete(run, ranks=3)
        pids.add(bench.api.records[run, 1, 0][0].pid)
        assert [line.text for line in bench.api.logs[run, 1]] == [f"working on {run}"]
    assert len(pids) == 1


def test_cancel_of_the_current_one_and_of_a_waiting_one(bench):
    runs, job = batch(bench, 4, "--steps", "100000")
    bench.enough(runs[3])
    supervisor = bench.supervise(job)
    bench.running(runs[0])
    bench.folder(runs[0]).cancel.touch()  # it runs: SIGTERM, then a new process for the rest
    bench.api.cancel.add((runs[2], 1))  # it waits: skipped when its turn comes
    wait_for(bench.folder(runs[2]).cancel.exists, "the cancel by an answer")
    bench.running(runs[1])
    bench.enough(runs[1])
    bench.finish(supervisor)
    assert [bench.api.states(run)[-1] for run in runs] == ["cancelled", "succeeded", "cancelled", "succeeded"]
    assert not bench.folder(runs[2]).begun()
    for run in (runs[0], runs[1], runs[3]):
        bench.assert_complete(run, ranks=3)


def test_a_cancel_that_comes_too_late_does_not_hit_the_next_one(bench):
    runs = [bench.run_name() for _ in range(2)]
    specs = {run: spec("original-easgd", workers=2, virtual=True) for run in runs}
    job = bench.job(runs, "--steps", "20", "--fault", f"{runs[0]}:done:linger", specs=specs)
    supervisor = bench.supervise(job)
    journal = bench.folder(runs[0]).journal(2)
    wait_for(lambda: journal.exists() and b'"done"' in journal.read_bytes(), "the first to be done")
    bench.folder(runs[0]).cancel.touch()
    bench.finish(supervisor)
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "succeeded"]


def test_a_killed_process_fails_only_the_attempt_it_was_working_on(bench):
    runs, job = endless_in_the_middle(bench)
    supervisor = bench.supervise(job)
    bench.running(runs[1])
    kill9(worker_of(supervisor))
    bench.finish(supervisor)
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "failed_infra", "succeeded"]
    assert bench.api.end(runs[1]).signal == signal.SIGKILL
    for run in runs:
        bench.assert_complete(run, ranks=3)


@pytest.mark.parametrize("at", ["5", "before"])
def test_a_user_error_fails_only_its_attempt(bench, at):
    """Also before its first record. The defect: the first, which had completed, was reported as failed then."""
    runs = [bench.run_name() for _ in range(3)]
    specs = {run: spec("original-easgd", workers=2, virtual=True) for run in runs}
    job = bench.job(runs, "--steps", "20", "--fault", f"{runs[1]}:{at}:exit3", specs=specs)
    bench.finish(bench.supervise(job))
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "failed_user", "succeeded"]
    assert "gone for a walk" in bench.api.end(runs[1]).why
    assert bench.folder(runs[1]).begun() == (at != "before")


def test_an_invalid_one_does_not_hold_up_the_others(bench):
    runs = [bench.run_name() for _ in range(2)]
    good = spec("original-easgd", workers=2, virtual=True)
    bad = good | {"workload": {"name": "no-such-thing"}}
    job = bench.job(runs, "--steps", "5", specs={runs[0]: bad, runs[1]: good})
    bench.finish(bench.supervise(job))
    assert [bench.api.states(run)[-1] for run in runs] == ["failed_user", "succeeded"]


def test_after_the_supervisors_death_the_next_one_ends_the_current_and_runs_the_rest(bench):
    runs, job = endless_in_the_middle(bench)
    supervisor = bench.supervise(job)
    bench.running(runs[1])
    kill9(supervisor.pid)
    supervisor.wait()
    bench.finish(bench.supervise(job))
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "failed_infra", "succeeded"]
    for run in runs:
        bench.assert_complete(run, ranks=3)


def test_a_supervisor_told_to_end_leaves_what_waits_to_the_next_one(bench):
    runs, job = batch(bench, 3, "--steps", "100000")
    supervisor = bench.supervise(job)
    bench.running(runs[0])
    supervisor.terminate()
    bench.finish(supervisor)
    assert bench.api.states(runs[0])[-1] == "cancelled"
    assert [bench.api.states(run) for run in runs[1:]] == [[], []]
    assert current(bench, runs) == runs[0]
    for run in runs[1:]:
        bench.enough(run)
    bench.finish(bench.supervise(job))
    assert [bench.api.states(run)[-1] for run in runs] == ["cancelled", "succeeded", "succeeded"]


# -- real attempts, under one mpirun ------------------------------------------------------------------------


def real_batch(bench, *options, algorithms=("sync-sgd", "original-easgd", "sync-sgd")):
    """Return runs of two workers, the second with a server as well, and their job."""
    runs = [bench.run_name() for _ in algorithms]
    specs = {run: spec(algorithm) for run, algorithm in zip(runs, algorithms, strict=True)}
    return runs, bench.job(runs, *(option.format(*runs) for option in options), specs=specs)


def in_the_second_of_three(bench):
    """Return runs, job and supervisor: the first is done, the second runs, the third will be done at once."""
    runs, job = real_batch(bench, "--steps", "100000")
    bench.enough(runs[0])
    bench.enough(runs[2])
    supervisor = bench.supervise(job)
    bench.running(runs[1])
    return runs, job, supervisor


def pids(bench, run, ranks=2):
    return [bench.api.records[run, 1, rank][0].pid for rank in range(ranks)]


def test_real_attempts_share_processes_each_with_as_many_ranks_as_it_needs(bench):
    runs, job = real_batch(bench, "--steps", "10")
    bench.finish(bench.supervise(job))
    for run, ranks in zip(runs, (2, 3, 2), strict=True):
        assert bench.api.states(run) == ["starting", "running", "succeeded"]
        bench.assert_complete(run, ranks)
        said = sorted(line.text for line in bench.api.logs[run, 1])
        assert said == [f"rank {rank} of {ranks} is here" for rank in range(ranks)], "its own output, no other's"
    assert pids(bench, runs[0]) == pids(bench, runs[1]) == pids(bench, runs[2])


def test_a_real_attempt_that_waits_for_its_turn_is_not_starting(bench):
    runs, job = real_batch(bench, "--steps", "100000")
    supervisor = bench.supervise(job)
    bench.running(runs[0])
    wait_for(lambda: (runs[1], 1) in {key[:2] for key in bench.api.requests}, "a lease of the second")
    assert bench.api.states(runs[1]) == bench.api.states(runs[2]) == []
    for run in runs:
        bench.enough(run)
    bench.finish(supervisor)


def test_an_error_of_a_real_attempt_fails_no_other_one(bench):
    runs, job = real_batch(bench, "--steps", "20", "--fault", "{1}/1:5:abort3")
    bench.finish(bench.supervise(job))
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "failed_user", "succeeded"]
    assert "rank 1 raised ValueError: the learning rate has gone for a walk" in bench.api.end(runs[1]).why
    assert pids(bench, runs[0]) == pids(bench, runs[1]) != pids(bench, runs[2])


def test_cancel_of_a_real_attempt_and_of_one_that_waits(bench):
    runs, job = real_batch(bench, "--steps", "100000", algorithms=("sync-sgd",) * 4)
    bench.enough(runs[3])
    supervisor = bench.supervise(job)
    bench.running(runs[0])
    bench.folder(runs[2]).path.mkdir(parents=True, exist_ok=True)
    bench.folder(runs[2]).cancel.touch()
    bench.enough(runs[0])
    bench.running(runs[1])
    bench.folder(runs[1]).cancel.touch()
    bench.finish(supervisor)
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "cancelled", "cancelled", "succeeded"]
    assert not bench.folder(runs[2]).begun()


def test_a_killed_rank_fails_only_the_real_attempt_that_it_worked_on(bench):
    runs, _, supervisor = in_the_second_of_three(bench)
    kill9(pids(bench, runs[1])[1])
    bench.finish(supervisor)
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "failed_infra", "succeeded"]
    assert bench.api.end(runs[1]).signal == signal.SIGKILL
    for run, ranks in ((runs[0], 2), (runs[2], 2)):
        bench.assert_complete(run, ranks)


def test_after_the_supervisors_death_the_rest_of_the_real_attempts_run(bench):
    runs, job, supervisor = in_the_second_of_three(bench)
    kill9(supervisor.pid)
    supervisor.wait()
    bench.finish(bench.supervise(job))
    assert [bench.api.states(run)[-1] for run in runs] == ["succeeded", "failed_infra", "succeeded"]


def test_real_attempts_with_files_of_users_share_nothing(bench):
    """A module of a user may keep state from one run to the next."""
    attempt = SupervisedAttempt(bench.folder(run := bench.run_name()), Order(run=run, attempt=1, spec=spec()))
    assert attempt.shareable
    for kind in ("algorithm", "workload"):
        own = getattr(attempt.spec, kind).model_copy(update={"name": "my-own"})
        other = SupervisedAttempt(bench.folder(run := bench.run_name()), Order(run=run, attempt=1, spec=spec()))
        other.spec = attempt.spec.model_copy(update={kind: own})
        assert not other.shareable
