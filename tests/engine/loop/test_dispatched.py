"""Every example once per epoch: batches handed out from one order, to equal and unequal workers."""

from collections import Counter

import numpy as np
import pytest
from hooke.catalogue.validation import validate_run
from hooke.cli.outcome import result, table
from hooke.errors import AlgorithmError, SpecError
from hooke.loop.dispatch import Dispatch
from hooke.loop.state import RankState
from hooke.loop.train import run_spec_virtual
from hooke.objective.dispatched import DispatchedBatches, Part
from hooke.spec.events import StateReport
from hooke.spec.journal import records

TRAIN = 1294
"""Training items of digits-mlp."""
BATCH = 8


def spec(name, steps, workers=3, **more):
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 2, "hidden2": 2}},
            "algorithm": {"name": name, "parameters": {"lr": 0.01} | more.pop("parameters", {})},
            "workers": workers,
            "world": "virtual",
            "virtual": {"compute_seconds_per_sample": 1e-3, "speeds": [1, 0.3, 0.6], "compute_jitter": 0.3},
            "batch": BATCH,
            "sharding": "dispatched",
            "budget": {"samples": BATCH * steps},
            "evaluation": {"every": 10**6},
        }
        | more
    )


@pytest.fixture
def taken(monkeypatch):
    """Return the indices of every batch that a worker has taken, by worker."""
    found = {}
    take = DispatchedBatches.next

    def noting(batches):
        items = take(batches)
        found.setdefault(batches._part.begin, []).append(items.tolist())
        return items

    monkeypatch.setattr(DispatchedBatches, "next", noting)
    return found


def counted(taken):
    return Counter(item for batches in taken.values() for batch in batches for item in batch)


@pytest.mark.parametrize("name", ["hogbatch", "async-easgd", "adaptive-sgd", "async-sgd", "sync-sgd"])
def test_every_item_once_per_epoch(taken, name):
    """Property 14. A server's workers hold one batch each beyond the budget: the last epoch lacks these alone."""
    epochs = 2
    steps = (epochs * TRAIN // BATCH - 3) // 3 * 3
    run_spec_virtual(spec(name, steps))
    counts = counted(taken)
    assert sum(counts.values()) == steps * BATCH
    assert max(counts.values()) == epochs
    short = sum(epochs - counts[item] for item in range(TRAIN))
    assert short == epochs * TRAIN - steps * BATCH
    if name != "sync-sgd":
        assert len(taken[0]) > 1.5 * len(taken[1]), "the fast one takes more of them"


def test_orders_differ_between_epochs_and_seeds_and_are_the_same_on_all_ranks():
    def order(seed, worker=0):
        batches = DispatchedBatches(10, 5, seed, Part(1, worker, 1), False)
        return [batches.next().tolist() for _ in range(4)]

    first = order(1)
    assert sorted(sum(first[:2], [])) == sorted(sum(first[2:], [])) == list(range(10))
    assert first[:2] != first[2:]
    assert order(1) == first != order(2)


def test_batches_may_lie_in_two_epochs():
    batches = DispatchedBatches(7, 3, 0, Part(1, 0, 1), False)
    items = np.concatenate([batches.next() for _ in range(14)])
    for epoch in range(6):
        assert sorted(items[7 * epoch : 7 * epoch + 7]) == list(range(7))


def test_unequal_parts_of_a_step_cover_it():
    one, two = (DispatchedBatches(60, 1, 3, part, False) for part in (Part(2, 0, 5), Part(3, 2, 5)))
    both = [int(one.next()[0]) for _ in range(24)] + [int(two.next()[0]) for _ in range(36)]
    assert sorted(both) == list(range(60))


def test_peeking_and_restoring_move_nothing():
    batches = DispatchedBatches(20, 2, 0, Part(1, 1, 2), True)
    batches.grant(7, 2)
    seen = []
    for _ in range(3):
        ahead = batches.peek()
        again = DispatchedBatches(20, 2, 0, Part(1, 1, 2), True)
        again.restore(batches.cursor())
        seen.append(batches.next())
        assert np.array_equal(seen[-1], ahead)
        assert np.array_equal(again.next(), ahead)
    assert batches.peek() is None
    with pytest.raises(AlgorithmError, match="dispatched"):
        batches.next()


def test_what_a_worker_gives_back_is_handed_out_first():
    account = Dispatch(3, 1)
    assert account.grant(0, 4) == ((3, 4), -1)
    assert account.grant(1, 2) == ((7, 2), -1)
    account.done(0, 2)  # 0 and 3
    account.left(0)  # 4, 5, 6 go back
    assert account.returned == 3
    assert account.grant(2, 2) == ((4, 2), -1)
    again = Dispatch(3, 1)
    again.restore(account.state())
    assert again.grant(1, 3) == account.grant(1, 3) == ((6, 1), 9)
    assert account.grant(1, 1) == ((11, 1), -1)


def test_an_update_that_did_not_arrive_goes_back_with_the_rest():
    """By hand: worker 0 has 0, 2, 3 and 4; it has said that it used 0 and 2, but their update is lost."""
    account = Dispatch(2, 1)
    account.grant(0, 3)
    account.done(0, 2)
    account.undone(0)
    account.left(0)
    assert account.returned == 4
    assert account.state()["back"] == [0, 2, 3, 4]
    kept = Dispatch(2, 1)
    kept.grant(0, 3)
    kept.done(0, 2)
    kept.settled(0)
    kept.undone(0)
    kept.left(0)
    assert kept.state()["back"] == [3, 4]


def test_batches_of_which_a_worker_told_twice_before_their_update_was_lost_go_back():
    """As at a checkpoint: it tells that it is there, and then asks, with the update."""
    account = Dispatch(2, 1)
    account.grant(0, 3)
    account.done(0, 2)
    account.done(0, 0)
    account.undone(0)
    account.left(0)
    assert account.state()["back"] == [0, 2, 3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_whoever_dies_and_when_every_batch_is_in_one_update_that_arrived(seed):
    """Five of six workers die one after the other, at times between an update and its arrival; ranges go through
    several hands. The last one does the rest."""
    random = np.random.default_rng(seed)
    account, held = Dispatch(6, 1), [[worker] for worker in range(6)]
    living, arrived, back, dies = list(range(6)), Counter(), 0, set(random.choice(120, 5, replace=False))
    for turn in range(400):
        worker, count = int(random.choice(living)), int(random.integers(1, 9))
        (first, number), rest = account.grant(worker, count)
        held[worker] += [*range(first, first + number), *(range(rest, rest + count - number) if rest >= 0 else ())]
        used = held[worker][: int(random.integers(0, len(held[worker]) + 1))]
        account.done(worker, len(used))
        if turn in dies:
            account.undone(worker)
            account.left(worker)
            living.remove(worker)
            back += len(held[worker])
            continue
        account.settled(worker)
        arrived.update(used)
        del held[worker][: len(used)]
    (last,) = living
    assert account.returned == back > 5
    assert set(arrived.values()) == {1}
    assert sorted([*arrived, *held[last]]) == list(range(len(arrived) + len(held[last]))), "none is missing"


def test_an_epoch_may_be_smaller_than_a_batch_and_than_the_number_of_workers():
    """Three items in batches of four, which five workers take in any order, those of earlier epochs among them."""
    random = np.random.default_rng(0)
    workers = [DispatchedBatches(3, 4, 1, Part(1, worker, 5), True) for worker in range(5)]
    items = {}
    for number in random.permutation(60).tolist():
        worker = workers[number % 5]
        if number >= 5:
            worker.grant(number, 1)
        while worker.peek() is not None:
            at = worker._granted[0]
            items[at] = worker.next().tolist()
    whole = sum((items[number] for number in sorted(items)), [])
    assert len(whole) == 240
    assert all(sorted(whole[3 * epoch :][:3]) == [0, 1, 2] for epoch in range(80))


def test_a_worker_that_leaves_gives_its_range_back(tmp_path, taken, monkeypatch):
    """A NaN in mid-epoch: what it had and did not finish is used by others; the account says how much."""
    plain = RankState._next_gradient

    def poisoned(rank, of=1):
        loss = plain(rank, of)
        if rank.rank == 1 and rank.t == 10:
            rank._gradient[0] = float("nan")
        return loss

    monkeypatch.setattr(RankState, "_next_gradient", poisoned)
    steps = TRAIN // BATCH - 4
    chosen = spec("hogbatch", steps, on_bad_worker="drop", parameters={"sizes": [4], "alpha": 1.0})
    run_spec_virtual(chosen, tmp_path)
    *_, done = journal = list(records(tmp_path / "journal.3.jsonl"))
    assert done.dropped == [1]
    (dropped,) = (each for each in journal if each.kind == "dropped")
    assert dropped.why.endswith(f"; {done.returned} samples that it held are handed out again")
    report = StateReport(state="succeeded", unix=0, why="")
    told = " ".join(table(result(chosen, report, {}, {3: done}, [])).split())
    assert f"returned {done.returned} samples of dropped workers were handed out again" in told
    counts = counted(taken)
    bad = taken[1][10]
    assert {item for item, times in counts.items() if times == 2} == set(bad), "the bad batch, at least once"
    assert done.returned % BATCH == 0
    assert BATCH <= done.returned <= 5 * BATCH
    assert sum(counts.values()) == (steps + 1) * BATCH


@pytest.mark.parametrize("name", ["hogbatch", "sync-sgd", "adaptive-sgd"])
def test_a_restart_uses_no_example_twice(tmp_path, taken, name):
    half = spec(name, 60, checkpoint="always")
    run_spec_virtual(half, tmp_path)
    run_spec_virtual(spec(name, 150, checkpoint="always"), tmp_path, resume=True)
    counts = counted(taken)
    assert sum(counts.values()) == 150 * BATCH
    assert max(counts.values()) == 1


def test_without_a_server_and_in_step_it_is_refused():
    with pytest.raises(SpecError, match="no server hands out batches"):
        spec("hogwild-sgd", 10)
