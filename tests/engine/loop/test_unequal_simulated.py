"""Adaptive SGD and Heterogeneous EASGD against simulations by events in float64, written from their descriptions.

The simulations know the times of gradients, not the order in which a server was seen to serve: who asks when, how
many batches each gets, what is merged and at what time must follow. Messages and updates take no time.
"""

import heapq

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Objective, Score
from hooke.comm.base import Slice
from hooke.loop.train import run_spec_virtual
from hooke.objective.dispatched import DispatchedBatches, Part

SIZE, ITEMS, BATCH, SAMPLE = 6, 310, 3, 1e-3
SPEEDS = [(1, 0.37, 0.61), (0.2137, 1, 0.83, 0.7757), (1,), (3, 0.1031)]
"""No two workers ask at the same time but at the start and after a merge, where the order is given."""


def drawn():
    """Return least squares of unequal scales and heavy tails: (rows, right sides)."""
    random = np.random.default_rng(20260)
    rows = random.standard_t(4, size=(ITEMS, SIZE)) * np.geomspace(0.3, 1.5, SIZE)
    return rows, rows @ random.normal(size=SIZE) + random.normal(size=ITEMS)


ROWS, SIDES = drawn()


def gradient(x, items):
    rows = ROWS[items]
    return rows.T @ (rows @ x - SIDES[items]) / len(items)


class Squares(Objective):
    """f(x) = mean (row x - side)^2 / 2; keeps all weights that were evaluated."""

    layout = (Slice("x", 0, SIZE, (SIZE,)),)
    train_size, validation_size, test_size = ITEMS, 1, 1

    def __init__(self):
        self.seen = []

    def allocate(self):
        return torch.zeros(SIZE)

    def initial(self, seed):
        return torch.linspace(-1, 1, SIZE)

    def bind(self, weights, gradient):
        self._weights, self._gradient = weights, gradient

    def pick(self, indices):
        return indices

    def gradient(self, batch):
        self._gradient.copy_(torch.from_numpy(gradient(self._weights.double().numpy(), batch)))
        return 0.0

    def evaluate(self, weights, start, stop, part="validation"):
        if part == "validation":
            self.seen.append(weights.double().numpy().copy())
        return Score(0.0, 0, stop - start)


def ran(name, speeds, steps, every, **parameters):
    """Return the centers at the evaluations of a run, and their times."""
    made = []
    chosen = validate_run(
        {
            "workload": {"name": "digits-mlp"},
            "algorithm": {"name": name, "parameters": parameters},
            "workers": len(speeds),
            "world": "virtual",
            "virtual": {
                "latency": 1e-10,
                "seconds_per_byte": 0,
                "memory_bandwidth": 1e18,
                "compute_seconds_per_sample": SAMPLE,
                "compute_jitter": 0,
                "speeds": speeds,
            },
            "batch": BATCH,
            "sharding": "dispatched",
            "budget": {"samples": steps * BATCH},
            "evaluation": {"every": every * BATCH},
        }
    )

    def make():
        made.append(Squares())
        return made[-1]

    outcomes = run_spec_virtual(chosen, make_objective=make)
    (seen,) = (each.seen for each in made if each.seen)
    return seen, [each.clock for each in outcomes[-1].evaluations]


class Handed:
    """The batches of each worker, one beforehand; items of a batch are those of the sequence of seed 0."""

    def __init__(self, workers):
        self._sequence = DispatchedBatches(ITEMS, BATCH, 0, Part(1, 0, workers), False)
        self._own, self._next = [[i] for i in range(workers)], workers

    def grant(self, worker, count):
        self._own[worker] += range(self._next, self._next + count)
        self._next += count

    def take(self, worker):
        return self._sequence._items(self._own[worker].pop(0))


def adaptive(speeds, merges, *, lr, largest, smallest, scaling, mega_batch, center_momentum, at_once=0.5):
    """Return the merged models and the times of the merges: section C of the description, arXiv 2110.07029."""
    workers = range(len(speeds))
    model = before = np.linspace(-1, 1, SIZE)
    replicas, size, count = [model.copy() for _ in workers], [float(largest)] * len(speeds), [0] * len(speeds)
    handed, found, arrivals, idle, left = Handed(len(speeds)), [], [(0.0, i, i) for i in workers], [], mega_batch
    events, spent = len(speeds), [[0] * len(speeds), [0] * len(speeds)]

    def give(i, now, most):
        nonlocal left, events
        own = int(np.floor(size[i] + 0.5))
        share = (spent[-2][i] + spent[-1][i]) / max(1, sum(spent[-2]) + sum(spent[-1]))
        several = int(np.ceil(at_once * left * share / own - 1e-9))
        if at_once and not count[i]:  # the first since the merge
            part = mega_batch * spent[-2][i] / (max(1, sum(spent[-2])) * own)
            several = max(several, min(3, int(np.ceil(part - 1e-9)) - 1))
        several = min(several, min(most, max(largest, mega_batch // len(speeds))) // own, 16)
        batches = several * own if several > 1 else min(own, most)
        left -= batches
        spent[-1][i] += batches
        count[i] += max(1, several)
        handed.grant(i, batches)
        for _ in range(max(1, several)):
            total = sum(gradient(replicas[i], handed.take(i)) for _ in range(min(own, batches)))
            replicas[i] = replicas[i] - lr * total
        heapq.heappush(arrivals, (now + batches * BATCH * SAMPLE / speeds[i], events, i))
        events += 1

    while len(found) < merges:
        now, _, i = heapq.heappop(arrivals)
        if left:
            give(i, now, left)
            continue
        idle.append(i)
        if len(idle) < len(speeds):
            continue
        shares = np.array(size if len(set(count)) == 1 else count, float)
        shares /= shares.sum()
        merged = sum(a * x for a, x in zip(shares, replicas, strict=True))
        model, before = merged + center_momentum * (model - before), model
        found.append((model, now))
        mean = sum(count) / len(count)
        size = [min(largest, max(smallest, b + scaling * (u - mean))) for b, u in zip(size, count, strict=True)]
        count, left, replicas = [0] * len(speeds), mega_batch, [model.copy() for _ in workers]
        spent.append([0] * len(speeds))
        waiting, idle = idle, []
        for place, j in enumerate(waiting):
            give(j, now, left - (len(waiting) - 1 - place))
    return found


@pytest.mark.parametrize("speeds", SPEEDS)
@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_adaptive_sgd(speeds, momentum):
    settings = {"lr": 0.02, "largest": 6, "smallest": 1, "scaling": 0.7, "mega_batch": 37}
    settings |= {"center_momentum": momentum, "at_once": 0.0}
    merges = 8
    seen, clocks = ran("adaptive-sgd", speeds, 37 * (merges + 3), 37, **settings)
    for (model, at), weights, clock in zip(
        adaptive(speeds, merges, **settings), seen[1:], clocks[1:], strict=False
    ):
        assert clock == pytest.approx(at, rel=1e-5)
        np.testing.assert_allclose(weights, model, rtol=2e-4, atol=2e-5)
    assert len(seen) > merges


@pytest.mark.parametrize("speeds", SPEEDS)
def test_adaptive_sgd_with_several_updates_at_once(speeds):
    """By default. A merge is as many batches away as without, and who is slow is granted fewer updates at once."""
    settings = {"lr": 0.02, "largest": 2, "smallest": 1, "scaling": 0.1, "mega_batch": 61}
    settings |= {"center_momentum": 0.4}
    merges = 6
    seen, clocks = ran("adaptive-sgd", speeds, 61 * (merges + 3), 61, **settings)
    simulated = adaptive(speeds, merges, **settings)
    for (model, at), weights, clock in zip(simulated, seen[1:], clocks[1:], strict=False):
        assert clock == pytest.approx(at, rel=1e-5)
        np.testing.assert_allclose(weights, model, rtol=2e-4, atol=2e-5)
    assert len(seen) > merges


def heterogeneous(speeds, every, count, *, lr, alpha, period, longest, factor):
    """Return the center at the first exchange after every `every` steps, and its time."""
    workers = range(len(speeds))
    center = np.linspace(-1, 1, SIZE)
    x, periods, exchanges, done = [center.copy() for _ in workers], [period] * len(speeds), [0] * len(speeds), 0
    handed, arrivals, found, events, brought = Handed(len(speeds)), [(0.0, i, i) for i in workers], [], 9, [0] * 9
    while len(found) < count:
        now, _, i = heapq.heappop(arrivals)
        done += brought[i]
        pull = min(alpha * len(speeds) * periods[i] / sum(periods), max(alpha, 1.0))
        exchanges[i] += 1
        others = [exchanges[j] for j in workers if j != i]
        if others and exchanges[i] < min(others) - 1:
            periods[i] = max(1, int(periods[i] // factor))
        elif others and exchanges[i] > max(others) + 1:
            periods[i] = min(longest, int(np.ceil(periods[i] * factor)))
        handed.grant(i, periods[i])
        stretch = pull * (x[i] - center)
        center = center + stretch
        if done // every > len(found):
            found.append((center, now))
        x[i] = x[i] - stretch - lr * gradient(x[i], handed.take(i))
        for _ in range(periods[i] - 1):
            x[i] = x[i] - lr * gradient(x[i], handed.take(i))
        brought[i] = periods[i]
        heapq.heappush(arrivals, (now + periods[i] * BATCH * SAMPLE / speeds[i], events, i))
        events += 1
    return found


@pytest.mark.parametrize(("speeds", "alpha"), list(zip(SPEEDS, (0.6, 0.15, 0.6, 0.15), strict=True)))
def test_heterogeneous_easgd(speeds, alpha):
    settings = {"lr": 0.02, "alpha": alpha, "period": 4, "longest": 16, "factor": 2.0}
    seen, clocks = ran("heterogeneous-easgd", speeds, 900, 60, momentum=0.0, **settings)
    simulated = heterogeneous(speeds, 60, 9, **settings)
    for (center, at), weights, clock in zip(simulated, seen[1:], clocks[1:], strict=False):
        assert clock == pytest.approx(at, rel=1e-5)
        np.testing.assert_allclose(weights, center, rtol=2e-4, atol=2e-5)
    assert len(seen) > len(simulated)
