"""Hogbatch against a simulation by events in float64, written from its description, on data of its own.

Source of the simulation: Ma and Rusu (arXiv 2004.08771), Hogbatch, as it is told in the method's documentation. It
knows the times of gradients, not the order in which a server was seen to serve: who asks when, how many batches
each gets, what the center is and when must follow. Messages and updates take no time.
"""

import heapq
import math

import numpy as np
import pytest
import torch
from hooke.catalogue.validation import validate_run
from hooke.catalogue.workload import Objective, Score
from hooke.comm.base import Slice
from hooke.errors import SpecError
from hooke.loop.train import run_spec_virtual
from hooke.objective.dispatched import DispatchedBatches, Part

SIZE, ITEMS, BATCH, SAMPLE, RATE = 9, 523, 5, 2e-4, 0.03
ALPHA, SMALLEST, LARGEST = 2.0, 1, 16
"""Defaults of the simulation, as the method documents them."""


def drawn():
    """Return rows with many zeros, and labels 0 and 1 that follow a plane with noise: a logistic regression."""
    random = np.random.default_rng(88_201)
    rows = random.exponential(1.3, (ITEMS, SIZE)) * (random.random((ITEMS, SIZE)) < np.linspace(0.15, 0.9, SIZE))
    sides = rows @ random.normal(size=SIZE) + random.logistic(size=ITEMS)
    return rows, (sides > np.median(sides)).astype(float)


ROWS, LABELS = drawn()


def gradient(x, items):
    rows = ROWS[items]
    return rows.T @ (1 / (1 + np.exp(-rows @ x)) - LABELS[items]) / len(items)


class Logistic(Objective):
    """Keeps all weights that were evaluated, and which items were taken."""

    layout = (Slice("x", 0, SIZE, (SIZE,)),)
    train_size, validation_size, test_size = ITEMS, 1, 1

    def __init__(self):
        self.seen, self.taken = [], []

    def allocate(self):
        return torch.zeros(SIZE)

    def initial(self, seed):
        return torch.full((SIZE,), 0.2)

    def bind(self, weights, gradient):
        self._weights, self._gradient = weights, gradient

    def pick(self, indices):
        self.taken.append(indices.tolist())
        return indices

    def gradient(self, batch):
        self._gradient.copy_(torch.from_numpy(gradient(self._weights.double().numpy(), batch)))
        return 0.0

    def evaluate(self, weights, start, stop, part="validation"):
        if part == "validation":
            self.seen.append(weights.double().numpy().copy())
        return Score(0.0, 0, stop - start)


def document(speeds, steps, every, virtual=(), **parameters):
    return {
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": "hogbatch", "parameters": {"lr": RATE} | parameters},
        "workers": len(speeds),
        "world": "virtual",
        "virtual": {
            "latency": 1e-11,
            "seconds_per_byte": 0,
            "memory_bandwidth": 1e18,
            "compute_seconds_per_sample": SAMPLE,
            "compute_jitter": 0,
            "speeds": list(speeds),
            **dict(virtual),
        },
        "batch": BATCH,
        "sharding": "dispatched",
        "budget": {"samples": steps * BATCH},
        "evaluation": {"every": every * BATCH},
    }


def ran(*asked, **parameters):
    """Return the centers that were evaluated, the outcomes, and the objectives of the workers."""
    made = []

    def make():
        made.append(Logistic())
        return made[-1]

    outcomes = run_spec_virtual(validate_run(document(*asked, **parameters)), make_objective=make)
    (seen,) = (each.seen for each in made if each.seen)
    return seen, outcomes, made


def bounds(given, one, i):
    return given[i % len(given)] if given else one


def resized(i, size, count, alpha, limits):
    """Return a worker's next size: smaller if it has fewest updates of all, larger if it has most."""
    others = [each for j, each in enumerate(count) if j != i]
    if others and count[i] < min(others):
        return max(bounds(limits.get("low"), limits.get("smallest", SMALLEST), i), int(size // alpha))
    if others and count[i] > max(others):
        return min(bounds(limits.get("high"), limits.get("largest", LARGEST), i), math.ceil(size * alpha))
    return size


def simulated(speed, workers, steps, every, *, overwrite=False, sizes=(1,), alpha=ALPHA, exponent=1.0, **limits):
    """Return the first center after every `every` batches and its time, and what was undone over what was added.

    `speed(worker, seconds)`: of a gradient that begins then. `steps`: batches of the budget; once a grant would
    leave less than one for each of the others that still ask, what is left is shared by them, and they leave.
    """
    c, undone, mass = np.full(SIZE, 0.2), np.zeros(SIZE), 0.0
    size, count = [sizes[i % len(sizes)] for i in range(workers)], [0] * workers
    sequence = DispatchedBatches(ITEMS, BATCH, 0, Part(1, 0, workers), False)
    own, following = [[i] for i in range(workers)], workers
    pulled, pushed, bring = [c] * workers, [None] * workers, [0] * workers
    arrivals, tie, found = [(0.0, i, i) for i in range(workers)], workers, []
    done, left, asking = 0, steps, set(range(workers))
    while arrivals:
        now, _, i = heapq.heappop(arrivals)
        if pushed[i] is not None:
            done += bring[i]
            rate = RATE * bring[i] ** exponent
            mass += np.abs(rate * pushed[i]).sum()
            if overwrite:
                undone, c = undone + c - pulled[i], pulled[i]
            c = c - rate * pushed[i]
            count[i] += 1
            size[i] = resized(i, size[i], count, alpha, limits)
        if done // every > len(found):
            found.append((c, now))
        if i not in asking:
            continue
        bring[i] = size[i]
        if left - size[i] < len(asking):
            bring[i] = min(size[i], math.ceil(left / len(asking)))
            asking.discard(i)
        left -= bring[i]
        own[i] += range(following, following + bring[i])
        following += bring[i]
        pulled[i] = c
        pushed[i] = sum(gradient(c, sequence._items(own[i].pop(0))) for _ in range(bring[i])) / bring[i]
        for _ in range(bring[i]):
            now += BATCH * SAMPLE / speed(i, now)
        heapq.heappush(arrivals, (now, tie, i))
        tie += 1
    return found, np.abs(undone).sum() / mass


CASES = {
    "static": ((1, 0.37), {"sizes": (6, 1), "alpha": 1.0}),
    "adaptive": ((1, 0.37, 0.61), {}),
    "a slower growth": ((1, 0.1931, 0.733, 0.4127), {"alpha": 1.5, "sizes": (2,), "smallest": 2, "largest": 11}),
    "bounds of each": ((1, 0.2137, 0.8311), {"low": (4, 1, 2), "high": (12, 1, 3), "sizes": (4, 1, 2)}),
    "rates by the square root": ((1, 0.2901), {"sizes": (7, 2), "exponent": 0.5}),
    "one rate": ((1, 0.37), {"sizes": (6, 1), "alpha": 1.0, "exponent": 0.0}),
    "a hundred times slower": ((1, 0.00991), {"largest": 8}),
    "alone": ((1,), {}),
}


def given(settings):
    """Return the parameters of the method for settings of the simulation."""
    names = {"low": "smallest_of", "high": "largest_of", "exponent": "rate_exponent"}
    return {names.get(name, name): value for name, value in settings.items()}


@pytest.mark.parametrize("merging", ["delta", "overwrite"])
@pytest.mark.parametrize("name", CASES)
def test_centers_and_times_are_those_of_the_simulation(name, merging):
    speeds, settings = CASES[name]
    steps, every = 260, 20
    seen, outcomes, _ = ran(speeds, steps, every, merging=merging, **given(settings))
    wanted, lost = simulated(
        lambda i, now: speeds[i], len(speeds), steps, every, overwrite=merging == "overwrite", **settings
    )
    clocks = [each.clock for each in outcomes[-1].evaluations]
    assert len(wanted) == len(seen) - 1 >= 10
    for (center, at), weights, clock in zip(wanted, seen[1:], clocks[1:], strict=True):
        assert clock == pytest.approx(at, rel=1e-6)
        np.testing.assert_allclose(weights, center, rtol=1e-4, atol=1e-5)
    told = outcomes[0].done.lost_mass
    if merging == "delta":
        assert told is None
    elif len(speeds) == 1:
        assert told == 0
    else:
        assert told == pytest.approx(lost, rel=1e-3) and told > 0.01


def test_after_a_sudden_change_the_counts_decide_as_before():
    """The rule counts updates since the start: a worker that falls back shrinks only once it has fewest of all."""
    at = 0.12
    change = {"speed_changes": [{"worker": 0, "at": at, "speed": 0.11}]}

    def speed(i, now):
        return ((1, 0.37)[i]) * (0.11 if i == 0 and now >= at else 1)

    seen, outcomes, _ = ran((1, 0.37), 420, 20, change)
    wanted, _ = simulated(speed, 2, 420, 20)
    clocks = [each.clock for each in outcomes[-1].evaluations]
    assert wanted[-1][1] > 1.5 * at
    for (center, then), weights, clock in zip(wanted, seen[1:], clocks[1:], strict=True):
        assert clock == pytest.approx(then, rel=1e-6)
        np.testing.assert_allclose(weights, center, rtol=1e-4, atol=1e-5)


def test_a_batch_that_never_comes_back_holds_up_nobody():
    """A worker stands still within its third update: the others use all other batches of the epoch, each once."""
    steps, still = ITEMS // BATCH - 4, 1e-7
    change = {"speed_changes": [{"worker": 1, "at": 0.0045, "speed": still}]}
    seen, outcomes, made = ran((1, 0.5, 0.31), steps, 10, change, largest=4)
    workers = [each for each in made if each.taken]
    items = [item for each in workers for batch in each.taken for item in batch]
    assert len(items) == len(set(items)) == steps * BATCH
    late = [each.clock for each in outcomes[-1].evaluations]
    whole = steps * BATCH * SAMPLE
    assert len(late) >= steps // 10 and late[-2] < whole, "all but the end were scored while it stood still"
    assert late[-1] > SAMPLE / still, "its last batch ends the run"
    assert sorted(len(each.taken) for each in workers)[0] <= 12
    assert all(np.isfinite(weights).all() for weights in seen)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"smallest_of": (1, 5), "largest": 4}, r"smallest = 5 exceeds largest = 4 \(worker 1\)"),
        ({"largest_of": (8, 2), "sizes": (4,)}, r"between smallest and largest, 1 to 2: not 4 \(worker 1\)"),
        ({"smallest": 3}, r"1 \(worker 0\)"),
        ({"largest_of": (0,)}, "greater than or equal to 1"),
    ],
)
def test_bounds_that_contradict_are_refused_with_their_worker(parameters, why):
    with pytest.raises(SpecError, match=why):
        validate_run(document((1, 1), 10, 10, **parameters))
