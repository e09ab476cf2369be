"""The launcher of Slurm, against a real slurmctld, slurmd and munged on this host."""

import json
import uuid
from pathlib import Path

import numpy as np
import pytest
from hooke.cluster import orders
from hooke.cluster.job import Job
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.make import make
from hooke.cluster.launchers.settings import LocalSettings, SlurmSettings
from hooke.cluster.processes import members
from hooke.cluster.supervisor import MOST_PER_PROCESS

from tests.cluster.bench import kill9, spec
from tests.waiting import LIMIT, wait_for

SITE = SlurmSettings(kind="slurm", slots=4, partition="main")


@pytest.fixture
def site(bench, on_slurm):
    """Return a Bench on the host from which jobs are submitted."""
    return bench


def job_of(slurm, run):
    """Return Slurm's number of the job of a run."""
    return wait_for(lambda: slurm.jobs(f"hooke.{run}.1"), "the job")[0][0]


def finish(site, supervisor):
    assert supervisor.wait(LIMIT) == 0, site.complaints()
    assert site.api.faults == []
    wait_for(lambda: members(site.ids) == [], "the end of every process")


def reasons(site, run):
    return [report.why for report in site.api.reports[run, 1] if report.state == "starting"]


def test_a_run_under_srun_has_the_bits_of_a_local_one(slurm, site):
    document = spec() | {
        "budget": {"samples": 2000},
        "evaluation": {"every": 1000},
        "checkpoint": "never",
        "communication": {"collective": "halving"},
    }
    train = ("-m", "mpi4py", "-m", "hooke.loop.train")
    finals = []
    for launcher in (SITE, LocalSettings()):
        run = site.run_name()
        _, supervisor = site.start(runs=[run], specs={run: document}, launcher=launcher, program=train)
        finish(site, supervisor)
        assert site.api.states(run)[-2:] == ["running", "succeeded"], site.api.end(run)
        with np.load(site.folder(run).path / "final.0.npz") as final:
            finals.append(final["weights"].tobytes())
    assert finals[0] == finals[1]
    assert json.loads((site.folder(run).path.parents[2] / "runs" / run / "1" / "spec.json").read_text())


def test_a_job_waits_in_the_queue_and_says_why_is_cancelled_and_cancelled_in_the_queue(slurm, site):
    slurm.ask("scontrol", "update", f"nodename={slurm.node}", "state=drain", "reason=maintenance")
    run, supervisor = site.start("--steps", "100000", launcher=SITE)
    wait_for(lambda: any("PENDING" in why and "DRAINED" in why for why in reasons(site, run)), "its reason")
    other, second = site.start("--steps", "100000", launcher=SITE)
    wait_for(lambda: any("PENDING" in why for why in reasons(site, other)), "the reason of the other")
    site.folder(other).cancel.touch()
    finish_waiting(site, second, other)
    assert site.api.states(run)[-1] == "starting"
    slurm.ask("scontrol", "update", f"nodename={slurm.node}", "state=resume")
    site.running(run)
    site.api.cancel.add((run, 1))
    finish(site, supervisor)
    assert site.api.end(run).state == "cancelled"
    assert [site.api.records[run, 1, rank][-1].reason for rank in (0, 1)] == ["cancelled"] * 2
    site.assert_complete(run)


def finish_waiting(site, supervisor, run):
    assert supervisor.wait(LIMIT) == 0, site.complaints()
    end = site.api.end(run)
    assert (end.state, site.api.records[run, 1, 0]) == ("cancelled", [])


SLOW = """
import time
import torch

def model():
    return torch.nn.Linear(2, 2)

def data():
    x = torch.randn(64, 2, generator=torch.Generator().manual_seed(0))
    return (x, (x[:, 0] > 0).long()), (x, (x[:, 0] > 0).long())

def loss(output, labels):
    time.sleep(0.05)
    return torch.nn.functional.cross_entropy(output, labels)

def score(output, labels):
    return float((output.argmax(1) == labels).float().mean())
"""
"""Trains for as long as a test lets it, and needs no processor for it."""


def test_a_time_limit_is_a_time_out_with_a_checkpoint_from_which_the_next_attempt_goes_on(
    slurm, site, tmp_path, monkeypatch
):
    (tmp_path / "own" / "workloads").mkdir(parents=True)
    (tmp_path / "own" / "workloads" / "slow.py").write_text(SLOW)
    monkeypatch.setenv("HOOKE_PATH", str(tmp_path / "own"))
    document = spec() | {"workload": {"name": "slow"}, "budget": {"samples": 10**9}, "evaluation": {"every": 6400}}
    soon = SITE.model_copy(update={"time_limit": "1", "signal_seconds": 20})  # Slurm counts in minutes
    run, started = site.run_name(), []
    for attempt in (1, 2):
        more = {"launcher": soon, "program": ("-m", "mpi4py", "-m", "hooke.loop.train"), "attempt": attempt}
        supervisor = site.supervise(site.job([run], specs={run: document}, **more))
        if attempt == 2:
            wait_for(lambda: "running" in site.api.states(run, 2), "the second attempt to be running")
            site.api.cancel.add((run, 2))
        finish(site, supervisor)
        assert site.api.records[run, attempt, 0], site.api.reports
        started.append(site.api.records[run, attempt, 0][0])
    end = site.api.end(run)
    assert (end.state, end.cause) == ("timed_out", "time_limit"), end
    assert "time limit" in end.why and "with a checkpoint" in end.why
    ended = [site.api.records[run, 1, rank][-1] for rank in (0, 1)]
    assert [done.reason for done in ended] == ["cancelled"] * 2
    assert [record.restored_step for record in started] == [None, ended[0].step]
    assert site.api.end(run, 2).state == "cancelled"


def test_an_operators_scancel_and_a_lost_node_are_told_in_slurms_words(slurm, site):
    run, supervisor = site.start("--steps", "100000", launcher=SITE)
    site.running(run)
    slurm.ask("scancel", job_of(slurm, run))
    finish(site, supervisor)
    end = site.api.end(run)
    assert (end.state, "CANCELLED" in end.why, "not by Hooke" in end.why) == ("cancelled", True, True), end
    wait_for(slurm.idle, "the node to be idle")
    run, supervisor = site.start("--steps", "100000", launcher=SITE)
    site.running(run)
    slurm.ask("scontrol", "update", f"nodename={slurm.node}", "state=down", "reason=power")
    assert supervisor.wait(LIMIT) == 0, site.complaints()
    slurm.ask("scontrol", "update", f"nodename={slurm.node}", "state=resume", check=False)
    end = site.api.end(run)
    assert (end.state, "NODE_FAIL" in end.why, slurm.node in end.why) == ("failed_infra", True, True), end


def test_a_killed_supervisor_and_a_restarted_controller_cost_a_run_nothing(slurm, site):
    run = site.run_name()
    folder = site.job([run], "--steps", "100000", launcher=SITE)
    first = site.supervise(folder)
    site.running(run)
    job = job_of(slurm, run)
    kill9(first.pid)
    first.wait()
    launcher = make(Job.model_validate_json(folder.description.read_text()).launcher)
    assert members([f"{run}.1"]), "its ranks live"
    slurm.stop("slurmctld")
    second = site.supervise(folder)
    before = site.written(run, 0)
    wait_for(lambda: site.written(run, 0) > before + 2, "steps without a controller")
    slurm.start("slurmctld")
    wait_for(lambda: f"job {job} is active" in launcher.alive([f"{run}.1"]).replace("Slurm ", "")
             or "still running" in launcher.alive([f"{run}.1"]), "the proof of life")  # fmt: skip
    site.enough(run)
    finish(site, second)
    assert site.api.end(run).state == "succeeded"
    assert [found[0] for found in slurm.jobs(f"hooke.{run}.1")] == [job], "it was submitted once"
    site.assert_complete(run)
    assert orders.prove(site.home, site.api.url, run, 1).alive is False


def test_slurm_takes_the_job_of_the_largest_launch_and_the_last_of_its_attempts_finds_it(slurm, site, tmp_path):
    """Its comment was refused as too long from 27 attempts on, and the job submitted again forever."""
    ids = tuple(f"run_{uuid.uuid4().hex}.1" for _ in range(MOST_PER_PROCESS))
    launcher, folder = make(SITE), tmp_path / "my runs"  # with a blank: the output is there
    folder.mkdir()
    (folder / "job.sh").write_text(launcher.script(Launch("virtual", 1, (folder,), ids, ("-c", "0")), folder))
    job = slurm.ask("sbatch", "--hold", "--parsable", str(folder / "job.sh")).strip()
    assert f"job {job} is active" in launcher.alive([ids[-1]])
    assert launcher.alive([f"run_{uuid.uuid4().hex}.1"]) == ""
    slurm.ask("scontrol", "release", job)
    wait_for((folder / "job.ended.json").exists, "its end")
    assert (folder / "launcher.log").exists()


def test_what_slurm_refuses_for_good_fails_with_its_words(slurm, site):
    run, supervisor = site.start(launcher=SITE.model_copy(update={"partition": "nowhere"}))
    finish(site, supervisor)
    end = site.api.end(run)
    assert (end.state, "invalid partition" in end.why) == ("failed_infra", True), end


@pytest.mark.parametrize("mpirun", [None, "openmpi"], ids=["mpich", "openmpi"])
def test_mpirun_in_the_allocation_starts_ranks_and_passes_a_cancel_on(slurm, site, program_path, mpirun):
    named = program_path(mpirun) if mpirun else None
    if mpirun and not named:
        pytest.skip("NOT TESTED HERE: mpirun.openmpi is not installed (package openmpi-bin)")
    inside = SITE.model_copy(update={"start": "mpirun", "mpirun": named and Path(named)})
    run, supervisor = site.start("--steps", "100000", launcher=inside)
    site.running(run)
    site.api.cancel.add((run, 1))
    finish(site, supervisor)
    assert site.api.end(run).state == "cancelled", site.api.end(run)
    assert [site.api.records[run, 1, rank][-1].reason for rank in (0, 1)] == ["cancelled"] * 2
    site.assert_complete(run)
