"""The local step against PyTorch's optimizers, in float64; momentum in pieces: the same bits as in one piece."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hooke.comm.base import Slice
from hooke.methods.muon import MuonStep, matrices, orthogonalized
from hooke.methods.pieces import PIECE
from hooke.methods.schedule import Schedule
from hooke.methods.steps import AdamStep, LocalStep

LR, MU = 0.07, 0.9
LAYOUT = (
    Slice("in", 0, 3, (3,)),
    Slice("wide", 3, 23, (4, 5)),
    Slice("b", 23, 25, (2,)),
    Slice("tall", 25, 43, (6, 3)),
)
SIZE, STEPS = LAYOUT[-1].stop, 24


def rank_at(x):
    rank = SimpleNamespace(params=x.clone(), t=0, layout=LAYOUT, notes={}, buffer=torch.empty_like)
    rank.touched = lambda _: None
    rank.state = lambda _: torch.zeros_like(x)
    rank.note = rank.notes.__setitem__
    return rank


@pytest.mark.parametrize("size", [1, 7, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_in_pieces_is_momentum(size, nesterov):
    generator = torch.Generator().manual_seed(size)
    x = torch.randn(size, generator=generator)
    rank = SimpleNamespace(params=x.clone(), state=lambda _: torch.zeros(size), buffer=torch.empty_like)
    step = LocalStep(rank, LR, MU, nesterov)
    whole, velocity = x.clone(), torch.zeros(size)
    exact, speed = x.double(), torch.zeros(size, dtype=torch.float64)
    for _ in range(3):
        ahead = whole + MU * velocity if nesterov else whole
        assert torch.allclose(step.point(), ahead, rtol=1e-6, atol=1e-6)
        g = torch.randn(size, generator=generator)
        step.apply(g, parts=2)
        velocity.mul_(MU).add_(g, alpha=-LR / 2)
        whole.add_(velocity)
        speed = MU * speed - LR / 2 * g.double()
        exact = exact + speed
        assert torch.equal(rank.params, whole)
        assert torch.allclose(rank.params.double(), exact, rtol=0, atol=1e-5)


class Follower:
    """A step of the product, given sums of two gradients, and PyTorch's optimizers, given their means."""

    def __init__(self, make, optimizers, clip=None, schedulers=()):
        generator = torch.Generator().manual_seed(3)
        self.x = torch.randn(SIZE, dtype=torch.float64, generator=generator)
        self.noise = torch.randn(STEPS, SIZE, dtype=torch.float64, generator=generator)
        self.rank = rank_at(self.x)
        self.rank.gradient = lambda at=None: self.gradient(self.rank.params if at is None else at).mul_(2)
        self.step = make(self.rank)
        self.theirs = [self.x[part.start : part.stop].view(part.shape).clone() for part in LAYOUT]
        self.optimizers, self.clip = [make_one(self.theirs) for make_one in optimizers], clip
        self.schedulers = [make_one(each) for make_one in schedulers for each in self.optimizers]

    def gradient(self, at):
        return at * 0.5 - self.noise[self.rank.t]

    def follow(self, moving):
        """Take one step with both; return (their weights, this step's point of the next gradient)."""
        flat = self.gradient(torch.cat([each.flatten() for each in self.theirs]))
        for each, part in zip(self.theirs, LAYOUT, strict=True):
            each.grad = flat[part.start : part.stop].view(part.shape).clone()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.theirs, self.clip)
        for optimizer in (*self.optimizers, *self.schedulers):
            optimizer.step()
        g = self.step.gradient()
        if moving:
            by, factor = self.step.move(g, parts=2)
            self.rank.params.add_(by, alpha=factor)
        else:
            self.step.apply(g, parts=2)
        self.rank.t += 1
        return torch.cat([each.flatten() for each in self.theirs]), self.step.point().clone()


def assert_equal(follower, tolerance=1e-12):
    for t in range(STEPS):
        theirs, ours = follower.follow(moving=t % 3 == 2)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)
    assert (follower.x - theirs).abs().max() > 0.05


@pytest.mark.parametrize("clip", [None, 2.0])
@pytest.mark.parametrize("decay", [0.0, 0.2])
@pytest.mark.parametrize(("mu", "nesterov"), [(0.0, False), (MU, False), (MU, True)])
def test_sgd_is_pytorchs(mu, nesterov, decay, clip):
    """With Nesterov, PyTorch's weights are the look-ahead points."""

    def theirs(p):
        return torch.optim.SGD(p, LR, mu, nesterov=nesterov, weight_decay=decay)

    assert_equal(Follower(lambda r: LocalStep(r, LR, mu, nesterov, decay=decay, clip=clip), [theirs], clip))


def linear_then_cosine(optimizer, warm=6):
    rise = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / (warm + 1), total_iters=warm)
    lr = optimizer.param_groups[0]["initial_lr"]
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS - warm, eta_min=0.1 * lr)
    return torch.optim.lr_scheduler.SequentialLR(optimizer, [rise, fall], [warm])


def in_steps(optimizer):
    return torch.optim.lr_scheduler.MultiStepLR(optimizer, [12, 18], 0.3)


SCHEDULES = {
    linear_then_cosine: Schedule("cosine", STEPS, warmup=0.25, final_share=0.1),
    in_steps: Schedule("step", STEPS, milestones=(0.5, 0.75), milestone_factor=0.3),
}


@pytest.mark.parametrize("scheduler", SCHEDULES)
def test_schedules_are_pytorchs(scheduler):
    schedule = SCHEDULES[scheduler]
    sgd = [lambda p: torch.optim.SGD(p, LR, weight_decay=0.2)]
    assert_equal(Follower(lambda r: LocalStep(r, LR, decay=0.2, schedule=schedule), sgd, schedulers=[scheduler]))
    adam = [lambda p: torch.optim.AdamW(p, 0.02, weight_decay=0.3)]
    made = Follower(lambda r: AdamStep(r, 0.02, decay=0.3, clip=2.0, schedule=schedule), adam, 2.0, [scheduler])
    assert_equal(made)


@pytest.mark.parametrize("kind", ["constant", "cosine", "step"])
def test_a_schedule_never_exceeds_the_learning_rate_and_stays_at_its_end(kind):
    schedule = Schedule(kind, 50, warmup=0.1, final_share=0.2, milestones=(0.3, 0.9), milestone_factor=0.5)
    factors = [schedule.at(t) for t in range(60)]
    np.testing.assert_allclose(factors[:5], np.arange(1, 6) / 6)
    assert max(factors) == 1.0
    assert set(factors[50:]) == {{"constant": 1.0, "cosine": 0.2, "step": 0.25}[kind]}
    if kind == "step":
        assert [factors[t] for t in (14, 15, 44, 45)] == [1.0, 0.5, 0.5, 0.25]


def test_a_velocity_holds_gradients_with_their_own_learning_rates():
    """PyTorch's velocity does so if gradients are multiplied by the learning rate before."""
    schedule = SCHEDULES[linear_then_cosine]
    follower = Follower(lambda r: LocalStep(r, LR, MU, schedule=schedule), [lambda p: torch.optim.SGD(p, 1.0, MU)])
    right = follower.gradient
    follower.rank.gradient = lambda at=None: right(follower.rank.params).mul_(2)
    follower.gradient = lambda at: right(at) * LR * schedule.at(follower.rank.t)
    assert_equal(follower)


@pytest.mark.parametrize(("mu", "nesterov"), [(0.95, True), (0.9, False), (0.0, False)])
def test_muon_is_pytorchs(mu, nesterov):
    """Both orthogonalize in bfloat16, where a difference in the last bit of float64 may round otherwise."""

    def muon(p):
        return torch.optim.Muon([p[1], p[3]], 0.02, 0.2, mu, nesterov, adjust_lr_fn="match_rms_adamw")

    def adam(p):
        return torch.optim.AdamW([p[0], p[2]], 0.02, weight_decay=0.2)

    schedule = SCHEDULES[linear_then_cosine]
    follower = Follower(
        lambda r: MuonStep(r, 0.02, mu, nesterov, decay=0.2, clip=3.0, schedule=schedule),
        [muon, adam],
        3.0,
        [linear_then_cosine],
    )
    follower.step._narrow = True
    assert follower.rank.notes["muon"] == "2 matrices, 38 of 43 weights; AdamW for the others"
    assert_equal(follower, 2e-3)


@pytest.mark.parametrize("shape", [(4, 7), (7, 4), (5, 5), (2, 30)])
def test_orthogonalization_maps_singular_values(shape):
    """Five times by the published polynomial, the first time from a Frobenius norm of 1."""
    matrix = np.random.default_rng(4).normal(size=shape)
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    s /= np.linalg.norm(s)
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    found = orthogonalized(torch.from_numpy(matrix))
    np.testing.assert_allclose(found, u * s @ v, atol=1e-11)
    assert 0.5 < s.min() <= s.max() < 1.3
    narrow = orthogonalized(torch.from_numpy(matrix), narrow=True)
    assert narrow.dtype == torch.bfloat16
    np.testing.assert_allclose(narrow.double(), u * s @ v, atol=0.05)


def test_muon_leaves_what_is_not_hidden_to_adam():
    table = Slice("table", 0, 20, (4, 5), hidden=False)
    row = Slice("row", 20, 25, (1, 5))
    filters = Slice("filters", 25, 61, (4, 1, 3, 3))
    assert matrices([table, row, filters, Slice("bias", 61, 65, (4,))]) == [filters]
