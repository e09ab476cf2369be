"""The agent's order to calibrate, with the real command and a client that keeps what is sent."""

import httpx
from hooke.calibration.documents import Calibration
from hooke.cluster import calibrating
from hooke.cluster.places import Home
from hooke.spec.calibrating import CalibrationOrder


class Client:
    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.reports = []

    def calibration(self, report) -> None:
        if self.failures:
            self.failures -= 1
            raise httpx.ConnectError("down")
        self.reports.append(report)


def test_it_measures_once_and_repeats_its_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrating, "_RETRY_SECONDS", 0.01)
    client, home = Client(failures=2), Home(tmp_path)
    order = CalibrationOrder(id="cal_1", workers=3, workloads=["digits-mlp"], seconds=1)
    calibrating.calibrate(home, order, client)
    (report,) = client.reports
    assert report.why == ""
    found = Calibration.model_validate(report.document)
    assert (found.workers, found.compute[0].workload) == (3, "digits-mlp")
    curve = found.curve("all-reduce", "tree")
    assert {point.ranks for point in curve.points} == {2, 3}  # a part of the ranks, too
    assert {point.pair for point in found.curve("message").points} == {(0, 1), (0, 2), (1, 2)}
    monkeypatch.setattr(calibrating, "_run", lambda *_: "measured again")
    calibrating.calibrate(home, order, client)  # a message may arrive twice
    assert client.reports[1] == report


def test_a_failure_says_what_the_command_said(tmp_path):
    client = Client()
    order = CalibrationOrder(id="cal_2", workers=2, workloads=["no-such-workload"])
    calibrating.calibrate(Home(tmp_path), order, client)
    assert "status 2" in client.reports[0].why
    assert "no-such-workload" in client.reports[0].why
