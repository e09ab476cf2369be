"""Properties of methods for unequal workers, under MPI as in virtual time: who gets which batches, what is lost.

Numbers are those of the list in docs/decisions/0094. A run is played once in each world, by real processes that
the product slows down, and by simulated ones. Others of the list are arithmetic of a server, which is the same in
both: `test_merging.py`, and the equations of the contract.
"""

from collections import Counter

import numpy as np
import pytest
from hooke.loop.compute_time import ComputeTime
from hooke.objective.dispatched import DispatchedBatches, Part
from hooke.spec.journal import unpack

from tests.engine.contract.objective import TRAIN
from tests.engine.loop.setup import BATCH, journal
from tests.engine.loop.setups import UNSTEADY

WORLDS = ("virtual", "mpi")
BEYOND = 3
"""Batches that workers hold at the end: those of one step each."""


def numbers(batches):
    """Return the place of each batch in the sequence of the run, which has every item once per epoch."""
    sequence = DispatchedBatches(TRAIN, BATCH, 5, Part(1, 0, 1), False)
    places = {tuple(sequence.next().tolist()): number for number in range(200)}
    return [places[tuple(items)] for items in batches]


def taken(reports):
    """Return the places of all batches that workers have picked, in no order."""
    return [number for report in reports for number in numbers(report.items)]


def test_the_sequence_has_every_item_once_per_epoch():
    sequence = DispatchedBatches(TRAIN, BATCH, 5, Part(1, 0, 1), False)
    items = np.concatenate([sequence.next() for _ in range(TRAIN)])
    assert all(sorted(items[TRAIN * k : TRAIN * (k + 1)]) == list(range(TRAIN)) for k in range(BATCH))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    "name", ["handed out", "handed out, merged", "handed out, at once", "handed out, elastic"]
)
def test_every_batch_is_used_once_by_whoever_is_free(played, name, world):
    """Property 14: none twice, and none left out but those that workers hold at the end."""
    run = played(name, world)
    found = taken(run.first[:3])
    assert len(found) == len(set(found)) == run.setup.steps
    assert set(found) <= set(range(run.setup.steps + BEYOND))
    shares = [len(report.items) for report in run.first[:3]]
    assert shares[0] > shares[2], "the fast one takes more of them"


@pytest.mark.parametrize("name", ["alone, merged", "alone, at once"])
def test_one_worker_asks_as_often_for_real_as_in_virtual_time(played, name):
    """By default, too, less often than there are updates; of several workers it depends on who is first."""
    asked = [sum(block.n for block in journal(played(name, world).folder, 1, "steps")) for world in WORLDS]
    assert asked[0] == asked[1] < 0.5 * played(name, "virtual").setup.steps


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    ("name", "largest"), [("handed out, merged", 4), ("handed out, at once", 2), ("adapting, merged", 8)]
)
def test_rows_say_where_an_update_begins_though_a_reply_grants_several(played, name, largest, world):
    """Property 16, of methods whose workers ask for ranges: sizes are within the bounds."""
    run, updates, workers = played(name, world), 0, played(name, world).setup.workers
    for rank in range(workers):
        (joined,) = (np.concatenate(column) for column in zip(*columns(run, rank, "joined"), strict=True))
        sizes = np.diff(np.append(np.flatnonzero(joined == 0), len(joined)))
        assert joined[0] == 0 and sum(sizes) == len(run.first[rank].items)
        assert min(sizes) >= 1 and max(sizes) <= largest
        updates += len(sizes)
    asked = sum(block.n for block in journal(run.folder, workers, "steps")) - workers
    assert asked < updates if largest < 4 else asked <= updates


@pytest.mark.parametrize("world", WORLDS)
def test_what_a_worker_that_leaves_had_left_is_used_by_others(played, world):
    """Only the batch of its NaN is used twice, which the account calls handed out again."""
    run = played("handed out, one leaves", world)
    counts = Counter(taken(run.first[:3]))
    (bad,) = numbers(run.first[1].items)[4:]
    assert [number for number, times in counts.items() if times > 1] == [bad]
    assert counts[bad] == 2
    assert sum(counts.values()) == run.setup.steps + 1
    assert 1 <= run.first[3].done.returned / BATCH <= 5
    assert run.first[3].done.dropped == [1]


@pytest.mark.parametrize("world", WORLDS)
def test_an_attempt_that_follows_one_that_died_uses_none_twice(played, world):
    """In what it continues: what the first one did after the checkpoint is done again."""
    run = played("handed out, twice", world)
    before = [number for first, _ in run.ranks[:3] for number in numbers(first.items[: first.saved[-2]])]
    after = taken(run.last[:3])
    assert 18 <= len(before) < 80
    found = before + after
    assert len(found) == len(set(found)) == run.setup.steps


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["adapting", "adapting, merged"])
def test_workers_update_equally_often_and_work_by_their_speed(played, name, world):
    """Properties 15 and 21: at speeds of 4 : 1, once sizes have adapted."""
    run = played(name, world)
    blocks = [block.columns["worker"] for block in journal(run.folder, 2, "steps")]
    order = [int(worker) for block in blocks for worker in unpack("worker", block)]
    late = Counter(order[len(order) // 2 :])
    most = 3 if world == "mpi" else 2  # others may take the cores of one of them; without adaptation it were 4
    assert 1 / most <= late[0] / late[1] <= most
    fast, slow = (report.done.step for report in run.first[:2])
    assert fast + slow == run.setup.steps
    assert fast / slow == pytest.approx(4, rel=0.3 if world == "virtual" else 0.5)


def sizes_of(run, rank):
    """Return the steps of each update of a worker, by the messages in its journal; the last one may be cut.

    The row of a step that begins with a push has a message, and so has the last row: the last push.
    """
    pushes = np.flatnonzero(np.concatenate([sent for (sent,) in columns(run, rank, "messages")]))
    return np.diff(np.unique([0, *pushes]))[:-1].tolist()


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(
    ("name", "bounds", "reached"),
    [
        ("bounded", [(3, 6), (1, 1)], [{3, 6}, {1}]),
        ("handed out", [(1, 8)] * 3, [set()] * 3),
        ("handed out, elastic", [(1, 8)] * 3, [set()] * 3),
        ("overwriting", [(1, 1)] * 3, [{1}] * 3),
    ],
)
def test_sizes_stay_within_the_bounds_of_each_worker(played, name, bounds, reached, world):
    """Property 16: those of the batches that real workers, and simulated ones, computed between two exchanges.

    And 17: with alpha = 1, as the run that overwrites has it, they never change, though `largest` is 16.
    """
    run = played(name, world)
    for rank, ((low, high), some) in enumerate(zip(bounds, reached, strict=True)):
        sizes = sizes_of(run, rank)
        assert len(sizes) > 2
        assert some <= set(sizes) <= set(range(low, high + 1)), (rank, sizes)


def test_a_real_worker_follows_a_change_and_straggles_where_a_simulated_one_does(played):
    """Worker 0 straggles, worker 1 is suddenly slow: by what their gradients took, sleeps included.

    Other programs may make any of them longer: the bounds only tell a change from none.
    """
    run = played("unsteady", "mpi")
    took = [np.concatenate(column) for column in zip(*(columns(run, 1, "wall", "compute")), strict=True)]
    (change,) = UNSTEADY[1]["changes"]
    before, after = took[1][took[0] < change["at"]], took[1][took[0] > change["at"] + 0.05]
    assert min(len(before), len(after)) > 0
    assert 0.4 / change["speed"] < np.median(after) / np.median(before) < 2.5 / change["speed"]
    own = np.concatenate([compute for (compute,) in columns(run, 0, "compute")])
    draws = ComputeTime(run.setup.spec("virtual"), 0)
    drawn = np.array([draws.straggles(UNSTEADY[0]["straggling"]) for _ in own])
    slow = own > 5 * np.median(own)
    assert drawn.sum() > 5
    assert slow[drawn].mean() > 0.5, "a sleep that others made too long is taken off the next one"
    assert slow[~drawn].mean() < 0.3, "others may take a core for long"


def columns(run, rank, *names):
    """Yield the named columns of every block of a rank's journal."""
    for block in journal(run.folder, rank, "steps"):
        yield tuple(np.array(list(unpack(name, block.columns[name]))) for name in names)


def missing(run):
    """Return (what the center lacks of all updates, sum of their L1 norms); one gradient is one update."""
    lr = dict(run.setup.parameters)["lr"]
    center = next(report.center for report in reversed(run.first) if report.center is not None)
    updates = lr * np.sum([report.spent for report in run.first[:3]], axis=0)
    return run.first[0].start - updates - center, lr * sum(report.norms for report in run.first[:3])


@pytest.mark.parametrize("world", WORLDS)
def test_a_delta_merge_loses_nothing(played, world):
    """Property 18: final - initial = sum of the updates."""
    run = played("handed out", world)
    gone, mass = missing(run)
    assert np.abs(gone).sum() < 1e-4 * mass
    assert run.first[0].done.lost_mass is None


@pytest.mark.parametrize("world", WORLDS)
def test_an_overwriting_merge_does_and_the_run_says_how_much(played, world):
    run = played("overwriting", world)
    gone, mass = missing(run)
    assert np.abs(gone).sum() > 0.02 * mass
    assert run.first[0].done.lost_mass == pytest.approx(np.abs(gone).sum() / mass, rel=1e-3)
    assert {report.done.lost_mass for report in run.first[1:]} == {None}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", ["alone, served", "alone, merged", "alone, at once"])
def test_one_worker_is_sequential_sgd_bit_for_bit(played, name, world):
    """Properties 19 and 23."""
    run, plain = played(name, world), played("alone", world)
    assert run.first[-1].center.tobytes() == plain.first[0].center.tobytes()
    assert run.first[0].items == plain.first[0].items
