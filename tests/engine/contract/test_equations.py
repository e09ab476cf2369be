"""The product against the equations: the NumPy reference under the batches and the order that were observed."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, WORLDS, Case
from tests.engine.contract.problem import Quadratics
from tests.engine.reference import closed, elastic
from tests.engine.reference.elastic import Constants, Spring

SPRINGS = [c for c in suite.family((2, 3, 4)) if suite.elastic(c)]
TOGETHER = [c for c in SPRINGS if c.kind.servers == 0 and not c.values.get("overlap")]
"""Synchronous springs; that overlap moves no bit is checked elsewhere."""
SYNC = [c for c in TOGETHER if c.values["period"] == 1]
IN_TURN = [c for c in SPRINGS if c.kind.servers and c.kind.deterministic]


def ids(case):
    return case.name


def recorded(case, reports):
    """Return gradient(i, t, x) in float64, with the batches that worker i has picked."""
    family = case.problem
    h = [family.h(i).astype(np.float64) for i in range(case.workers)]
    b = [family.b(i).astype(np.float64) for i in range(case.workers)]
    kicks = [family.kicks(i).astype(np.float64) for i in range(case.workers)]
    forces = family.forces().astype(np.float64)
    picked = [report.picked for report in reports]

    def gradient(i, t, x):
        g = h[i] * (x - b[i]) - forces[picked[i][t]].mean(axis=0)
        return g + kicks[i] if t == 0 else g

    return gradient


def center_of(reports):
    return next(report.center for report in reversed(reports) if report.center is not None)


def expected(case, reports):
    """Return (weights of each worker, center) as the equations have it, or None for a method without reference."""
    values, start = case.values, case.problem.start(case.seed)
    gradient = recorded(case, reports)
    steps = [len(report.picked) for report in reports[: case.workers]]
    if case.algorithm == "sgd":
        x = elastic.sgd(start, gradient, values["lr"], steps[0])
        return [x], x
    if case.algorithm == "sync-sgd":
        x = elastic.sync_sgd(start, gradient, values["lr"], steps[0], case.workers, values["reduction"])
        return [x] * case.workers, x
    if not suite.elastic(case):
        return None
    k = Constants(values["lr"], values["rho"], values.get("period", 1))
    s = Spring.at(start, case.workers)
    if case.kind.servers == 0:
        elastic.sync_easgd(s, gradient, k, steps[0])
    elif case.kind.deterministic:
        elastic.original_easgd(s, gradient, k, sum(steps))
    else:
        elastic.async_easgd(s, gradient, k, reports[-1].served, steps)
    return s.x, s.c


def assert_follows(case, reports, tolerance=2e-6):
    weights, center = expected(case, reports)
    scale = max(1.0, float(np.abs(weights).max()))
    for report, x in zip(reports, weights, strict=False):
        np.testing.assert_allclose(report.weights, x, atol=tolerance * scale)
    np.testing.assert_allclose(center_of(reports), center, atol=tolerance * scale)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.family((2, 3, 4)), ids=ids)
def test_weights_and_center_follow_the_equations(played, case, world):
    case = suite.straight(case)
    reports = played(case, world)
    if expected(case, reports) is None:
        pytest.skip(f"no reference of {case.algorithm} in tests/engine/reference")
    assert_follows(case, reports)


@pytest.mark.parametrize("case", [c for c in suite.family((5,)) if suite.elastic(c) or suite.plain(c)], ids=ids)
def test_long_runs_follow_the_equations(played, case):
    longer = replace(case, steps=60, parameters=(*case.parameters, ("lr", 0.2)))
    assert_follows(longer, played(longer, "virtual"))


@pytest.mark.parametrize("case", [c for c in suite.family() if not c.kind.deterministic], ids=ids)
def test_another_order_of_exchanges_would_be_noticed(played, case):
    case = suite.straight(case)
    reports = played(case, "virtual")
    served = reports[-1].served
    assert_follows(case, reports)
    k = next(n for n in range(case.workers, len(served) - 1) if served[n] != served[n + 1])
    served[k], served[k + 1] = served[k + 1], served[k]
    try:
        with pytest.raises(AssertionError):
            assert_follows(case, reports)
    finally:
        served[k], served[k + 1] = served[k + 1], served[k]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", SPRINGS, ids=ids)
def test_exchanges_conserve_the_sum(played, case, world):
    """I1: SUM x_i + c moves by the gradients alone."""
    case = suite.straight(case)
    assert drift(case, played(case, world)) < 1e-6


def drift(case, reports):
    """Return how far SUM x_i + c is from where the gradients have put it, relative to its terms."""
    weights = [report.weights.astype(np.float64) for report in reports[: case.workers]]
    total = np.sum(weights, axis=0) + center_of(reports)
    start = case.problem.start(case.seed).astype(np.float64)
    spent = np.sum([report.spent for report in reports[: case.workers]], axis=0)
    scale = np.sum(np.abs(weights), axis=0) + np.abs(center_of(reports))
    gap = np.abs(total - ((case.workers + 1) * start - case.values["lr"] * spent))
    return float((gap / scale).max())


APART = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True)
"""No gradient but the first, which moves the workers apart."""


@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_workers_meet_when_nothing_else_pulls(played, case):
    """P4: everything goes to (SUM x_i + c) / (P + 1), at the rate of the slowest mode."""
    a = 0.6 / (case.workers + 1)
    still = replace(case, problem=APART, parameters=(*case.parameters, ("lr", 0.1), ("rho", a / 0.1)))
    one = played(replace(still, steps=1), "virtual")
    x = np.array([report.weights for report in one], dtype=np.float64)
    rest = closed.consensus(x, one[0].center.astype(np.float64))
    before = np.abs(np.array([*x, one[0].center]) - rest).max()
    later = played(replace(still, steps=16), "virtual")
    after = np.abs(np.array([*(r.weights for r in later), later[0].center]) - rest).max()
    assert after < 2 * closed.contraction(a, case.workers) ** 15 * before + 1e-6
    assert before > 0.1


@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_the_center_hits_consensus_in_one_round(played, case):
    """P4 at a = 1 / (P + 1)."""
    a = 1 / (case.workers + 1)
    still = replace(case, problem=APART, parameters=(*case.parameters, ("lr", 0.1), ("rho", a / 0.1)))
    one, two = (played(replace(still, steps=steps), "virtual") for steps in (1, 2))
    x = np.array([report.weights for report in one], dtype=np.float64)
    rest = closed.consensus(x, one[0].center.astype(np.float64))
    np.testing.assert_allclose(two[0].center, rest, atol=1e-6)


@pytest.mark.parametrize(
    "case", [c for c in suite.family((2, 3, 4)) if c.kind.servers == 0 and suite.elastic(c)], ids=ids
)
def test_closed_form_of_a_quadratic(played, case):
    """P6: from the state after the first step, which moves the workers apart."""
    h, lr, rho, period = 0.7, 0.1, 1.3, case.values["period"]
    bowl = Quadratics(curvature=h, noise=0.0, kick=3.0, origin=True)
    case = replace(case, problem=bowl, parameters=(*case.parameters, ("lr", lr), ("rho", rho)))
    x, c = (np.float64(v) for v in state(played(replace(case, steps=period), "virtual")))
    assert np.abs(x - x.mean(axis=0)).max() > 0.1
    end = played(replace(case, steps=period * 11), "virtual")
    x, c = closed.sync_quadratic_period(x, c, h, lr, lr * rho, period, 10)
    np.testing.assert_allclose([r.weights for r in end], x, atol=1e-6)
    np.testing.assert_allclose(end[0].center, c, atol=1e-6)


def state(reports):
    return np.array([report.weights for report in reports if report.picked]), center_of(reports)


@pytest.mark.parametrize("case", IN_TURN, ids=ids)
def test_round_robin_with_frozen_workers(played, case):
    """P10: the second sweep, in which only the exchange moves anything."""
    still = replace(case, problem=APART, parameters=(*case.parameters, ("lr", 0.1), ("rho", 2.0)))
    x, c = state(played(replace(still, steps=1), "virtual"))
    end = played(replace(still, steps=2), "virtual")
    robin = closed.frozen_round_robin(x.astype(np.float64), c.astype(np.float64), 0.2)
    np.testing.assert_allclose(end[-1].center, robin, atol=1e-6)
    sync = closed.frozen_sync(x.astype(np.float64), c.astype(np.float64), 0.2)
    assert np.abs(end[-1].center - sync).max() > 0.01


@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_unlike_workers_rest_at_the_biased_fixed_point(played, case):
    """P15: not where the sum of the objectives is least."""
    unlike = Quadratics(spread=0.7, noise=0.0)
    case = replace(case, problem=unlike, steps=600, every=10**6)
    case = replace(case, parameters=(*case.parameters, ("lr", 0.15), ("rho", 1.2)))
    reports = played(case, "virtual")
    h = np.array([unlike.h(i) for i in range(case.workers)], dtype=np.float64)
    b = np.array([unlike.b(i) for i in range(case.workers)], dtype=np.float64)
    x, c = closed.fixed_point(h, b, 1.2)
    np.testing.assert_allclose([r.weights for r in reports], x, atol=2e-5)
    np.testing.assert_allclose(reports[0].center, c, atol=2e-5)
    assert np.abs(c - closed.minimum(h, b)).max() > 0.01


@pytest.mark.parametrize("eta_h", [0.3, 1.5])
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_stability_edge(played, case, eta_h):
    """P16: just inside the state shrinks, just outside it grows."""

    def size(a, steps):
        bowl = Quadratics(curvature=eta_h, noise=0.0, kick=1.0, origin=True)
        outer = (*case.parameters, ("lr", 1.0), ("rho", a))
        reports = played(replace(case, problem=bowl, parameters=outer, steps=steps, every=10**6), "virtual")
        x, c = state(reports)
        return float(np.linalg.norm([*x, c]))

    edge = closed.sync_edge(eta_h, case.workers)
    assert size(edge * 0.97, 200) < 0.8 * size(edge * 0.97, 100)
    assert size(edge * 1.03, 200) > 1.25 * size(edge * 1.03, 100)


@pytest.mark.parametrize("case", suite.torn(), ids=ids)
def test_nobody_sees_a_torn_center(played, case):
    """P14: when every version of the center is constant over its elements, so is everything read from it."""
    reports = played(case, "mpi")
    assert [report.torn for report in reports] == [0] * case.ranks
    # who comes how often is the scheduler's choice; that each comes, and how often all together, is not
    assert all(report.picked for report in reports[: case.workers])
    assert sum(len(report.picked) for report in reports[: case.workers]) == case.steps * case.workers


@pytest.mark.parametrize("case", suite.one_slow(), ids=ids)
@pytest.mark.parametrize("world", WORLDS)
def test_a_slow_worker_delays_only_itself(played, case, world):
    """P11: first come, first served, means that nobody waits for it."""
    slow, *others = played(case, world)[: case.workers]
    assert len(slow.picked) * 2 < min(len(report.picked) for report in others)
    assert sum(len(r.picked) for r in (slow, *others)) * BATCH == case.budget


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", IN_TURN, ids=ids)
def test_round_robin_serves_in_turn(played, case, world):
    """P11: exchange i + 1 never before i, whatever the delays."""
    served = played(suite.straight(case), world)[-1].served
    assert served == [n % case.workers for n in range(len(served))]
    assert len(served) == case.steps * case.workers


def test_the_problem_itself_is_what_it_says():
    family = Case("sgd", workers=1).problem
    assert family.spread
    assert not np.array_equal(family.b(0), family.b(1))
    assert not np.array_equal(family.h(0), family.h(1))
