"""The product against the equations: the NumPy references under the batches and the order that were observed."""

from dataclasses import replace

import numpy as np
import pytest
from hooke.catalogue.claims import claimed

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, WORLDS, Case
from tests.engine.contract.expected import assert_follows, center_of, drift, expected, recorded
from tests.engine.contract.objective import Quadratics
from tests.engine.reference import closed
from tests.engine.reference.elastic import unequal_rates

SPRINGS = [c for c in suite.family((2, 3, 4)) if suite.elastic(c)]
TOGETHER = [c for c in SPRINGS if c.kind.coordination == "synchronous" and not c.values.get("overlap")]
"""Synchronous springs; that overlap moves no bit is checked elsewhere."""
SYNC = [c for c in TOGETHER if c.values["period"] == 1 and not suite.preset(c.algorithm)]
IN_TURN = [c for c in SPRINGS if suite.served(c) and c.kind.deterministic]


def can_be_heavy(case):
    """Return whether it has no momentum by default, and takes one without a warning that it does nothing."""
    heavy = case.given({"momentum": suite.MOMENTUM})
    return case.values.get("momentum") == 0 and heavy.method.warnings(3) == case.method.warnings(3)


CONSERVING = [
    (c, world)
    for c, world in suite.worlds()
    if claimed(c.kind, "conserves")
    and not c.values.get("momentum")
    and c.values.get("updates") != "auto"  # plain stores lose some: see test_elastic.py
]


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


REFERRED = [pair for pair in suite.worlds() if claimed(pair[0].kind, "reference") and not suite.free(pair[0])]
"""Cases of methods that name their equations."""


@pytest.mark.property("equations")
@pytest.mark.parametrize(("case", "world"), REFERRED, ids=ids)
def test_weights_and_center_follow_the_equations(played, case, world):
    case = suite.straight(case)
    assert_follows(case, played(case, world))


@pytest.mark.property("equations")
@pytest.mark.parametrize(
    "case", [c for c in suite.claims("reference", suite.family((1,))) if suite.free(c)], ids=ids
)
def test_alone_a_worker_without_locks_follows_the_equations(played, case):
    assert_follows(case, played(case, "virtual"))


@pytest.mark.property("equations", "P24")
@pytest.mark.parametrize(
    "case", [c for c in suite.claims("reference", suite.defaults((5,))) if not suite.free(c)], ids=ids
)
def test_long_runs_follow_the_equations(played, case):
    longer = replace(case, steps=60)
    if "rank" in case.values:
        longer = longer.given({"rank": 4})  # uncut: see `assert_follows`
    assert_follows(longer, played(longer, "virtual"), 2e-5)


@pytest.mark.property("equations")
@pytest.mark.parametrize(
    "case",
    [c for c in suite.claims("reference", suite.defaults((3,))) if not suite.free(c) and can_be_heavy(c)],
    ids=ids,
)
def test_heavy_ball_follows_the_equations(played, case):
    heavy = case.given({"momentum": suite.MOMENTUM})
    assert_follows(heavy, played(heavy, "virtual"))


def decides(case, reports, k):
    """Return whether the equations tell these two exchanges apart.

    Others may be in any order: those far from a merge, and those that a later one overwrites.
    """
    served, before = reports[-1].served, expected(case, reports)[1]
    served[k], served[k + 1] = served[k + 1], served[k]
    after = expected(case, reports)[1]
    served[k], served[k + 1] = served[k + 1], served[k]
    return np.abs(before - after).max() > 1e-4


@pytest.mark.property("P9")
@pytest.mark.parametrize(
    "case",
    [c for c in suite.claims("reference", suite.family()) if suite.served(c) and not c.kind.deterministic],
    ids=ids,
)
def test_another_order_of_exchanges_would_be_noticed(played, case):
    case = suite.straight(case)
    reports = played(case, "virtual")
    served = reports[-1].served
    assert_follows(case, reports)
    swaps = [n for n in range(case.workers, len(served) - 1) if served[n] != served[n + 1]]
    some = case.algorithm in suite.MERGING or case.values.get("merging") == "overwrite"
    k = next(n for n in swaps if decides(case, reports, n)) if some else swaps[0]
    served[k], served[k + 1] = served[k + 1], served[k]
    try:
        with pytest.raises(AssertionError):
            assert_follows(case, reports)
    finally:
        served[k], served[k + 1] = served[k + 1], served[k]


@pytest.mark.property("I1")
@pytest.mark.parametrize(("case", "world"), CONSERVING, ids=ids)
def test_exchanges_conserve_the_sum(played, case, world):
    """I1: SUM x_i + c moves by the gradients alone."""
    case = suite.straight(case)
    assert drift(case, played(case, world)) < 1e-6


CHIPS = [(c, w) for c, w in CONSERVING if c.parts > 1]


@pytest.mark.property("I2")
@pytest.mark.parametrize(("case", "world"), CHIPS, ids=ids)
def test_unequal_rates_conserve_the_weighted_sum(played, case, world):
    """I2: every part of a chip is pulled by a_w = a, but moves the center by a_c = a / G, for they share a spring.

    a_c SUM x_i + a_w c over all workers moves by the gradients alone; with equal weights the sum does not stay.
    """
    reports = played(suite.straight(case), world)
    x = np.sum([report.weights for report in reports[: case.workers]], axis=0, dtype=np.float64)
    g = np.sum([report.spent for report in reports[: case.workers]], axis=0)
    g *= case.parts if case.values.get("inside") == "sum" else 1
    start, c = case.objective.start(case.seed).astype(np.float64), center_of(reports)

    def moved(of_center, of_worker):
        total = of_center * (x - case.workers * start + case.values["lr"] * g) + of_worker * (c - start)
        return np.abs(total).max() / (of_center * np.abs(x) + of_worker * np.abs(c)).max()

    assert moved(case.rate / case.parts, case.rate) < 1e-6
    assert moved(case.rate, case.rate) > 1e-3


@pytest.mark.property("I2", "P5")
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_identical_workers_are_one_with_unequal_rates(played, case):
    """P5: with equal batches all x_i stay equal, and (x, c) is one worker of rate a with a center of rate P a."""
    same = replace(case.pulling(0.6 / (case.workers + 1)), objective=Quadratics(same_batches=True), steps=30)
    reports = played(same, "virtual")
    weights = [report.weights for report in reports[: case.workers]]
    assert {x.tobytes() for x in weights} == {weights[0].tobytes()}
    lr, a = same.values["lr"], same.rate
    start = same.objective.start(same.seed)
    x, c = unequal_rates(start, recorded(same, reports), lr, a, case.workers * a, same.steps)
    np.testing.assert_allclose(weights[0], x, atol=5e-6)
    np.testing.assert_allclose(center_of(reports), c, atol=5e-6)
    assert np.abs(x - c).max() > 0.01
    kept = case.workers * a * (weights[0] - start + lr * reports[0].spent) + a * (center_of(reports) - start)
    assert np.abs(kept).max() < 1e-5, "a_c x + a_w c moves by the gradients alone"


APART = Quadratics(curvature=0.0, noise=0.0, kick=3.0, origin=True)
"""No gradient but the first, which moves the workers apart."""


@pytest.mark.property("P4")
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_workers_meet_when_nothing_else_pulls(played, case):
    """P4: everything goes to (SUM x_i + c) / (P + 1), at the rate of the slowest mode."""
    a = 0.6 / (case.workers + 1)
    still = replace(case.pulling(a), objective=APART)
    one = played(replace(still, steps=1), "virtual")
    x = np.array([report.weights for report in one[: case.workers]], dtype=np.float64)
    rest = closed.consensus(x, center_of(one).astype(np.float64))
    before = np.abs(np.array([*x, center_of(one)]) - rest).max()
    later = played(replace(still, steps=16), "virtual")
    after = np.abs(np.array([*(r.weights for r in later[: case.workers]), center_of(later)]) - rest).max()
    assert after < 2 * closed.contraction(a, case.workers) ** 15 * before + 1e-6
    assert before > 0.1


@pytest.mark.property("P4")
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_the_center_hits_consensus_in_one_round(played, case):
    """P4 at a = 1 / (P + 1)."""
    a = 1 / (case.workers + 1)
    still = replace(case.pulling(a), objective=APART)
    one, two = (played(replace(still, steps=steps), "virtual") for steps in (1, 2))
    x = np.array([report.weights for report in one[: case.workers]], dtype=np.float64)
    rest = closed.consensus(x, center_of(one).astype(np.float64))
    np.testing.assert_allclose(center_of(two), rest, atol=1e-6)


@pytest.mark.property("P6")
@pytest.mark.parametrize(
    "case",
    [c for c in suite.family((2, 3, 4)) if c.kind.coordination == "synchronous" and suite.elastic(c)],
    ids=ids,
)
def test_closed_form_of_a_quadratic(played, case):
    """P6: from the state after the first step, which moves the workers apart."""
    h, lr, a, period = 0.7, 0.1, 0.13, case.values["period"]
    bowl = Quadratics(curvature=h, noise=0.0, kick=3.0, origin=True)
    case = replace(case.pulling(a), objective=bowl)
    case = replace(case, parameters=(*case.parameters, ("lr", lr)))
    x, c = (np.float64(v) for v in state(played(replace(case, steps=period), "virtual")))
    assert np.abs(x - x.mean(axis=0)).max() > 0.1
    end = played(replace(case, steps=period * 11), "virtual")
    x, c = closed.sync_quadratic_period(x, c, h, lr, a, period, 10)
    np.testing.assert_allclose([r.weights for r in end[: case.workers]], x, atol=1e-6)
    np.testing.assert_allclose(center_of(end), c, atol=1e-6)


def state(reports):
    return np.array([report.weights for report in reports if report.picked]), center_of(reports)


@pytest.mark.property("P10")
@pytest.mark.parametrize("case", IN_TURN, ids=ids)
def test_round_robin_with_frozen_workers(played, case):
    """P10: the second sweep, in which only the exchange moves anything."""
    still = replace(case.pulling(0.2), objective=APART)
    x, c = state(played(replace(still, steps=1), "virtual"))
    end = played(replace(still, steps=2), "virtual")
    robin = closed.frozen_round_robin(x.astype(np.float64), c.astype(np.float64), 0.2)
    np.testing.assert_allclose(end[-1].center, robin, atol=1e-6)
    sync = closed.frozen_sync(x.astype(np.float64), c.astype(np.float64), 0.2)
    assert np.abs(end[-1].center - sync).max() > 0.01


@pytest.mark.property("P15")
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_unlike_workers_rest_at_the_biased_fixed_point(played, case):
    """P15: not where the sum of the objectives is least."""
    unlike = Quadratics(spread=0.7, noise=0.0)
    case = replace(case, objective=unlike, steps=400, every=10**6)
    case = replace(case, parameters=(*case.parameters, ("lr", 0.15), ("rho", 1.2)))
    reports = played(case, "virtual")
    h = np.array([unlike.h(i) for i in range(case.workers)], dtype=np.float64)
    b = np.array([unlike.b(i) for i in range(case.workers)], dtype=np.float64)
    x, c = closed.fixed_point(h, b, 1.2)
    np.testing.assert_allclose([r.weights for r in reports[: case.workers]], x, atol=2e-5)
    np.testing.assert_allclose(center_of(reports), c, atol=2e-5)
    assert np.abs(c - closed.minimum(h, b)).max() > 0.01


@pytest.mark.property("P16")
@pytest.mark.parametrize("eta_h", [0.3, 1.5])
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_stability_edge(played, case, eta_h):
    """P16: just inside the state shrinks, just outside it grows."""

    def size(a, steps):
        bowl = Quadratics(curvature=eta_h, noise=0.0, kick=1.0, origin=True)
        outer = (*case.pulling(a).parameters, ("lr", 1.0))
        reports = played(replace(case, objective=bowl, parameters=outer, steps=steps, every=10**6), "virtual")
        x, c = state(reports)
        return float(np.linalg.norm([*x, c]))

    edge = closed.sync_edge(eta_h, case.workers)
    assert size(edge * 0.97, 80) < 0.8 * size(edge * 0.97, 40)  # 0.09 to 0.45 of it
    assert size(edge * 1.03, 80) > 1.25 * size(edge * 1.03, 40)  # 2.2 to 9.4 times


@pytest.mark.property("P14")
@pytest.mark.parametrize("world", ["mpi"])
@pytest.mark.parametrize("case", suite.torn(), ids=ids)
def test_nobody_sees_a_torn_center(played, case, world):
    """P14: when every version of the center is constant over its elements, so is everything read from it."""
    reports = played(case, world)
    assert [report.torn for report in reports] == [0] * case.ranks
    # who comes how often is the scheduler's choice; that each comes, and how often all together, is not
    assert all(report.picked for report in reports[: case.workers])
    assert sum(len(report.picked) for report in reports[: case.workers]) == case.steps * case.workers


@pytest.mark.property("P11")
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.one_slow(), ids=ids)
def test_a_slow_worker_delays_only_itself(played, case, world):
    """P11: first come, first served, means that nobody waits for it.

    Under MPI the run would not end if somebody did: the slow worker goes on when the others are nearly done.
    """
    slow, *others = played(case, world)[: case.workers]
    if world == "mpi":
        assert 2 <= len(slow.picked) <= case.steps * case.workers - case.held
    else:
        assert len(slow.picked) * 2 < min(len(report.picked) for report in others)
    assert sum(len(r.picked) for r in (slow, *others)) * BATCH == case.budget


@pytest.mark.property("P11")
@pytest.mark.parametrize(("case", "world"), [pair for pair in suite.worlds() if pair[0] in IN_TURN], ids=ids)
def test_round_robin_serves_in_turn(played, case, world):
    """P11: exchange i + 1 never before i, whatever the delays."""
    served = played(suite.straight(case), world)[-1].served
    assert served == [n % case.workers for n in range(len(served))]
    assert len(served) == case.steps * case.workers


def test_the_objective_itself_is_what_it_says():
    family = Case("sgd", workers=1).objective
    assert family.spread
    assert not np.array_equal(family.b(0), family.b(1))
    assert not np.array_equal(family.h(0), family.h(1))
