"""What ends a comparison early, Ctrl-C or an error of the caller, keeps the runs that have ended, no thread."""

import os
import signal
import threading
import time

import hooke
import pytest
from hooke.tuning.plan import Plan

from tests.engine.notebook.data import GIVEN, QUICK
from tests.waiting import LIMIT

LONG = QUICK | {"seeds": 3, "samples": 400_000, "evaluate_every": 400_000}


@pytest.fixture(autouse=True)
def _handler_of_python():
    """Let SIGINT raise KeyboardInterrupt, as in a notebook, whatever earlier tests of this process have left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def training() -> list[str]:
    """Return the threads that still train."""
    until = time.monotonic() + LIMIT
    while True:
        left = [t.name for t in threading.enumerate() if t.name.startswith(("hooke-compare", "virtual-rank"))]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.01)


def states(found: hooke.Comparison) -> list[str]:
    return [str(run.figures.state) for run in found.runs]


@pytest.mark.parametrize("after", [0.23, 0.4])
def test_a_signal_ends_the_present_run(after):
    """SIGINT arrives while the calling thread waits for the run."""
    timers = []

    def press(progress):
        if progress.ended == 0 and progress.result is None and not timers:
            timers.append(threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    found = hooke.compare(["sgd", "local-sgd"], **GIVEN, **LONG | {"progress": press})
    assert timers and training() == []
    assert found.interrupted and not found.complete
    assert states(found)[0] == "cancelled" and set(states(found)[1:]) == {"queued"}


def test_runs_that_ended_before_a_signal_are_kept():
    timers = []

    def press(progress):
        if progress.ended == 1 and progress.result is None and not timers:
            timers.append(threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()

    # The target ends the first method's run at its first evaluation; the second has a rate that learns nothing.
    methods = {"sgd": {"lr": 0.2}, "idle": {"algorithm": "sgd", "lr": 1e-12}}
    chosen = LONG | {"progress": press, "seeds": 1, "evaluate_every": 2000}
    found = hooke.compare(methods, **GIVEN, **chosen, target=0.8)
    assert timers and training() == []
    assert states(found) == ["succeeded", "cancelled"]
    assert found.runs[0].evaluations and found.runs[0].figures.time_to_target is not None
    assert found.interrupted and not found.complete


@pytest.mark.parametrize("ended", [1, 2])
def test_an_error_of_the_callback_has_the_runs_that_ended(ended):
    """It is raised at the end of a run, and within the next one."""

    def fail(progress):
        if progress.ended == ended and (progress.result is None) == (ended == 1):
            raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller") as caught:
        hooke.compare(["sgd"], **GIVEN, **QUICK | {"seeds": 3, "progress": fail, "samples": 8000})
    found = caught.value.comparison
    assert states(found)[:ended] == ["succeeded"] * ended and not found.complete
    assert "`comparison`" in caught.value.__notes__[0] and found.verdict
    assert training() == []


def test_ctrl_c_while_planning_keeps_the_trials(monkeypatch):
    following = Plan.following

    def pressed(self, known, reported):
        if known:
            raise KeyboardInterrupt
        return following(self, known, reported)

    monkeypatch.setattr(Plan, "following", pressed)
    found = hooke.compare(["sgd"], **GIVEN, **QUICK, trials=2)
    assert states(found) == ["succeeded"] * 2 and found.interrupted and not found.complete
    assert found.plot().axes and found.table.empty and len(found.trials) == 2


def test_a_comparison_is_complete_when_all_its_runs_have_ended():
    def press(progress):
        if progress.result is not None and progress.ended == 2:
            raise KeyboardInterrupt

    many = QUICK | {"seeds": 3, "progress": press}
    found = hooke.compare(["sgd"], **GIVEN, **many)
    assert states(found) == ["succeeded", "succeeded", "queued"]
    assert found.interrupted and not found.complete
