"""Gradients that are applied late: the sums are those on time, the learning rates are bounded in closed form."""

import math

import numpy as np
import pytest

from tests.engine.contract.cases import Case
from tests.engine.contract.objective import Quadratics

BOWL = Quadratics(curvature=1.0, noise=0.0, kick=1.0, origin=True)


HEAVY = (("lr", 0.05), ("momentum", 0.6))
ADAMW = (("lr", 0.02), ("optimizer", "adamw"), ("weight_decay", 0.1))


@pytest.mark.property("P17", of=("pipe-sgd",))
@pytest.mark.parametrize("said", [HEAVY, ADAMW], ids=["momentum", "adamw"])
@pytest.mark.parametrize(("workers", "delay"), [(2, 1), (3, 3)])
def test_where_gradients_do_not_depend_on_the_weights_pipe_sgd_is_sync_sgd_some_steps_earlier(
    played, workers, delay, said
):
    """Then late gradients are no other ones, and those of the last steps have not been applied.

    AdamW's corrections count the gradients that its moments hold, and the steps without one decay nothing.
    """
    flat = Quadratics(curvature=0.0)
    late = Case("pipe-sgd", (*said, ("delay", delay)), workers, steps=9 + delay, objective=flat, every=10**6)
    sync = Case("sync-sgd", said, workers, steps=9, objective=flat, every=10**6)
    one, two = played(late, "virtual"), played(sync, "virtual")
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_allclose(mine.weights, other.weights, atol=3e-6)


@pytest.mark.property("P17", of=("delayed-gradient-averaging",))
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("delay", [1, 3])
def test_where_gradients_do_not_depend_on_the_weights_the_mean_of_the_workers_is_sync_sgd(played, workers, delay):
    """What a worker lacks of the others' steps is what it has of its own."""
    flat, said = Quadratics(curvature=0.0), (("lr", 0.05), ("momentum", 0.6))
    late = Case("delayed-gradient-averaging", (*said, ("delay", delay)), workers, objective=flat, every=10**6)
    sync = Case("sync-sgd", said, workers, objective=flat, every=10**6)
    one, two = played(late, "virtual"), played(sync, "virtual")
    np.testing.assert_allclose(one[0].center, two[0].center, atol=3e-6)
    assert np.abs(one[0].weights - one[1].weights).max() > 1e-3, "the last steps are each worker's own"


def nesterov(mu):
    """Return the bound with d = 1, where z^3 - (1 + mu) z^2 + (mu + a (1 + mu)) z - a mu has a root on |z| = 1."""
    return (-(1 - mu * mu) + math.sqrt((1 - mu * mu) ** 2 + 4 * mu * mu * (1 - mu))) / (2 * mu * mu)


def ahead(mu):
    """Return the bound with d = 1 and gradients taken at x + c v, c = mu + mu^2."""
    c = mu + mu * mu
    return (c * mu - 1 + math.sqrt((1 - c * mu) ** 2 + 4 * c * c * (1 - mu))) / (2 * c * c)


PIPE, OWN = "pipe-sgd", "delayed-gradient-averaging"
EDGES = [
    (PIPE, {"delay": 0}, 2.0),
    (PIPE, {"delay": 1}, 1.0),
    (PIPE, {"delay": 2}, 2 * math.sin(math.pi / 10)),
    (PIPE, {"momentum": 0.6}, 0.4),
    (PIPE, {"momentum": 0.6, "momentum_kind": "nesterov"}, nesterov(0.6)),
    (PIPE, {"momentum": 0.6, "predict": "momentum"}, nesterov(0.6)),
    (PIPE, {"momentum": 0.99, "momentum_kind": "nesterov", "predict": "momentum"}, ahead(0.99)),
    (OWN, {}, 1.0),
    (OWN, {"momentum": 0.6}, 1.0),
    (OWN, {"share": 0.5}, 2.0),
    (OWN, {"share": 0.2}, 1.25),
    (OWN, {"momentum": 0.6, "momentum_kind": "nesterov"}, 1 / 1.6),
    (OWN, {"momentum": 0.9, "momentum_kind": "nesterov", "share": 0.7}, 1 / 1.9 / 0.7),
]


@pytest.mark.property("P16", of=(PIPE, OWN))
@pytest.mark.parametrize(("name", "given", "edge"), EDGES)
def test_the_largest_stable_learning_rate_with_a_delay(played, name, given, edge):
    """Just inside the weights shrink, just outside they grow; a kick has moved the workers apart."""

    def size(lr, steps):
        """Return the norm of the weights after so many steps and one more: they swing."""
        cases = (
            Case(name, (*given.items(), ("lr", lr)), 2, steps=n, objective=BOWL, every=10**6)
            for n in (steps, steps + 1)
        )
        return float(np.linalg.norm([played(case, "virtual")[0].weights for case in cases]))

    inside, outside = ([size(edge * by, steps) for steps in (30, 60)] for by in (0.9, 1.1))
    assert inside[1] < 0.7 * inside[0]
    assert outside[1] > 1.4 * outside[0]
