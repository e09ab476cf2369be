"""`hooke run` again: from a checkpoint after a death, and in the order of another run."""

import json
import os
import re
import signal
import subprocess

import numpy as np
import pytest
from hooke.cluster import local_run
from hooke.spec.journal import records
from hooke.spec.specification import RunSpec

from tests.cluster.bench import PROGRAM
from tests.engine.cli.conftest import RUN, command, processes_of
from tests.waiting import LIMIT, wait_for

ENDLESS = {"budget": {"samples": 10**9}, "evaluation": {"every": 10**6}}
VIRTUAL = {
    "world": "virtual",
    "virtual": {"compute_seconds_per_sample": 1e-5, "compute_source": "chosen for this test"},
}
ASYNC = {"algorithm": {"name": "async-easgd", "parameters": {"lr": 0.1, "period": 3}}}


def finals(file):
    with np.load(file) as saved:
        return {name: saved[name].tobytes() for name in saved.files if name != "spec"}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def saved_names(file):
    vectors = finals(file)
    assert len(set(vectors.values())) == len(vectors), "no two of them are equal"
    return set(vectors)


@pytest.mark.usefixtures("warm_ranks")
def test_a_checkpoint_asked_for_survives_the_death_of_a_rank(hooke, spec, tmp_path):
    """Ask by SIGUSR1 under real MPI, kill a rank, go on: every bit is that of a run that nobody disturbed."""
    folder = tmp_path / "out"
    with subprocess.Popen(
        command("run", spec(**ENDLESS), "--run-dir", folder, "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for(lambda: all((folder / f"journal.{rank}.jsonl").exists() for rank in range(2)), "journals")
            process.send_signal(signal.SIGUSR1)
            (complete,) = wait_for(lambda: list(folder.glob("checkpoints/*/complete.json")), "the checkpoint")
            journal = folder / "journal.1.jsonl"
            wait_for(lambda: any(r.kind == "checkpoint" for r in records(journal)), "its record")
            assert process.poll() is None, "the run goes on"
            os.kill(next(iter(records(folder / "journal.1.jsonl"))).pid, signal.SIGKILL)
            process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 1
    budget = {"samples": int(complete.parent.name) + 3200}
    again = spec(**ENDLESS | {"budget": budget})
    ended = hooke("run", again, "--run-dir", folder, "--resume", "--save", tmp_path / "again.npz")
    assert ended.status == 0, ended.err
    straight = spec(**ENDLESS | {"budget": budget} | VIRTUAL)
    ended = hooke("run", straight, "--save", tmp_path / "straight.npz")
    assert ended.status == 0, ended.err
    assert finals(tmp_path / "again.npz") == finals(tmp_path / "straight.npz")
    assert set(finals(tmp_path / "again.npz")) == {"center", "worker_0", "worker_1"}


@pytest.mark.usefixtures("warm_ranks")
def test_a_run_of_an_earlier_version_goes_on_along_its_tree(hooke, refused, spec, tmp_path):
    """Halving was not always the default: a file that names no collective means that of the run it resumes.

    That it is the default now says `test_json_result_equals_the_journals`.
    """
    folder, of_all = tmp_path / "out", VIRTUAL | {"checkpoint": "always", "evaluation": {"every": 3200}}
    then = of_all | {"budget": {"samples": 3200}, "communication": {"collective": "tree"}}
    assert hooke("run", spec(**then), "--run-dir", folder).status == 0
    later = of_all | {"budget": {"samples": 6400}}
    ended = hooke("run", spec(**later), "--run-dir", folder, "--resume", "--json")
    assert ended.status == 0, ended.err
    assert ended.json["samples"] == 6400
    assert json.loads((folder / "spec.json").read_text())["communication"]["collective"] == "tree"
    named = spec(**later | {"communication": {"collective": "halving"}})
    before = contents(folder)
    assert "belongs to another run" in hooke("run", named, "--run-dir", folder, "--resume").err
    assert contents(folder) == before, "what is refused changes nothing"


@pytest.mark.usefixtures("warm_ranks")
def test_a_replay_has_every_bit_of_the_run(hooke, refused, spec, tmp_path):
    recorded, file = tmp_path / "recorded", spec(**ASYNC)
    ended = hooke("run", file, "--run-dir", recorded, "--json")
    assert ended.status == 0, ended.err
    assert sum(ended.json["staleness"].values()) > 50
    again = hooke("run", file, "--replay", recorded, "--json", "--save", tmp_path / "again.npz")
    assert again.status == 0, again.err
    assert "bit for bit" in again.err
    assert again.json["simulated"]
    with np.load(recorded / "final.2.npz") as final, np.load(tmp_path / "again.npz") as saved:
        assert final["center"].tobytes() == saved["center"].tobytes()
        center = saved["center"].copy()
    center[7] += 1
    np.savez(recorded / "final.2.npz", weights=center, center=center)
    unequal = hooke("run", file, "--replay", recorded)
    assert unequal.status == 1
    assert f"center: 1 of {center.size} elements differ" in unequal.err
    assert "not the run" in refused("run", spec(**ASYNC, seed=9), "--replay", recorded).err


def test_a_run_without_an_order_is_not_replayed(refused, spec, tmp_path):
    (tmp_path / "old").mkdir()
    assert "holds no run: spec.json: No such file" in refused("run", spec(), "--replay", tmp_path / "old").err


@pytest.mark.usefixtures("warm_ranks")
def test_a_center_in_a_window_is_saved_and_told(hooke, spec, tmp_path):
    """And how many steps each of the workers took, which go their own way."""
    network = {"virtual": VIRTUAL["virtual"] | {"compute_jitter": 1.0}}
    method = {"name": "hogwild-easgd", "parameters": {"lr": 0.1, "rho": 6.7}}
    ended = hooke("run", spec(algorithm=method, **VIRTUAL | network), "--save", tmp_path / "all.npz")
    assert ended.status == 0, ended.err
    assert saved_names(tmp_path / "all.npz") == {"center", "worker_0", "worker_1"}
    assert "lost mass" in ended.out
    assert "updates on average, at most" in ended.out
    assert "warning: /algorithm/parameters: " in ended.err
    assert "moving rate a = 0.67" in ended.err
    first, second = map(int, re.search(r"worker 0, 1, \.\.\.: (\d+), (\d+)", ended.out).groups())
    assert first + second == 200
    assert first != second


@pytest.mark.usefixtures("warm_ranks")
def test_a_center_on_a_server_that_steps_along_is_saved_and_told(hooke, spec, tmp_path):
    file = spec(algorithm={"name": "sync-easgd1", "parameters": {"lr": 0.1}}, **VIRTUAL)
    ended = hooke("run", file, "--json", "--save", tmp_path / "all.npz")
    assert ended.status == 0, ended.err
    assert saved_names(tmp_path / "all.npz") == {"center", "worker_0", "worker_1"}
    found = ended.json
    assert [score["samples"] for score in found["evaluations"]] == [0, 800, 1600, 2400, 3200], "rank 0 decides"
    assert found["reason"] == "budget"
    assert found["server_phases"]["compute"] == 0
    assert (found["staleness"], found["lost_mass"], found["dropped"]) == ({}, None, [])
    assert "warning" not in ended.err


def test_a_rank_that_hangs_behind_the_wall_limit_is_ended(tmp_path):
    """Of a program that knows no wall limit: it would end a run that is not stopped in time by itself."""
    spec = RunSpec.model_validate(RUN | ENDLESS | {"budget": {"samples": 10**9, "max_seconds": 1.0}})
    local_run.prepare(tmp_path / "out", spec)
    # by itself: this process might stop it only once its time is over
    program = ("-m", "mpi4py", PROGRAM, "--steps", "100000", "--fault", "1:5:stopped")
    started = local_run.start(tmp_path / "out", spec, program=program, backstop=1.0)
    try:
        wait_for(lambda: not started.poll(), "the end of the run")
    finally:
        started.kill()
    report = started.finish()
    assert report.state == "failed_infra"
    assert "wall limit of 1 s: a rank hangs" in report.why
    assert processes_of(tmp_path / "out") == []


def test_a_rank_that_is_stopped_in_mid_run_ends_it_with_its_name(tmp_path):
    spec = RunSpec.model_validate(RUN | ENDLESS | {"budget": {"samples": 10**9, "max_stall_seconds": 5}})
    local_run.prepare(tmp_path / "out", spec)
    started = local_run.start(tmp_path / "out", spec)
    try:
        going = lambda: started.poll() and started.witness.stepped and started.witness.all_started  # noqa: E731
        wait_for(going, "steps")
        os.kill(started.witness.started[1].pid, signal.SIGSTOP)
        wait_for(lambda: not started.poll(), "the end of the run")
    finally:
        started.kill()
    report = started.finish()
    assert report.state == "failed_infra"
    assert "no step and no evaluation for" in report.why
    assert "rank 1 is stopped by a signal" in report.why
    assert processes_of(tmp_path / "out") == []
