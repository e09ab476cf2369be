"""Methods without a center: workers agree without gradients, and choose each other as they should."""

from itertools import combinations

import numpy as np
import pytest
from hooke.methods.peers import hop, pairs, partner, push_weight

from tests.engine.contract.cases import Case
from tests.engine.contract.expected import center_of, drift
from tests.engine.contract.objective import Quadratics

APART = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True)
"""No gradient but the first, which moves the workers apart."""


def spread(reports):
    weights = np.array([report.weights for report in reports], dtype=np.float64)
    return np.abs(weights - weights.mean(axis=0)).max()


@pytest.mark.parametrize("workers", [3, 4, 5])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("noloco", (("optimizer", "sgd"), ("lr", 0.1), ("period", 1))),
        ("stochastic-gradient-push", (("lr", 0.1),)),
        ("stochastic-gradient-push", (("lr", 0.1), ("delay", 1))),
    ],
)
def test_workers_agree_when_no_gradient_moves_them(played, name, said, workers):
    one, later = (played(Case(name, said, workers, steps=steps, objective=APART), "virtual") for steps in (1, 120))
    assert spread(one) > 0.05
    assert spread(later) < 0.05 * spread(one)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7, 8])
def test_pairs_are_disjoint_and_everybody_meets_everybody(workers):
    met = set()
    for t in range(200):
        found = pairs(5, t, workers)
        members = [i for pair in found for i in pair]
        assert len(found) == workers // 2
        assert len(set(members)) == len(members)
        for i in range(workers):
            other = partner(i, 5, t, workers)
            assert (other is None) == (i not in members)
            assert other is None or partner(other, 5, t, workers) == i
        met |= {tuple(sorted(pair)) for pair in found}
    assert met == set(combinations(range(workers), 2))


@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("delay", [0, 1])
def test_pushed_weights_are_divided_by_their_share(played, workers, delay):
    """Without gradients all go to the mean of where the first ones moved them, also if a third is under way."""
    case = Case("stochastic-gradient-push", (("lr", 0.1), ("delay", delay)), workers, steps=120, objective=APART)
    reports = played(case, "virtual")
    moved = APART.start(case.seed) - 0.1 * np.mean([APART.kicks(i) for i in range(workers)], axis=0)
    np.testing.assert_allclose(center_of(reports), moved, atol=1e-5)
    np.testing.assert_allclose(reports[0].weights, moved * (2 / 3 if delay else 1), atol=1e-5)


@pytest.mark.parametrize("workers", [2, 3, 4, 5])
def test_pushing_without_delay_conserves_the_sum(played, workers):
    case = Case("stochastic-gradient-push", (), workers, objective=Quadratics(spread=0.3))
    assert drift(case, played(case, "virtual")) < 1e-6


def test_the_share_of_a_worker_is_half_of_its_own_and_half_of_an_earlier_one():
    before, share = 0.0, 1.0
    for t in range(30):
        assert push_weight(t, 0) == 1
        assert push_weight(t, 1) == pytest.approx(share, rel=1e-12)
        before, share = share, (share + before) / 2


@pytest.mark.parametrize(("workers", "hops"), [(2, [1]), (3, [1, 2]), (4, [1, 2]), (5, [1, 2, 4])])
def test_hops_are_the_powers_of_two_below_the_number_of_workers(workers, hops):
    assert [hop(t, workers) for t in range(2 * len(hops))] == 2 * hops
