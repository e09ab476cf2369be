"""What a fault has begun is undone in time, although a later strike hangs on it."""

import threading

import pytest
from kombu.exceptions import OperationalError

from benchmarks.soak import running
from benchmarks.soak.drawing import Planned
from benchmarks.soak.running import Log
from benchmarks.soak.striking import Hit


def test_a_strike_that_hangs_on_what_another_one_stopped(tmp_path, monkeypatch):
    going = threading.Event()

    def hanging(_site, _planned):
        assert going.wait(30), "it was never undone"
        return Hit("it")

    strikes = {"stop": lambda _site, _planned: Hit("it", undo=going.set), "ask": hanging}
    monkeypatch.setattr(running, "STRIKES", strikes)
    log = Log(tmp_path)
    running._inflict(None, [Planned(0.0, "stop", 0.05, 0.0), Planned(0.0, "ask", 0.0, 0.0)], log)
    assert [(fault["fault"], fault["hit"]) for fault in log.faults] == [("stop", True), ("ask", True)]
    assert log.ended >= log.began


@pytest.mark.parametrize("error", [OperationalError("Connection refused"), ProcessLookupError()])
def test_a_strike_that_meets_what_another_one_has_taken_away_ends_nothing(error, tmp_path, monkeypatch):
    """An order that is to be sent again while Redis is away ended a soak of a quarter of an hour."""

    def raising(_site, _planned):
        raise error

    monkeypatch.setattr(running, "STRIKES", {"again": raising})
    log = Log(tmp_path)
    running._inflict(None, [Planned(0.0, "again", 0.0, 0.0)], log)
    assert [(fault["hit"], fault["target"]) for fault in log.faults] == [
        (False, f"not possible: {type(error).__name__}")
    ]
