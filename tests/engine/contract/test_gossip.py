"""Methods without a center: workers agree without gradients, and choose each other as they should."""

from itertools import combinations

import numpy as np
import pytest
from hooke.methods.peers import pairs, partner

from tests.engine.contract.cases import Case
from tests.engine.contract.objective import Quadratics

APART = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True)
"""No gradient but the first, which moves the workers apart."""


def spread(reports):
    weights = np.array([report.weights for report in reports], dtype=np.float64)
    return np.abs(weights - weights.mean(axis=0)).max()


@pytest.mark.parametrize("workers", [3, 4, 5])
@pytest.mark.parametrize(("name", "said"), [("noloco", (("inner", "sgd"), ("lr", 0.1), ("period", 1)))])
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
