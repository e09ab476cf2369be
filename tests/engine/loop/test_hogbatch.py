"""Hogbatch on workers of unequal speed, in virtual time: who updates how often, with which batches."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hooke.algorithms.hogbatch import Hogbatch
from hooke.catalogue.validation import validate_run
from hooke.errors import SpecError
from hooke.loop.state import RankState
from hooke.loop.train import run_spec_virtual
from hooke.methods.sizes import Sizes
from hooke.spec.journal import records, unpack

STEP = 8 * 1e-3


def spec(workers=2, steps=400, virtual=(), **parameters):
    return validate_run(
        {
            "workload": {"name": "digits-mlp", "parameters": {"hidden1": 4, "hidden2": 4}},
            "algorithm": {"name": "hogbatch", "parameters": {"lr": 0.01} | parameters},
            "workers": workers,
            "world": "virtual",
            "virtual": {
                "latency": 1e-6,
                "seconds_per_byte": 0,
                "compute_seconds_per_sample": 1e-3,
                "compute_jitter": 0.1,
                **dict(virtual),
            },
            "batch": 8,
            "budget": {"samples": 8 * steps},
            "evaluation": {"every": 8 * steps},
        }
    )


def served(folder, chosen):
    """Return the worker of each exchange, and the steps of each worker."""
    run_spec_virtual(chosen, folder)
    blocks = [
        r.columns["worker"] for r in records(folder / f"journal.{chosen.workers}.jsonl") if r.kind == "steps"
    ]
    order = [int(worker) for block in blocks for worker in unpack("worker", block)]
    steps = [list(records(folder / f"journal.{i}.jsonl"))[-1].step for i in range(chosen.workers)]
    return order, steps


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_workers_update_equally_often_where_bounds_allow(tmp_path, ratio):
    """Property 15: counts within a factor alpha; the shares of the work are those of the speeds."""
    chosen = spec(virtual={"speeds": [1, 1 / ratio]}, smallest=1, largest=16, alpha=2.0)
    order, steps = served(tmp_path, chosen)
    updates = Counter(order)
    assert 0.5 <= updates[0] / updates[1] <= 2
    assert sum(steps) == 400
    assert steps[0] / steps[1] == pytest.approx(ratio, rel=0.25)


def test_without_adaptation_the_fast_one_updates_more_often(tmp_path):
    order, steps = served(tmp_path, spec(virtual={"speeds": [1, 0.25]}, alpha=1.0))
    updates = Counter(order)
    assert updates[0] / updates[1] == pytest.approx(4, rel=0.1)
    assert steps[0] == pytest.approx(updates[0], abs=2)


def test_a_bound_that_is_reached_holds(tmp_path):
    order, steps = served(tmp_path, spec(virtual={"speeds": [1, 0.1]}, largest=2))
    updates = Counter(order)
    assert updates[0] / updates[1] == pytest.approx(5, rel=0.2), "ten times as fast, with twice the batch"
    assert max(steps) / updates[0] <= 2.01


def test_large_static_batches_of_one_worker(tmp_path):
    """CPU+GPU Hogbatch: fixed sizes, here 1 and 8 on equal speeds."""
    order, steps = served(tmp_path, spec(alpha=1.0, sizes=[1, 8], largest=8))
    updates = Counter(order)
    assert updates[0] / updates[1] == pytest.approx(8, rel=0.15)
    assert steps[0] / steps[1] == pytest.approx(1, rel=0.1)


def granted(order, steps, counts, alpha=2.0, largest=16):
    """The steps that each worker is granted by B.2 of Ma and Rusu 2020, given the order of its requests.

    u[E] grows by beta T with every batch of a CPU worker with T threads, by 1 with one of another worker.
    """
    updates, size, done, now = [0.0] * len(steps), [1] * len(steps), [0] * len(steps), [0] * len(steps)
    for place, i in enumerate(order):
        if i in order[:place]:
            assert now[i] > 0, "a request follows steps"
            done[i] += now[i]
            updates[i] += counts[i]
            others = updates[:i] + updates[i + 1 :]
            if updates[i] < min(others):
                size[i] = max(1, int(size[i] / alpha))
            elif updates[i] > max(others):
                size[i] = min(largest, int(np.ceil(size[i] * alpha)))
        now[i] = min(size[i], steps[i] - done[i])
    return done


@pytest.mark.parametrize("surviving", [1.0, 0.5])
def test_an_update_of_threads_counts_as_often_as_their_updates_survive(tmp_path, surviving):
    """Property 15 for a worker with 4 threads, each as fast as the other worker: it updates less often."""
    kinds = [{"kind": "hogwild-cpu", "threads": 4}, {"kind": "cpu"}]
    order, steps = served(
        tmp_path, spec(virtual={"devices": kinds, "memory_bandwidth": 1e15}, largest=64, surviving=surviving)
    )
    counts = [4 * surviving, 1.0]
    assert granted(order, steps, counts, largest=64) == steps
    updates = Counter(order)
    assert 0.45 <= counts[0] * updates[0] / updates[1] <= 2.2
    assert steps[0] / steps[1] == pytest.approx(4, rel=0.3)


@pytest.mark.parametrize(
    ("name", "more"), [("hogbatch", {}), ("heterogeneous-easgd", {"period": 2, "longest": 8})]
)
@pytest.mark.parametrize("workers", [2, 3])
def test_sizes_and_counts_go_on_after_a_restart(tmp_path, name, more, workers):
    document = spec(workers, 60 * workers, {"speeds": [1, 0.3, 0.6]}).model_dump(mode="json", by_alias=True)
    document |= {"checkpoint": "always", "checkpoint_every": 8 * 20 * workers}
    document["algorithm"] = {"name": name, "parameters": {"lr": 0.01, **more}}
    chosen = validate_run(document)
    straight = run_spec_virtual(chosen, tmp_path)
    places = sorted((tmp_path / "checkpoints").iterdir(), key=lambda place: int(place.name))
    assert int(places[0].name) < 8 * 55 * workers
    for later in places[1:]:
        (later / "complete.json").unlink()
    for one, other in zip(straight, run_spec_virtual(chosen, tmp_path, resume=True), strict=True):
        assert (one.weights.tobytes(), one.done.step) == (other.weights.tobytes(), other.done.step)


def test_plain_workers_count_once_whatever_survives(tmp_path):
    (order, steps), other = (
        served(tmp_path / name, spec(virtual={"speeds": [1, 0.4]}, surviving=share))
        for name, share in (("one", 1.0), ("half", 0.5))
    )
    assert (order, steps) == other
    assert granted(order, steps, [1.0, 1.0]) == steps


def test_sizes_stay_within_bounds_on_any_path():
    """Property 16, in a random order of updates by three workers."""
    method = Hogbatch(smallest=2, largest=12, alpha=1.7, sizes=(3,))
    sizes, random = Sizes(method, 3), np.random.default_rng(0)
    seen = set()
    for worker in random.choice(3, 500, p=[0.5, 0.3, 0.2]):
        sizes.updated(int(worker))
        seen.update(sizes.now)
        assert all(2 <= size <= 12 for size in sizes.now)
    assert {2, 12} <= seen


@pytest.mark.parametrize("workers", [2, 8])
def test_sizes_of_equal_workers_grow_to_the_largest(workers):
    """By events: who is first in a round is ahead of all others, and nobody falls behind all of them."""
    sizes = Sizes(Hogbatch(largest=8), workers)
    free = [(1.0 + 0.01 * i, i) for i in range(workers)]
    for _ in range(60 * workers):
        at, worker = min(free)
        sizes.updated(worker)
        free[worker] = (at + sizes.now[worker], worker)
    assert sizes.now == [8] * workers
    assert max(sizes.updates) - min(sizes.updates) <= 2


def test_a_size_follows_the_counts_of_the_others():
    def after(counts, worker, size):
        sizes = Sizes(Hogbatch(smallest=2, largest=12, alpha=1.7, sizes=(size,)), 3)
        sizes.updates[:] = counts
        sizes.updated(worker)
        return sizes.now[worker]

    assert after([0, 2, 3], 0, 5) == 2, "5 / 1.7 = 2.9"
    assert after([3, 2, 3], 0, 5) == 9, "5 * 1.7 = 8.5"
    assert after([2, 3, 9], 0, 5) == 5
    assert after([9, 9, 1], 1, 10) == 12
    alone = Sizes(Hogbatch(sizes=(3,)), 1)
    alone.updated(0)
    assert alone.now == [3]


def test_workers_whose_threads_refer_to_the_center_do_not_overwrite_it():
    """Of the paper's CPU and device the device alone does; what it undoes is told with what threads lose."""
    kinds = [{"kind": "hogwild-cpu", "threads": 2}, {"kind": "cpu", "speed": 0.5}]
    chosen = spec(virtual={"devices": kinds, "memory_bandwidth": 1e15}, merging="overwrite", steps=60)
    rank = SimpleNamespace(workers=2, spec=chosen)
    assert Hogbatch(merging="overwrite").overwriting(rank) == [1]
    assert Hogbatch().overwriting(rank) == []
    done = [each.done for each in run_spec_virtual(chosen)]
    assert 0.01 < done[0].lost_mass < 1
    alone = spec(
        virtual={"devices": [kinds[0]], "memory_bandwidth": 1e15}, workers=1, merging="overwrite", steps=60
    )
    assert run_spec_virtual(alone)[0].done.lost_mass == pytest.approx(0, abs=1e-6), "nobody undoes anything"


@pytest.mark.parametrize("bad", [0, 1])
def test_a_nan_does_not_overwrite_the_center(tmp_path, monkeypatch, bad):
    """The run goes on without the worker, whose replica never arrives."""
    plain = RankState._next_gradient

    def poisoned(rank, of=1):
        loss = plain(rank, of)
        if rank.rank == bad and rank.t == 7:
            rank._gradient[3] = float("nan")
        return loss

    monkeypatch.setattr(RankState, "_next_gradient", poisoned)
    chosen = spec(3, 120, {"speeds": [1, 0.4, 0.7]}, merging="overwrite").model_copy(
        update={"on_bad_worker": "drop"}
    )
    outcomes = run_spec_virtual(chosen)
    assert outcomes[-1].done.dropped == [bad]
    assert np.isfinite(outcomes[-1].center).all()
    assert sum(each.done.step for each in outcomes[:3]) == 120


@pytest.mark.parametrize(
    ("parameters", "why"),
    [({"smallest": 5, "largest": 4}, "exceeds"), ({"sizes": [1, 40]}, "between smallest and largest")],
)
def test_bounds_that_contradict_are_refused(parameters, why):
    with pytest.raises(SpecError, match=why):
        spec(**parameters)
