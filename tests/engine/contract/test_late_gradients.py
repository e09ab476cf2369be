"""Gradients that are applied late: the sums are those on time, the learning rates are bounded in closed form."""

import math

import numpy as np
import pytest

from tests.engine.contract.cases import Case
from tests.engine.contract.objective import Quadratics

BOWL = Quadratics(curvature=1.0, noise=0.0, origin=True)


@pytest.mark.property("P17", of=("pipe-sgd",))
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("delay", [1, 3])
def test_where_gradients_do_not_depend_on_the_weights_pipe_sgd_is_sync_sgd_some_steps_earlier(
    played, workers, delay
):
    """Then late gradients are no other ones, and those of the last steps have not been applied."""
    flat = Quadratics(curvature=0.0)
    said = (("lr", 0.05), ("momentum", 0.6))
    late = Case("pipe-sgd", (*said, ("delay", delay)), workers, steps=9 + delay, objective=flat, every=10**6)
    sync = Case("sync-sgd", said, workers, steps=9, objective=flat, every=10**6)
    one, two = played(late, "virtual"), played(sync, "virtual")
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_allclose(mine.weights, other.weights, atol=3e-6)


def nesterov(mu):
    """Return the bound with d = 1, where z^3 - (1 + mu) z^2 + (mu + a (1 + mu)) z - a mu has roots of modulus 1."""
    return (-(1 - mu * mu) + math.sqrt((1 - mu * mu) ** 2 + 4 * mu * mu * (1 - mu))) / (2 * mu * mu)


EDGES = [
    ({"delay": 0}, 2.0),
    ({"delay": 1}, 1.0),
    ({"delay": 2}, 2 * math.sin(math.pi / 10)),
    ({"delay": 1, "momentum": 0.6}, 0.4),
    ({"delay": 1, "momentum": 0.6, "momentum_kind": "nesterov"}, nesterov(0.6)),
]


@pytest.mark.property("P16", of=("pipe-sgd",))
@pytest.mark.parametrize(("given", "edge"), EDGES)
def test_the_largest_stable_learning_rate_falls_with_the_delay(played, given, edge):
    """Of x_{t+1} = x_t - lr h x_{t-d}: just inside the weights shrink, just outside they grow."""

    def size(lr, steps):
        """Return the norm of the weights after so many steps and one more: they swing."""
        cases = (
            Case("pipe-sgd", (*given.items(), ("lr", lr)), 2, steps=n, objective=BOWL, every=10**6)
            for n in (steps, steps + 1)
        )
        return float(np.linalg.norm([played(case, "virtual")[0].weights for case in cases]))

    inside, outside = ([size(edge * by, steps) for steps in (30, 60)] for by in (0.9, 1.1))
    assert inside[1] < 0.7 * inside[0]
    assert outside[1] > 1.4 * outside[0]
