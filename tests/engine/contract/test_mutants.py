"""The checks can fail: plausible mistakes, each with the property that catches it."""

from dataclasses import replace

import numpy as np
import pytest
from hooke import algorithm, evaluate
from hooke.algorithms.async_easgd import AsyncEASGD
from hooke.algorithms.original_easgd import OriginalEASGD
from hooke.algorithms.sync_easgd import SyncEASGD
from hooke.comm.virtual import VirtualComm

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, play_virtual
from tests.engine.contract.test_accounts import test_time_of_synchronous_methods as assert_time
from tests.engine.contract.test_bitwise import assert_same_bits
from tests.engine.contract.test_equations import assert_follows, drift

SYNC = Case("sync-easgd", workers=4)


@pytest.fixture
def catalogued(monkeypatch):
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
        total, a = r.buffer(x), self.lr * self.rho
        for _ in r.steps(answer=c):
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
            c.add_(x, alpha=self.lr * self.rho)
            r.answer(i, c)


class WholePull(SyncEASGD):
    """The moving rate is rho instead of lr * rho, on both sides: conserves the sum, and is wrong."""

    def run(self, r):
        SyncEASGD.run(self.model_copy(update={"rho": self.rho / self.lr}), r)


class FirstCome(OriginalEASGD):
    """Round robin that serves whoever comes first."""

    def serve(self, r):
        c, x = r.params, r.buffer(r.params)
        for j in r.requests(x, order="arrival"):
            r.answer(j, c)
            c.add_(x.sub_(c), alpha=self.lr * self.rho)


def test_pulling_to_the_new_center_breaks_conservation(catalogued, tmp_path):
    assert drift(SYNC, play_virtual(SYNC, tmp_path)) < 1e-6
    catalogued(GaussSeidel)
    wrong = play_virtual(SYNC, tmp_path)
    assert drift(SYNC, wrong) > 1e-3
    with pytest.raises(AssertionError):
        assert_follows(SYNC, wrong)


def test_an_answer_after_the_update_breaks_conservation(catalogued, tmp_path):
    case = Case("async-easgd", workers=2)
    catalogued(LateExchange)
    assert drift(case, play_virtual(case, tmp_path)) > 1e-3


def test_a_wrong_rate_conserves_but_does_not_follow_the_equations(catalogued, tmp_path):
    catalogued(WholePull)
    case = replace(SYNC, parameters=(("rho", 0.1),))
    wrong = play_virtual(case, tmp_path)
    assert drift(case, wrong) < 1e-6
    with pytest.raises(AssertionError):
        assert_follows(case, wrong)


def test_a_state_that_is_scratch_breaks_the_restart(catalogued, tmp_path):
    catalogued(ForgetfulCenter)
    straight = play_virtual(SYNC, tmp_path)
    with pytest.raises((AssertionError, KeyError)):
        assert_same_bits(play_virtual(suite.TWINS["halted and restarted"](SYNC), tmp_path), straight)


def test_serving_out_of_turn_moves_bits_with_the_delays(catalogued, tmp_path):
    catalogued(FirstCome)
    case = Case("original-easgd", workers=4)
    other = replace(case, network=(("compute_jitter", 1.0),))
    with pytest.raises(AssertionError):
        assert_same_bits(play_virtual(case, tmp_path), play_virtual(other, tmp_path))


def test_an_evaluation_that_writes_moves_bits(monkeypatch, tmp_path):
    right = evaluate.evaluate_together

    def wrong(r):
        right(r)
        r.answer_vector.mul_(1 + 1e-7)

    monkeypatch.setattr("hooke.stepping.evaluate_together", wrong)
    hardly = suite.TWINS["hardly evaluated"](SYNC)
    with pytest.raises(AssertionError):
        assert_same_bits(play_virtual(SYNC, tmp_path), play_virtual(hardly, tmp_path))


def test_an_overlap_that_overlaps_nothing_takes_too_long(monkeypatch, tmp_path):
    case = Case("sync-easgd", (("overlap", True),), workers=4)
    assert_time(lambda c, _: play_virtual(c, tmp_path), case, False)
    begin = VirtualComm.iallreduce

    def blocking(self, x):
        pending = begin(self, x)
        pending.wait()
        return pending

    monkeypatch.setattr(VirtualComm, "iallreduce", blocking)
    with pytest.raises(AssertionError):
        assert_time(lambda c, _: play_virtual(c, tmp_path), case, False)


def test_a_sum_in_the_order_of_arrival_moves_bits(monkeypatch, tmp_path):
    """What base.py's documented order is for: another order of the same numbers has other bits."""
    straight = play_virtual(SYNC, tmp_path)

    def backwards(arrays):
        total = sum(arrays[::-1][1:], arrays[-1].copy())
        for array in arrays:
            array[:] = total

    monkeypatch.setattr("hooke.comm.virtual_collectives._sum_everywhere", backwards)
    wrong = play_virtual(SYNC, tmp_path)
    with pytest.raises(AssertionError):
        assert_same_bits(wrong, straight)
    np.testing.assert_allclose(wrong[0].weights, straight[0].weights, atol=1e-5)
