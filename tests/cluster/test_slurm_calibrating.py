"""A calibration in a batch job: measured, waiting with Slurm's words, cancelled, ended by the time limit."""

import threading

import pytest
from hooke.calibration.documents import Calibration
from hooke.calibration.request import WorkloadRequest
from hooke.calibration.starting import calibrate
from hooke.cluster import calibrating
from hooke.cluster.launchers.make import make
from hooke.cluster.launchers.settings import SlurmSettings, within
from hooke.cluster.places import Home
from hooke.errors import CalibrationError
from hooke.spec.calibrating import CalibrationOrder

from tests.cluster.test_calibrating import Client
from tests.waiting import LIMIT, wait_for

SITE = SlurmSettings(kind="slurm", slots=4, partition="main")


def named(slurm):
    """Return [name, state] of every job that Slurm knows."""
    return [line.split("|") for line in slurm.ask("squeue", "-h", "-t", "all", "-o", "%j|%T").split()]


def alive(slurm):
    return [state for name, state in named(slurm) if name.startswith("hooke.calibration") and state in
            ("PENDING", "RUNNING", "COMPLETING")]  # fmt: skip


def test_an_order_is_measured_by_the_ranks_of_a_job(on_slurm, tmp_path):
    client, order = Client(), CalibrationOrder(id="cal_1", workers=2, workloads=["digits-mlp"], seconds=1)
    calibrating.calibrate(Home(tmp_path), order, client, SITE)
    *doing, report = client.reports
    assert report.why == "", report
    found = Calibration.model_validate(report.document)
    assert (found.workers, found.hosts, found.start.samples) == (2, 1, 1)
    assert {point.ranks for point in found.curve("all-reduce", "tree").points} == {2}
    assert 0 < found.start.seconds < found.took
    assert any("Slurm's queue" in each.doing or "runs on" in each.doing for each in doing), doing
    assert alive(on_slurm) == []
    assert [path.name for path in (tmp_path / "calibrations").iterdir()] == ["cal_1.json"], "nothing else is left"


def test_one_that_waits_says_why_and_leaves_the_queue_when_it_is_cancelled(on_slurm, tmp_path):
    on_slurm.ask("scontrol", "update", f"nodename={on_slurm.node}", "state=drain", "reason=maintenance")
    try:
        client, order = Client(), CalibrationOrder(id="cal_2", workers=2, workloads=[], seconds=1)
        thread = threading.Thread(target=calibrating.calibrate, args=(Home(tmp_path), order, client, SITE))
        thread.start()
        wait_for(
            lambda: any("PENDING" in each.doing and "DRAINED" in each.doing for each in client.reports),
            lambda: f"Slurm's reason: {client.reports}",
        )
        assert alive(on_slurm) == ["PENDING"]
        calibrating.cancel("cal_2", client)
        thread.join(LIMIT)
        assert client.reports[-1].why == calibrating.CANCELLED
        assert alive(on_slurm) == []
    finally:
        on_slurm.ask("scontrol", "update", f"nodename={on_slurm.node}", "state=resume")


def test_an_end_by_slurm_is_told_in_its_words(on_slurm, tmp_path):
    said = []

    def scancel(text):
        said.append(text)
        if "runs on" in text:
            on_slurm.ask("scancel", "--name", next(name for name, state in named(on_slurm) if state == "RUNNING"))

    with pytest.raises(CalibrationError, match="not by Hooke but by an operator .*CANCELLED"):
        calibrate(2, [WorkloadRequest(name="digits-mlp")], 20, make(SITE), say=scancel, place=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_job_of_a_calibration_asks_for_no_more_time_than_it_may_take():
    assert within(SITE, 370).time_limit == "9"
    assert within(SITE.model_copy(update={"time_limit": "5"}), 370).time_limit == "5"
    assert within(SITE.model_copy(update={"time_limit": "1-00"}), 370).time_limit == "9"
