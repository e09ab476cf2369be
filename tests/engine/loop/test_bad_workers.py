"""NaN on one worker: the run fails with its name, or goes on without it; the center never hears of it."""

import numpy as np
import pytest
from hooke.errors import NumericalError
from hooke.loop.rank import TrainingRank
from hooke.loop.recorder import Recorder
from hooke.spec.journal import unpack

from tests.engine.loop.setup import BATCH, Setup, journal, play_virtual
from tests.engine.loop.setups import SETUPS

WORLDS = ("virtual", "mpi")
LEAVING = {
    "one leaves": (1, 4),
    "one leaves, scored often": (1, 4),
    "one leaves its period": (2, 4),
    "one leaves the lock-free": (1, 4),
    "the first leaves": (0, 2),
    "one leaves before a checkpoint": (1, 4),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", LEAVING)
def test_the_run_goes_on_without_it(played, name, world):
    run, (bad, step) = played(name, world), LEAVING[name]
    deciding = 3 if run.setup.algorithm == "forgiving" else 0
    done = run.first[deciding].done
    assert done.dropped == [bad]
    assert done.reason == "budget"
    assert all(report.done.dropped == [] for rank, report in enumerate(run.first) if rank != deciding)
    (record,) = journal(run.folder, deciding, "dropped")
    assert (record.worker, record.step) == (bad, step)
    assert f"rank {bad} at its step {step}" in record.why
    assert run.first[bad].done.step == step
    assert np.isfinite(run.first[deciding].center).all()
    assert all(np.isfinite(report.weights).all() for report in run.first)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", LEAVING)
def test_the_others_take_over_its_steps(played, name, world):
    run = played(name, world)
    assert sum(report.done.step for report in run.first[:3]) == run.setup.steps
    deciding = 3 if run.setup.algorithm == "forgiving" else 0
    assert run.first[deciding].done.samples == run.setup.steps * BATCH


@pytest.fixture
def rows_when_said(tmp_path, monkeypatch):
    """Return what is filled with (worker, step, rows that its journal holds) when it is said that it has left."""
    found = []
    drop = Recorder.drop

    def noting(recorder, worker, step, why):
        blocks = journal(tmp_path / "run", worker, "steps")
        rows = [int(n) for block in blocks for n in unpack("step", block.columns["step"])]
        found.append((worker, step, rows))
        drop(recorder, worker, step, why)

    monkeypatch.setattr(Recorder, "drop", noting)
    return found


@pytest.mark.parametrize("name", LEAVING)
def test_its_rows_are_there_when_it_is_said(name, tmp_path, rows_when_said):
    """Who follows a running run need not wait for its end to know what the worker did."""
    play_virtual(SETUPS[name], tmp_path / "run")
    bad, step = LEAVING[name]
    assert rows_when_said == [(bad, step, list(range(1, step + 1)))]


def test_a_step_that_left_bad_weights_has_its_row(tmp_path, monkeypatch, rows_when_said):
    """Its gradient was good, and the others count it."""
    check = TrainingRank.check

    def spoilt(rank, vector, what, *others):
        if (what, rank.rank, rank.t) == ("the weights", 1, 5):
            vector[0] = np.inf
        check(rank, vector, what, *others)

    monkeypatch.setattr(TrainingRank, "check", spoilt)
    reports = play_virtual(Setup("unlocked", changes=(("on_bad_worker", "drop"),)), tmp_path / "run")
    assert rows_when_said == [(1, 5, [1, 2, 3, 4, 5])]
    assert sum(ranks[0].done.step for ranks in reports) == 90


@pytest.mark.parametrize("world", WORLDS)
def test_no_checkpoint_follows(played, world):
    """It would lack the worker: a restart could not be told from one with it."""
    run = played("one leaves before a checkpoint", world)
    (left,) = journal(run.folder, 3, "dropped")
    assert all(record.seq < left.seq for record in journal(run.folder, 3, "checkpoint"))
    assert len(list(run.folder.glob("checkpoints/*"))) <= 1, "there would be four"


@pytest.mark.parametrize("algorithm", ["forgiving", "unlocked"])
def test_without_any_worker_it_fails(algorithm, tmp_path):
    nobody = Setup(algorithm, poison=((0, 3), (1, 4), (2, 5)), changes=(("on_bad_worker", "drop"),))
    with pytest.raises(NumericalError, match="no worker is left"):
        play_virtual(nobody, tmp_path / "run")


@pytest.mark.property("P24", workers=3)
@pytest.mark.parametrize("algorithm", ["forgiving", "unlocked", "host-easgd", "turns", "async-easgd"])
def test_by_default_it_fails_by_name(algorithm, tmp_path):
    with pytest.raises(NumericalError, match="gradient of rank 1 holds NaN or Inf at its step 4"):
        play_virtual(Setup(algorithm, poison=((1, 4),)), tmp_path / "run")


def test_two_may_leave(tmp_path):
    for algorithm, deciding in (("forgiving", 3), ("unlocked", 0)):
        two = Setup(algorithm, poison=((0, 3), (2, 5)), changes=(("on_bad_worker", "drop"),))
        run = [reports[0] for reports in play_virtual(two, tmp_path / algorithm)]
        assert run[deciding].done.dropped == [0, 2]
        assert [report.done.step for report in run[:3]] == [3, 82, 5]
