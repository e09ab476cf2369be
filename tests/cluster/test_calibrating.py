"""The agent's order to calibrate, with the real command and a client that keeps what is sent."""

import signal
import subprocess
import threading
from types import SimpleNamespace

import httpx
import psutil
import pytest
from hooke.calibration.documents import Calibration
from hooke.cluster import calibrating
from hooke.cluster.agent_client import Refused
from hooke.cluster.places import Home
from hooke.spec.calibrating import CalibrationOrder

from tests.waiting import LIMIT, wait_for


class Client:
    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.reports = []

    def calibration(self, report) -> None:
        if self.failures:
            self.failures -= 1
            raise httpx.ConnectError("down")
        self.reports.append(report)


@pytest.mark.usefixtures("warm_ranks")
def test_it_measures_once_and_repeats_its_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrating, "_RETRY_SECONDS", 0.01)
    client, home = Client(failures=2), Home(tmp_path)
    order = CalibrationOrder(id="cal_1", workers=2, workloads=["digits-mlp"], seconds=1)
    calibrating.calibrate(home, order, client)
    *doing, report = client.reports
    assert all(each.doing for each in doing)
    assert report.why == ""
    found = Calibration.model_validate(report.document)
    assert (found.workers, found.compute[0].workload) == (2, "digits-mlp")
    assert {point.ranks for point in found.curve("all-reduce", "tree").points} == {2}
    monkeypatch.setattr(calibrating, "_run", lambda *_: "measured again")
    calibrating.calibrate(home, order, client)  # a message may arrive twice
    assert client.reports[-1] == report and client.reports.count(report) == 2


def test_a_failure_says_what_the_command_said(tmp_path):
    client = Client()
    order = CalibrationOrder(id="cal_2", workers=2, workloads=["no-such-workload"])
    calibrating.calibrate(Home(tmp_path), order, client)
    assert "status 2" in client.reports[-1].why
    assert "no-such-workload" in client.reports[-1].why


@pytest.mark.usefixtures("warm_ranks")
def test_a_cancelled_calibration_leaves_nothing(tmp_path):
    client, home = Client(), Home(tmp_path)
    order = CalibrationOrder(id="cal_3", workers=2, workloads=[], seconds=60)
    thread = threading.Thread(target=calibrating.calibrate, args=(home, order, client))
    thread.start()
    wait_for(lambda: any("start-up 2" in report.doing for report in client.reports), "its ranks")
    calibrating.cancel("cal_3", client)
    thread.join(LIMIT)
    assert client.reports[-1].why == calibrating.CANCELLED
    assert list((tmp_path / "calibrations").iterdir()) == []
    assert not [line for line in map(command_of, psutil.pids()) if str(tmp_path) in line]
    calibrating.cancel("cal_3", client)  # it has ended: the agent says so again
    assert "nothing of it runs here" in client.reports[-1].why


def command_of(pid):
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def test_what_an_agent_did_not_bring_to_an_end_is_reported_by_the_next_one(tmp_path):
    client = Client()
    (tmp_path / "calibrations").mkdir()
    (tmp_path / "calibrations" / "cal_4.log").write_text("measuring ...\n")
    calibrating.recover(Home(tmp_path), client)
    calibrating.recover(Home(tmp_path), client)
    assert [(report.id, report.why) for report in client.reports] == [("cal_4", calibrating.ABANDONED)]


def test_one_that_the_api_does_not_wait_for_any_more_is_ended():
    """Its order may have arrived late, or the API have heard nothing of it for too long: runs start there."""

    def refuse(_):
        raise Refused("calibration cal_5 is over (failed)")

    told = calibrating._Told("cal_5", SimpleNamespace(calibration=refuse))
    process = subprocess.Popen(["sleep", "1000"])
    try:
        why = calibrating._watch(
            process, LIMIT, lambda: "cal_5" in calibrating._cancelled, lambda: told.look("measuring")
        )
    finally:
        calibrating._cancelled.discard("cal_5")
        process.kill()
        process.wait()
    assert (why, process.returncode) == (calibrating.CANCELLED, -signal.SIGTERM)


def test_one_whose_news_do_not_arrive_goes_on():
    def away(_):
        raise httpx.ConnectError("down")

    calibrating._Told("cal_6", SimpleNamespace(calibration=away)).look("measuring")
    assert "cal_6" not in calibrating._cancelled
