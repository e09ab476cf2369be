"""Checkpoints of a run that goes on: at the asked cadence, two are kept, a restart has every bit."""

import json

import numpy as np
import pytest
from hooke.loop.decisions import RunSchedule
from hooke.spec.journal import records

from tests.engine.loop.setup import BATCH, Setup, journal

WORLDS = ("virtual", "mpi")
TWICE = ["on the host, twice", "in turn, twice", "served, twice", "unlocked, twice"]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", TWICE)
def test_two_are_kept_and_each_is_complete(played, name, world):
    run = played(name, world)
    kept = sorted(int(path.name) for path in (run.folder / "checkpoints").iterdir())
    written = [record.samples for record in journal(run.folder, 0, "checkpoint")]
    assert len(written) >= 4
    assert len(kept) == 2
    assert all(samples <= 90 * BATCH for samples in kept)
    for samples in kept:
        place = run.folder / "checkpoints" / str(samples)
        names = {path.name for path in place.iterdir()}
        assert names == {"complete.json", *(f"rank.{rank}.npz" for rank in range(run.setup.ranks))}
        assert json.loads((place / "complete.json").read_text())["ranks"] == run.setup.ranks


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", TWICE)
def test_the_cadence_is_that_of_samples(played, name, world):
    run = played(name, world)
    deciding = 3 if name in ("in turn, twice", "served, twice") else 0
    every, previous = 18 * BATCH, 0
    both = [r for r in records(run.folder / f"journal.{deciding}.jsonl") if r.kind in ("start", "checkpoint")]
    again = next(n for n, r in enumerate(both) if n and r.kind == "start")  # where the second attempt begins
    first = [r.samples for r in both[1:again]]
    for samples in first:
        assert samples // every > previous // every, "each lies in a period of its own"
        previous = samples
    assert len(first) >= 3


@pytest.mark.parametrize("world", WORLDS)
def test_a_served_restart_has_every_bit(played, world):
    """In turn, because who comes first is another one each time."""
    twice, straight = played("in turn, twice", world), played("in turn", world)
    for one, whole, other in zip(twice.last, twice.first, straight.first, strict=True):
        assert one.weights.tobytes() == whole.weights.tobytes() == other.weights.tobytes()
        assert one.done.step == whole.done.step == other.done.step
        assert one.done.samples == other.done.samples
    assert np.array_equal(twice.last[3].center, straight.first[3].center)


@pytest.mark.property("P23")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["moody, rounded, in turn", "moody, rounded, all alike"])
def test_what_objective_and_wire_type_keep_comes_back(played, name, world):
    """Buffers and generators of the model, and what rounding has left to be sent."""
    run = played(name, world)
    for rank, (one, other) in enumerate(zip(run.last, run.first, strict=True)):
        assert one.weights.tobytes() == other.weights.tobytes()
        place = sorted((run.folder / "checkpoints").iterdir(), key=lambda p: int(p.name))[-1]
        with np.load(place / f"rank.{rank}.npz") as file:
            kept = set(file.files)
        assert "local.moods" in kept
        assert any(key.startswith("residual.") for key in kept)


@pytest.mark.property("P23")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", TWICE)
def test_no_sample_is_spent_twice(played, name, world):
    run = played(name, world)
    workers = run.last[: run.setup.workers]
    assert sum(report.done.step for report in workers) == 90
    restored = [journal(run.folder, rank, "start")[1].restored_step for rank in range(run.setup.workers)]
    assert sum(restored) + sum(report.picked for report in workers) == 90


@pytest.mark.parametrize("world", WORLDS)
def test_the_shared_center_comes_back(played, world):
    run = played("unlocked, twice", world)
    place = sorted((run.folder / "checkpoints").iterdir(), key=lambda p: int(p.name))[-1]
    centers = []
    for rank in range(3):
        with np.load(place / f"rank.{rank}.npz") as file:
            assert set(file.files) == {"meta", "params", "center"}
            centers.append(file["center"])
    assert all(np.array_equal(center, centers[0]) for center in centers)
    for report in run.last:
        assert report.done.lost_mass is None or report.done.lost_mass < 1e-5, "counted from the restart on"


@pytest.mark.parametrize("world", WORLDS)
def test_they_are_off_the_clock(played, world):
    for report in played("in turn, twice", world).first:
        done = report.done
        assert done.clock == pytest.approx(done.wall - done.phases["evaluate"], rel=1e-6)
        assert sum(done.phases.values()) == pytest.approx(done.wall, rel=1e-6)


def test_none_where_the_run_keeps_none():
    spec = Setup("turns", changes=(("checkpoint_every", 8), ("checkpoint", "never"))).spec("virtual")
    assert not RunSchedule(spec).checkpoint_due(800)


@pytest.mark.parametrize("world", WORLDS)
def test_rows_go_on_behind_a_checkpoint(played, world):
    """The journal stays one sequence: every number once, whatever was written between the blocks."""
    run = played("in turn, twice", world)
    for rank in range(4):
        numbers = [record.seq for record in records(run.folder / f"journal.{rank}.jsonl")]
        assert numbers == list(range(len(numbers)))
