"""Each method is a simpler one at a limit (P1, P3, P17): bit by bit where the arithmetic is the same."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hooke.catalogue.algorithm import catalogue
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import Elastic

from tests.engine.contract import suite
from tests.engine.contract.cases import ONE_HOST, Case
from tests.engine.contract.expected import center_of, recorded
from tests.engine.contract.objective import Quadratics
from tests.engine.contract.test_bitwise import alone_on

HEAVY = (("momentum", suite.MOMENTUM),)
NESTEROV = (*HEAVY, ("momentum_kind", "nesterov"))
EVERY_MOMENTUM = ((), HEAVY, NESTEROV)


def ids(value):
    if isinstance(value, Case):
        return value.name
    return "-".join(f"{key}={word}" for key, word in value) or "plain" if isinstance(value, tuple) else str(value)


def bits(array):
    return array.view(np.uint32)


def center_bits(reports):
    return bits(center_of(reports))


def same_center(played, this, that):
    np.testing.assert_array_equal(center_bits(played(this, "virtual")), center_bits(played(that, "virtual")))


def near_center(played, this, that, atol=3e-6):
    np.testing.assert_allclose(center_of(played(this, "virtual")), center_of(played(that, "virtual")), atol=atol)


KINDS = ({}, {"momentum": suite.MOMENTUM}, {"momentum": suite.MOMENTUM, "momentum_kind": "nesterov"})
"""No momentum, heavy ball, Nesterov."""
RATES = (0.05, 0.7)
"""Moving rates, a soft one and a stiff one."""


def limits():
    """Return (property, method, limit, workers) of all that methods claim of themselves."""
    return [
        pytest.param(limit, name, workers, marks=pytest.mark.property(limit.shows))
        for name, kind in suite.methods().items()
        for limit in suite.limits_of(kind)
        for workers in limit.workers
    ]


def limit_id(value):
    if isinstance(value, Limit):
        return "-".join([value.of, *(f"{key}={said}" for key, said in value.given.items())])
    return str(value)


def shared(limit, this, that):
    """Return the parameters that both are given alike: momenta, periods and moving rates that neither states."""
    stated = {*limit.given, *limit.other}
    both = {name for kind in (this, that) for name in kind.model_fields if name in set(that.model_fields)}
    momenta = KINDS if "momentum" in both - stated else ({},)
    plain = {"momentum": 0.0, "momentum_kind": "heavy-ball"} if "momentum" in both - stated else {}
    period = this.period_field if this.period_field == that.period_field else None
    periods = [{period: tau} for tau in (1, suite.PERIOD)] if period and period not in stated else [{}]
    elastic = issubclass(this, Elastic) and issubclass(that, Elastic) and not stated & {"alpha", "beta", "rho"}
    rates = [{"beta": None, "alpha": a} for a in RATES] if elastic else [{}]
    return [plain | mu | tau | a for mu, tau, a in in_pairs(momenta, periods, rates)]


def in_pairs(momenta, periods, rates):
    """Return combinations in which every pair of choices occurs: half of all, where all three can be chosen."""
    every = itertools.product(enumerate(momenta), enumerate(periods), enumerate(rates))
    halved = len(momenta) > 1 and len(periods) == len(rates) == 2
    return [(mu, tau, a) for (i, mu), (j, tau), (k, a) in every if not halved or (i + j + k) % 2 == 0]


def sides(limit, name, workers):
    """Yield the pairs of cases that a limit says are equal: all that is shared, and every option if claimed."""
    kinds = catalogue()[name], catalogue()[limit.of]
    same = {"objective": Quadratics(same_batches=True)} if limit.equal_batches else {}
    other_workers = 1 if limit.equal_batches else workers
    free = {"network": ONE_HOST} if kinds[0].coordination == "lock-free" else {}  # plain stores: fused additions
    for given in shared(limit, *kinds):
        alike = {key: value for key, value in given.items() if key in kinds[0].model_fields}
        for option in suite.options(name) if limit.every_option else [suite.base(name)]:
            mine = option | alike | dict(limit.given)
            if kinds[0].model_validate(mine).faults(workers):
                continue
            this = Case(name, tuple(mine.items()), workers, **same, **free)
            base = suite.base(limit.of) if limit.of == name else {}
            yield this, Case(limit.of, tuple((base | given | dict(limit.other)).items()), other_workers, **same)


@pytest.mark.parametrize(("limit", "algorithm", "workers"), limits(), ids=limit_id)
def test_at_its_limit_a_method_is_another_one(played, limit, algorithm, workers):
    """The weights that are evaluated, and those of workers that are tied to a center; bit by bit if claimed."""
    pairs = list(sides(limit, algorithm, workers))
    assert pairs, "the claim is about nothing"
    for this, that in pairs:
        one, two = played(this, "virtual"), played(that, "virtual")
        rounded = this.values.get("updates") == "atomic"  # a push is rounded before it is added, not fused with it
        if limit.of_workers:
            for mine, other in zip(one[:workers], two[:workers], strict=True):
                np.testing.assert_array_equal(bits(mine.weights), bits(other.weights))
        elif limit.exact and not rounded:
            np.testing.assert_array_equal(center_bits(one), center_bits(two))
            for mine, other in zip(one[:workers], two[:workers], strict=True) if this.centered else ():
                np.testing.assert_array_equal(bits(mine.weights), bits(other.weights))
        else:
            np.testing.assert_allclose(center_of(one), center_of(two), atol=3e-6)
        if limit.equal_batches:
            assert len({bits(report.weights).tobytes() for report in one[:workers]}) == 1, "they are one worker"


def test_every_limit_names_a_method():
    named = {limit.of for kind in catalogue().values() for limit in kind.limits}
    assert named <= set(catalogue())


@pytest.mark.property("P2", workers=3)
@pytest.mark.parametrize("name", ["async-measgd", "eamsgd", "sync-easgd", "original-easgd", "hogwild-easgd"])
def test_without_elasticity_momentum_is_that_of_each_worker_alone(played, name):
    kind = (("momentum_kind", "heavy-ball"),)
    case = Case(name, (*HEAVY, *kind), 3).pulling(0.0)
    reports = played(case, "virtual")
    np.testing.assert_array_equal(center_bits(reports), bits(case.objective.start(case.seed)))
    for worker, report in enumerate(reports[: case.workers]):
        alone = alone_on(case, worker, report.picked)
        np.testing.assert_array_equal(bits(report.weights), bits(alone))


@pytest.mark.property("P7", of=("sync-easgd1", "sync-easgd2", "sync-easgd3"))
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("period", [1, 3])
@pytest.mark.parametrize("workers", [1, 3, 4, 7])
def test_three_placements_have_one_result(played, workers, period, momentum):
    """EASGD1 = EASGD2 = EASGD3, and the center of EASGD1 is updated by another rank."""
    cases = [Case(f"sync-easgd{n}", (("period", period), *momentum), workers) for n in (1, 2, 3)]
    first = played(cases[0], "virtual")
    for case in cases[1:]:
        other = played(case, "virtual")
        np.testing.assert_array_equal(center_bits(first), center_bits(other))
        for one, two in zip(first[:workers], other[:workers], strict=True):
            np.testing.assert_array_equal(bits(one.weights), bits(two.weights))


@pytest.mark.property("P17", of=("sma",))
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_sma_as_it_comes_moves_its_center_to_the_mean_of_the_workers(played, workers):
    """a = 1 / P: one exchange without momentum of the center is c' = mean x_i, here after one step of each."""
    assert Case("sma", (), workers).rate == 1 / workers
    case = Case("sma", (("center_momentum", 0.0),), workers, steps=2)
    reports = played(case, "virtual")
    gradient, start = recorded(case, reports), case.objective.start(case.seed).astype(float)
    ones = [start - case.values["lr"] * gradient(i, 0, start) for i in range(workers)]
    np.testing.assert_allclose(center_of(reports), np.mean(ones, axis=0), atol=1e-6)


def test_an_anchor_to_which_workers_return_all_the_way_never_moves(played):
    """And a user is told so."""
    case = Case("overlap-local-sgd", (("pull", 1.0), ("anchor_momentum", 0.0)), 3)
    start = case.objective.start(case.seed)
    np.testing.assert_allclose(center_of(played(case, "virtual")), start, atol=1e-6)
    assert any("never moves" in said for said in case.method.warnings(3))
    assert not any("never moves" in said for said in case.given({"pull": 0.9}).method.warnings(3))


@pytest.mark.property("P17", of=("chip-easgd",))
@pytest.mark.parametrize("inside", ["mean", "sum"])
@pytest.mark.parametrize("workers", [2, 4])
def test_one_chip_that_nothing_pulls_is_sync_sgd_with_the_same_reduction(played, workers, inside):
    chip = Case("chip-easgd", (("parts", workers), ("inside", inside)), workers).pulling(0.0)
    sync = played(Case("sync-sgd", (("reduction", inside),), workers), "virtual")
    for report in played(chip, "virtual"):
        np.testing.assert_allclose(report.weights, center_of(sync), atol=1e-6)


@pytest.mark.property("P17", of=("chip-easgd",))
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_one_chip_is_sync_sgd_bit_by_bit(played, workers, momentum):
    one = Case("chip-easgd", (("parts", workers), *momentum), workers).pulling(0.0)
    this, that = played(one, "virtual"), played(Case("sync-sgd", momentum, workers), "virtual")
    for mine, other in zip(this, that, strict=True):
        np.testing.assert_array_equal(bits(mine.weights), bits(other.weights))


@pytest.mark.property("P17", workers=2)
@pytest.mark.parametrize("name", ["slowmo", "elastic-slowmo", "co2", "diloco", "noloco"])
def test_one_round_of_an_outer_optimizer_goes_downhill(played, name):
    """The sign: on f = x^2 / 2, one round must reduce |c|."""
    bowl = Quadratics(curvature=1.0, noise=0.0, origin=True)
    case = Case(name, (("period", 3), ("lr", 0.05)), 2, steps=5, objective=bowl)  # 2 for a late average
    before = bowl.start(case.seed)
    assert np.linalg.norm(center_of(played(case, "virtual"))) < 0.95 * np.linalg.norm(before)


@pytest.mark.property("P17", of=("co2",))
@pytest.mark.parametrize("workers", [2, 3])
def test_where_gradients_do_not_depend_on_the_weights_co2_is_slowmo_a_round_later(played, workers):
    """Then a late average is no other one."""
    flat, said = Quadratics(curvature=0.0), (("period", 3), ("lr", 0.05))
    late = Case("co2", (*said, ("outer_momentum", 0.4), ("outer_lr", 0.9)), workers, steps=15, objective=flat)
    slow = Case("slowmo", (*said, ("slow_momentum", 0.4), ("slow_lr", 0.9)), workers, steps=15, objective=flat)
    one, two = played(late, "virtual"), played(slow, "virtual")
    np.testing.assert_allclose(one[0].center, two[0].center, atol=3e-6)  # both have all five averages
    begun = played(replace(slow, steps=12), "virtual")[0].center
    np.testing.assert_allclose(one[0].weights, begun, atol=3e-6)  # the sixth round begins with four of them


@pytest.mark.property("P17", of=("elastic-slowmo",))
@pytest.mark.parametrize("workers", [2, 3])
def test_where_gradients_do_not_depend_on_the_weights_a_late_pull_all_the_way_is_slowmo(played, workers):
    """Workers keep what they did meanwhile, so that only the points of gradients differ."""
    flat, said = Quadratics(curvature=0.0), (("period", 4), ("lr", 0.05), ("slow_momentum", 0.4))
    late = Case("elastic-slowmo", (*said, ("pull", 1.0), ("delay", 3)), workers, steps=19, objective=flat)
    one, two = played(late, "virtual"), played(Case("slowmo", said, workers, steps=19, objective=flat), "virtual")
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_allclose(mine.center, other.center, atol=3e-6)
        np.testing.assert_allclose(mine.weights, other.weights, atol=3e-6)
