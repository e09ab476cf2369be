"""Threads that share a worker's weights: against a simulation in float64, and what any order of threads keeps."""

import itertools
import threading

import numpy as np
import pytest
import torch
from hooke.catalogue.workload import Objective
from hooke.comm.base import Slice
from hooke.objective.hogwild import ADD, LINE, PIECES, Interleaved, Threads

SIZE, ITEMS = 700, 24
RANDOM = np.random.default_rng(3)
H, B = RANDOM.uniform(0.5, 1.5, SIZE), RANDOM.normal(size=SIZE)
FORCES = RANDOM.normal(size=(ITEMS, SIZE))


class Pulled(Objective):
    """f = h / 2 (x - b)^2 - force x, mean over a batch; `flat`: without the first part."""

    def __init__(self, flat=False, meet=None):
        self.layout = (Slice("w", 0, SIZE, (SIZE,)),)
        self.train_size = self.validation_size = self.test_size = ITEMS
        self.flat, self.meet, self.counted = flat, meet, 0
        self.h, self.b = torch.from_numpy(H).float(), torch.from_numpy(B).float()
        self.forces = torch.from_numpy(FORCES).float()

    def allocate(self):
        return torch.zeros(SIZE)

    def bind(self, weights, gradient):
        self.weights, self.out = weights, gradient

    def pick(self, indices):
        return self.forces[torch.as_tensor(indices)]

    def gradient(self, batch):
        self.counted += 1
        pull = 0 if self.flat else self.h * (self.weights - self.b)
        self.out.copy_(pull - batch.mean(0))
        if self.meet is not None:
            self.meet.wait(timeout=20)
        return float(self.out.abs().sum())

    def local_state(self):
        return {"counted": np.array([self.counted])}

    def restore_local(self, state):
        (self.counted,) = map(int, state["counted"])


def bound(objective, seed=0):
    x, out = torch.from_numpy(np.random.default_rng(seed).normal(size=SIZE)).float(), objective.allocate()
    objective.bind(x, out)
    return x.double().numpy(), out


def simulated(x, parts, seconds, threads, eta, per_byte):
    """Return (what arrives over eta, lost share, end): one element of time after the other, in float64."""
    step = max(1, -(-SIZE // (PIECES * LINE))) * LINE
    pieces = [np.arange(start, min(start + step, SIZE)) for start in range(0, SIZE, step)]
    free, moments = [0.0] * threads, []
    for k, taken in enumerate(seconds):
        thread = int(np.argmin(free))
        moments.append((free[thread], thread, k, "read", None))
        now = free[thread] + taken
        for piece in pieces:
            after = now + 4 * ADD * len(piece) * per_byte
            moments += [(now, thread, k, "load", piece), (after, thread, k, "store", piece)]
            now = after
        free[thread] = now
    order = sorted(range(len(moments)), key=lambda n: (moments[n][0], moments[n][1], n))
    w, gradients, loaded, pushed = x.copy(), {}, {}, np.zeros(SIZE)
    items = sum(map(len, parts))
    for n in order:
        _, thread, k, what, piece = moments[n]
        share = len(parts[k]) / items
        if what == "read":
            gradients[k] = H * (w - B) - FORCES[parts[k]].mean(0)
            pushed += share * gradients[k]
        elif what == "load":
            loaded[thread] = w[piece].copy()
        else:
            w[piece] = loaded[thread] - eta * share * gradients[k][piece]
    moved = (x - w) / eta
    mass = sum(len(parts[k]) / items * np.abs(gradients[k]).sum() for k in gradients)
    return moved, np.abs(pushed - moved).sum() / mass, max(free)


@pytest.mark.parametrize(("threads", "parts", "bandwidth"), [(3, 7, 1e6), (2, 2, 2e5), (4, 4, 1e12), (1, 5, 1e6)])
def test_interleaving_in_virtual_time_is_that_of_a_simulation(threads, parts, bandwidth):
    objective = Interleaved(Pulled(), 0.3, parts, threads, 1 / bandwidth)
    x, out = bound(objective)
    batch = objective.pick(np.arange(20))
    assert [len(part) for part in batch] == [len(part) for part in np.array_split(np.arange(20), parts)]
    seconds = list(np.random.default_rng(threads).uniform(0.01, 0.0105, parts))
    end = objective.plan(seconds)
    objective.gradient(batch)
    moved, lost, ended = simulated(x, batch, seconds, threads, 0.3, 1 / bandwidth)
    assert end == pytest.approx(ended)
    np.testing.assert_allclose(out.numpy(), moved, atol=5e-5)
    assert objective.lost / objective.pushed == pytest.approx(lost, abs=1e-4)
    assert (lost > 0.01) == (threads > 1 and bandwidth < 1e12), "the case says something"
    first = out.clone()
    objective.plan(seconds)
    objective.gradient(batch)
    assert torch.equal(first, out), "the same times, the same bits"


def test_in_lockstep_the_last_store_wins():
    """By hand: equal times and equal gradients; one of two updates is overwritten in every piece."""
    objective = Interleaved(Pulled(flat=True), 0.5, 2, 2, 1e-6)
    _, out = bound(objective)
    objective.plan([0.01, 0.01])
    objective.gradient([np.array([1, 2]), np.array([1, 2])])
    np.testing.assert_allclose(out.numpy(), -FORCES[[1, 2]].mean(0) / 2, atol=1e-6)
    assert objective.lost / objective.pushed == pytest.approx(0.5, abs=1e-6)


def test_one_sub_batch_has_the_bits_of_the_gradient():
    plain, out = Pulled(), torch.empty(SIZE)
    threaded = Threads(Pulled(), [Pulled()], 0.05, 1)
    x, mine = bound(threaded)
    plain.bind(torch.from_numpy(x).float(), out)
    loss = plain.gradient(plain.pick(np.arange(9)))
    assert threaded.gradient(threaded.pick(np.arange(9))) == loss
    assert mine.numpy().tobytes() == out.numpy().tobytes()
    assert threaded.lost == 0


def test_one_thread_takes_the_steps_of_sgd_one_after_the_other():
    objective = Threads(Pulled(), [], 0.2, 4)
    x, out = bound(objective)
    objective.gradient(objective.pick(np.arange(10)))
    w = x.copy()
    for part in np.array_split(np.arange(10), 4):
        w -= 0.2 * len(part) / 10 * (H * (w - B) - FORCES[part].mean(0))
    np.testing.assert_allclose(x - 0.2 * out.double().numpy(), w, atol=2e-6)
    assert objective.lost == 0


def test_real_threads_lose_whole_updates_and_these_are_counted():
    """With gradients that do not depend on the weights every element is a sum of some of the updates."""
    meet = threading.Barrier(4)
    threaded = Threads(Pulled(flat=True, meet=meet), [Pulled(flat=True, meet=meet) for _ in range(3)], 0.1, 4)
    x, out = bound(threaded)
    parts = [np.array([k]) for k in (0, 5, 9, 14)]
    updates = np.stack([-FORCES[part].mean(0) / 4 for part in parts])
    sums = {
        chosen: updates[list(chosen)].sum(0) for n in range(1, 5) for chosen in itertools.combinations(range(4), n)
    }
    lost = mass = 0.0
    for _ in range(20):
        threaded.gradient(parts)
        found = out.double().numpy()
        apart = np.min([np.abs(found - each) for each in sums.values()], axis=0)
        assert apart.max() < 5e-5, "each element is the sum of a subset, at least of one"
        lost += 0.1 * np.abs(updates.sum(0) - found).sum()
        mass += 0.1 * np.abs(updates).sum()
    assert threaded.lost == pytest.approx(lost, rel=1e-3, abs=1e-4)
    assert threaded.pushed == pytest.approx(mass, rel=1e-5)
    np.testing.assert_array_equal(x, threaded._x.double().numpy())


def test_a_nan_of_a_thread_is_passed_on_and_an_exception_raised():
    bad = Pulled()
    threaded = Threads(Pulled(), [bad], 0.1, 2)
    bound(threaded)
    threaded.gradient(threaded.pick(np.arange(4)))
    account = threaded.lost, threaded.pushed
    for objective in threaded._lanes:
        objective.forces = torch.full((ITEMS, SIZE), float("nan"))
    threaded.gradient(threaded.pick(np.arange(4)))
    assert threaded._out.isnan().all()
    assert (threaded.lost, threaded.pushed) == account, "the account of a run that goes on without the worker"
    for objective in threaded._lanes:
        objective.forces = None
    with pytest.raises(TypeError):
        threaded.gradient(threaded.pick(np.arange(4)))


def test_the_state_of_every_thread_is_kept():
    threaded = Threads(Pulled(), [Pulled(), Pulled()], 0.1, 6)
    bound(threaded)
    threaded.gradient(threaded.pick(np.arange(12)))
    state = threaded.local_state()
    again = Threads(Pulled(), [Pulled(), Pulled()], 0.1, 6)
    again.restore_local(state)
    assert [lane.counted for lane in again._lanes] == [lane.counted for lane in threaded._lanes]
    assert sum(lane.counted for lane in again._lanes) == 6
