"""The checks can fail: plausible mistakes, each with the property that catches it."""

from dataclasses import replace

import numpy as np
import pytest
from hooke.algorithms.async_easgd import AsyncEASGD
from hooke.algorithms.async_msgd import AsyncMSGD
from hooke.algorithms.async_sgd import AsyncSGD
from hooke.algorithms.chip_easgd import ChipEASGD
from hooke.algorithms.diloco import Diloco
from hooke.algorithms.eamsgd import EAMSGD
from hooke.algorithms.local_sgd import LocalSGD
from hooke.algorithms.original_easgd import OriginalEASGD
from hooke.algorithms.powersgd import Powersgd
from hooke.algorithms.slowmo import Slowmo
from hooke.algorithms.sma import SMA
from hooke.algorithms.sync_easgd import SyncEASGD
from hooke.algorithms.sync_easgd1 import SyncEASGD1
from hooke.catalogue import algorithm
from hooke.comm.virtual.communicator import VirtualComm
from hooke.errors import AlgorithmError
from hooke.loop import evaluate
from hooke.methods.descent import LocalStep

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, play_virtual
from tests.engine.contract.expected import assert_follows, center_of, drift
from tests.engine.contract.objective import Quadratics
from tests.engine.contract.test_bitwise import assert_same_bits
from tests.engine.contract.test_virtual_seconds import test_time_of_synchronous_methods as assert_time

SYNC = Case("sync-easgd", workers=4)


@pytest.fixture
def replaced(monkeypatch):
    """Return a function that puts a wrong class in the place of the right one."""

    def put(wrong):
        right = wrong.__mro__[1]
        known = algorithm.catalogue() | {right.id(): wrong}
        monkeypatch.setattr(algorithm, "catalogue", lambda: known)

    return put


class GaussSeidel(SyncEASGD):
    """Workers are pulled to the new center."""

    def run(self, r):
        x, c = r.params, r.state("center", like=r.params)
        total, a = r.buffer(x), self.rate(r.workers)
        for _ in r.steps(evaluated=c):
            total.copy_(x)
            r.comm.allreduce(total)
            g = r.gradient()
            c.add_(total.sub_(c, alpha=r.workers), alpha=a)
            pull = c.clone().sub_(x)
            x.add_(g, alpha=-self.lr)
            x.add_(pull, alpha=a)


class ForgetfulCenter(SyncEASGD):
    """The center is scratch: a checkpoint does not hold it."""

    def run(self, r):
        r.state = lambda name, like: like.clone()
        super().run(r)


class LateExchange(AsyncEASGD):
    """The server answers after it has applied (2): the two sides pull by different stretches."""

    def serve(self, r):
        c, x = r.params, r.buffer(r.params)
        for i in r.requests(x, order="arrival", period=self.period):
            x.sub_(c)
            c.add_(x, alpha=self.rate(r.workers))
            r.reply(i, c)


class WholePull(SyncEASGD):
    """The moving rate is rho instead of lr * rho, on both sides: conserves the sum, and is wrong."""

    def run(self, r):
        SyncEASGD.run(self.model_copy(update={"rho": self.rho / self.lr}), r)


class FirstCome(OriginalEASGD):
    """Round robin that serves whoever comes first."""

    def serve(self, r):
        c, x = r.params, r.buffer(r.params)
        for j in r.requests(x, order="arrival"):
            r.reply(j, c)
            c.add_(x.sub_(c), alpha=self.rate(r.workers))


class LostLastPush(AsyncSGD):
    """Workers leave with what they have not pushed."""

    def work(self, r, step, moves):
        r.deliver = lambda u: r.comm.send(u.zero_(), r.server)
        super().work(r, step, moves)


class MeanOfThePush(AsyncSGD):
    """A push over several steps is their mean instead of their sum."""

    def serve(self, r, step, moves):
        right = step.apply
        step.apply = lambda u: right(u, self.period)
        super().serve(r, step, moves)


class BehindItself(AsyncMSGD):
    """Momentum at the server and at the worker: applied twice."""

    def work(self, r, step, moves):
        super().work(r, LocalStep(r, self.lr, self.momentum), True)


class LooksBack(EAMSGD):
    """Nesterov's point on the wrong side: x - mu v."""

    def local_step(self, r):
        step = super().local_step(r)
        step.point = lambda: step._ahead.copy_(r.params).add_(step._velocity, alpha=-self.momentum)
        return step


class PullsFirst(EAMSGD):
    """The gradient is taken after the pull."""

    def work(self, r):
        x, c, a = r.params, r.buffer(r.params), self.rate(r.workers)
        step = self.local_step(r)
        for t in r.steps():
            if r.due(t, self.period):
                r.request(x, into=c).wait()
                x.add_(c.sub_(x), alpha=a)
            step.apply(step.gradient())


class Uphill(Diloco):
    """The outer gradient points from the center to the average: the sign that replica equality cannot see."""

    def run(self, r):
        Diloco.run(self.model_copy(update={"outer_lr": -self.outer_lr}), r)


class SlowUphill(Slowmo):
    """The same mistake in SlowMo."""

    def run(self, r):
        Slowmo.run(self.model_copy(update={"slow_lr": -self.slow_lr}), r)


class SumOfWeights(LocalSGD):
    """Averages over one worker too few."""

    def run(self, r):
        r.workers = r.workers - 1
        super().run(r)


class Stretched(SMA):
    """The center's last move is that of two exchanges ago."""

    def run(self, r):
        state = r.state
        r.state = lambda name, like=None: state(name, like if name != "last move" else r.params)
        super().run(r)


class WholeSum(ChipEASGD):
    """Parts add up their gradients, and forget to divide."""

    def run(self, r):
        step = self.local_step(r)
        right, step.apply = step.apply, lambda g, parts=1: right(g)
        object.__setattr__(self, "local_step", lambda _: step)
        super().run(r)


class NewCenterOnHost(SyncEASGD1):
    """The host answers with the center after its update."""

    def run(self, r):
        if not r.is_server:
            super().run(r)
            return
        c, other, a = r.params, r.buffer(r.params), self.rate(r.workers)
        r.comm.split(1, r.rank)
        for _ in r.steps(evaluated=c):
            ahead = c.clone().mul_(1.001)
            r.comm.send(ahead, 0)
            r.comm.recv(other, 0)
            c.add_(other.sub_(c, alpha=r.workers), alpha=a)


class ForgetfulError(Powersgd):
    """No error feedback: what does not fit into the matrices is lost."""

    def run(self, r):
        state = r.state
        error = r.buffer(r.params)
        clean = type("Clean", (), {"add_": lambda _, g: error.copy_(g)})()
        r.state = lambda name, like=None: clean if name == "error" else state(name, like)
        super().run(r)


WRONG = [
    (LostLastPush, Case("async-sgd", workers=2)),
    (MeanOfThePush, Case("async-sgd", (("period", 3),), workers=2)),
    (BehindItself, Case("async-msgd", workers=2)),
    (LooksBack, Case("eamsgd", (("period", 3),), workers=2)),
    (PullsFirst, Case("eamsgd", (("period", 3),), workers=2)),
    (Uphill, Case("diloco", (("period", 3),), workers=2)),
    (SlowUphill, Case("slowmo", (("period", 3),), workers=2)),
    (SumOfWeights, Case("local-sgd", (("period", 3),), workers=3)),
    (Stretched, Case("sma", workers=2)),
    (WholeSum, Case("chip-easgd", workers=4)),
    (NewCenterOnHost, Case("sync-easgd1", workers=2)),
    (ForgetfulError, Case("powersgd", (("rank", 1),), workers=2)),
]


@pytest.mark.parametrize(("wrong", "case"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_the_equations_tell_a_wrong_method(replaced, tmp_path, wrong, case):
    assert_follows(case, play_virtual(case, tmp_path))
    replaced(wrong)
    with pytest.raises((AssertionError, ValueError)):
        assert_follows(case, play_virtual(case, tmp_path))


@pytest.mark.parametrize("wrong", [Uphill, SlowUphill])
def test_one_round_uphill_grows_the_center(replaced, tmp_path, wrong):
    bowl = Quadratics(curvature=1.0, noise=0.0, origin=True)
    replaced(wrong)
    case = Case(wrong.__mro__[1].id(), (("period", 3), ("lr", 0.05)), 2, steps=3, objective=bowl)
    assert np.linalg.norm(center_of(play_virtual(case, tmp_path))) > np.linalg.norm(bowl.start(case.seed))


def test_pulling_to_the_new_center_breaks_conservation(replaced, tmp_path):
    assert drift(SYNC, play_virtual(SYNC, tmp_path)) < 1e-6
    replaced(GaussSeidel)
    wrong = play_virtual(SYNC, tmp_path)
    assert drift(SYNC, wrong) > 1e-3
    with pytest.raises(AssertionError):
        assert_follows(SYNC, wrong)


def test_an_answer_after_the_update_breaks_conservation(replaced, tmp_path):
    case = Case("async-easgd", workers=2)
    replaced(LateExchange)
    assert drift(case, play_virtual(case, tmp_path)) > 1e-3


def test_a_wrong_rate_conserves_but_does_not_follow_the_equations(replaced, tmp_path):
    replaced(WholePull)
    case = replace(SYNC, parameters=(("rho", 0.1),))
    wrong = play_virtual(case, tmp_path)
    assert drift(case, wrong) < 1e-6
    with pytest.raises(AssertionError):
        assert_follows(case, wrong)


def test_a_state_that_is_scratch_breaks_the_restart(replaced, tmp_path):
    replaced(ForgetfulCenter)
    straight = play_virtual(SYNC, tmp_path)
    with pytest.raises(AlgorithmError, match="3 of 4 ranks evaluate other weights"):
        assert_same_bits(play_virtual(suite.TWINS["halted and restarted"](SYNC), tmp_path), straight)


def test_serving_out_of_turn_moves_bits_with_the_delays(replaced, tmp_path):
    replaced(FirstCome)
    case = Case("original-easgd", workers=4)
    other = replace(case, network=(("compute_jitter", 1.0),))
    with pytest.raises(AssertionError):
        assert_same_bits(play_virtual(case, tmp_path), play_virtual(other, tmp_path))


def test_an_evaluation_that_writes_moves_bits(monkeypatch, tmp_path):
    right = evaluate.stop_and_evaluate

    def wrong(r):
        right(r)
        r.evaluated.mul_(1 + 1e-7)

    monkeypatch.setattr("hooke.loop.synchronous.stop_and_evaluate", wrong)
    hardly = suite.TWINS["hardly evaluated"](SYNC)
    with pytest.raises(AssertionError):
        assert_same_bits(play_virtual(SYNC, tmp_path), play_virtual(hardly, tmp_path))


def test_an_overlap_that_overlaps_nothing_takes_too_long(monkeypatch, tmp_path):
    case = Case("sync-easgd", (("overlap", True),), workers=4)
    assert_time(lambda c, _: play_virtual(c, tmp_path), case, False)
    begin = VirtualComm.iallreduce

    def blocking(self, x, into=None):
        pending = begin(self, x, into)
        pending.wait()
        return pending

    monkeypatch.setattr(VirtualComm, "iallreduce", blocking)
    with pytest.raises(AssertionError):
        assert_time(lambda c, _: play_virtual(c, tmp_path), case, False)


def test_a_sum_in_the_order_of_arrival_moves_bits(monkeypatch, tmp_path):
    """What base.py's documented order is for: another order of the same numbers has other bits."""
    straight = play_virtual(SYNC, tmp_path)

    def backwards(arrays, _collective):
        total = sum(arrays[::-1][1:], arrays[-1].copy())
        for array in arrays:
            array[:] = total

    monkeypatch.setattr("hooke.comm.virtual.collectives._sum_everywhere", backwards)
    wrong = play_virtual(SYNC, tmp_path)
    with pytest.raises(AssertionError):
        assert_same_bits(wrong, straight)
    np.testing.assert_allclose(wrong[0].weights, straight[0].weights, atol=1e-5)
