"""Each method is a simpler one at a limit (P1, P3, P17): bit by bit where the arithmetic is the same."""

from dataclasses import replace

import numpy as np
import pytest

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


@pytest.mark.property("P1")
@pytest.mark.parametrize(("a", "momentum"), [(0.05, ()), (0.7, ()), (0.7, HEAVY), (0.05, NESTEROV)], ids=ids)
@pytest.mark.parametrize(
    "case",
    [c for c in suite.family((1,)) if suite.spring(c) and not c.values["momentum"]]
    + [c for c in suite.defaults((1,)) if suite.spring(c) and c.values["momentum"]],
    ids=ids,
)
def test_one_worker_makes_elastic_methods_equal(played, case, a, momentum):
    """With one worker there is one way to exchange: bitwise, whatever the rate."""
    own = (("center_momentum", 0.0),) if case.algorithm == "sma" else ()
    plain = (("momentum", 0.0), ("momentum_kind", "heavy-ball"))
    period = (("period", case.values.get("period", 1)),)
    this = replace(case.pulling(a), parameters=(*case.pulling(a).parameters, *own, *plain, *momentum))
    that = Case("sync-easgd", (*period, *momentum), 1).pulling(a)
    this = replace(this, network=ONE_HOST) if suite.free(case) else this  # plain stores: one fused addition
    one, two = played(this, "virtual"), played(that, "virtual")
    if case.values.get("updates") == "atomic":  # a push is rounded before it is added, not fused with the addition
        np.testing.assert_allclose(center_of(one), center_of(two), atol=1e-6)
        return
    np.testing.assert_array_equal(bits(one[0].weights), bits(two[0].weights))
    np.testing.assert_array_equal(center_bits(one), center_bits(two))


AVERAGING = ["sync-sgd", "async-sgd", "hogwild-sgd", "local-sgd", "post-local-sgd", "async-msgd", "downpour"]


@pytest.mark.property("P1", "P17")
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("name", AVERAGING)
def test_one_worker_makes_averaging_methods_sequential(played, name, momentum):
    period = {"local-sgd": 3, "post-local-sgd": 3, "downpour": 1}.get(name)
    given = () if period is None else (("period", period),)
    network = ONE_HOST if name == "hogwild-sgd" else ()  # plain stores: one fused addition
    this = Case(name, (*given, ("momentum", 0.0), *momentum), 1, network=network)
    same_center(played, this, Case("sgd", momentum, 1))


@pytest.mark.property("P1", of=("async-sgd",))
def test_momentum_at_a_single_worker_is_momentum_at_the_master(played):
    for momentum in (HEAVY, NESTEROV):
        same_center(played, Case("async-sgd", (*momentum, ("momentum_at", "worker")), 1), Case("sgd", momentum, 1))


@pytest.mark.property("P1", of=("mdownpour",))
def test_mdownpour_of_one_worker_is_nesterov(played):
    same_center(played, Case("mdownpour", HEAVY, 1), Case("sgd", NESTEROV, 1))


@pytest.mark.property("P3")
@pytest.mark.parametrize("workers", [2, 3, 5])
@pytest.mark.parametrize(
    ("this", "that"),
    [
        ("async-measgd", "async-easgd"),
        ("eamsgd", "easgd"),
        ("async-msgd", "async-sgd"),
        ("mdownpour", "async-sgd"),
        ("easgd", "async-easgd"),
        ("downpour", "async-sgd"),
        ("sync-easgd2", "sync-easgd"),
        ("sync-easgd3", "sync-easgd"),
    ],
)
def test_a_preset_without_its_setting_is_the_method(played, this, that, workers):
    def bare(name):
        case = Case(name, (("momentum", 0.0), *((("period", 1),) if name != "mdownpour" else ())), workers)
        return case.pulling(0.05) if suite.spring(case) else case

    same_center(played, bare(this), bare(that))


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
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_sma_without_its_momentum_is_sync_easgd(played, workers, momentum):
    same_center(
        played,
        Case("sma", (("center_momentum", 0.0), ("beta", 0.9), *momentum), workers),
        Case("sync-easgd", (("beta", 0.9), *momentum), workers),
    )


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


@pytest.mark.property("P17", of=("chip-easgd",))
@pytest.mark.parametrize("inside", ["mean", "sum"])
@pytest.mark.parametrize("workers", [2, 4])
def test_one_chip_that_nothing_pulls_is_sync_sgd_with_the_same_reduction(played, workers, inside):
    chip = Case("chip-easgd", (("parts", workers), ("inside", inside)), workers).pulling(0.0)
    sync = played(Case("sync-sgd", (("reduction", inside),), workers), "virtual")
    for report in played(chip, "virtual"):
        np.testing.assert_allclose(report.weights, center_of(sync), atol=1e-6)


@pytest.mark.property("P17", of=("local-sgd",))
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_local_sgd_of_one_step_is_sync_sgd(played, workers):
    near_center(played, Case("local-sgd", (("period", 1),), workers), Case("sync-sgd", (), workers))


@pytest.mark.property("P17", of=("post-local-sgd",))
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_post_local_sgd_has_two_limits(played, workers, momentum):
    late = Case("post-local-sgd", (("switch", 10**6), *momentum), workers)
    same_center(played, late, Case("sync-sgd", momentum, workers))
    early = Case("post-local-sgd", (("switch", 0), ("period", 3), *momentum), workers)
    same_center(played, early, Case("local-sgd", (("period", 3), *momentum), workers))


@pytest.mark.property("P17")
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("slowmo", (("slow_momentum", 0.0), ("slow_lr", 1.0))),
        ("diloco", (("inner", "sgd"), ("lr", 0.05), ("outer_lr", 1.0), ("outer_momentum", 0.0))),
    ],
)
def test_outer_optimizers_without_momentum_are_local_sgd(played, name, limit, workers, momentum):
    every = (("period", 3), *momentum)
    near_center(played, Case(name, (*every, *limit), workers), Case("local-sgd", every, workers))


@pytest.mark.property("P17", of=("powersgd",))
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_powersgd_at_full_rank_is_sync_sgd(played, workers, momentum):
    near_center(played, Case("powersgd", (("rank", 4), *momentum), workers), Case("sync-sgd", momentum, workers))


@pytest.mark.property("P17", of=("chip-easgd",))
@pytest.mark.parametrize("momentum", EVERY_MOMENTUM, ids=ids)
@pytest.mark.parametrize("workers", [2, 3, 5])
def test_chips_of_one_part_are_sync_easgd_and_one_chip_is_sync_sgd(played, workers, momentum):
    ones = Case("chip-easgd", (("parts", 1), *momentum), workers)
    same_center(played, ones, Case("sync-easgd", momentum, workers))
    one = Case("chip-easgd", (("parts", workers), *momentum), workers).pulling(0.0)
    this, that = played(one, "virtual"), played(Case("sync-sgd", momentum, workers), "virtual")
    for mine, other in zip(this, that, strict=True):
        np.testing.assert_array_equal(bits(mine.weights), bits(other.weights))


@pytest.mark.property("P17", workers=2)
@pytest.mark.parametrize("name", ["slowmo", "diloco"])
def test_one_round_of_an_outer_optimizer_goes_downhill(played, name):
    """The sign: on f = x^2 / 2, one round must reduce |c|."""
    bowl = Quadratics(curvature=1.0, noise=0.0, origin=True)
    case = Case(name, (("period", 3), ("lr", 0.05)), 2, steps=3, objective=bowl)
    before = bowl.start(case.seed)
    assert np.linalg.norm(center_of(played(case, "virtual"))) < 0.95 * np.linalg.norm(before)


@pytest.mark.property("P5", workers=4)
@pytest.mark.parametrize("name", ["sync-sgd", "local-sgd", "post-local-sgd", "slowmo", "diloco", "powersgd"])
def test_identical_workers_are_one(played, name):
    """Equal batches on all workers: averages change nothing."""
    same = Quadratics(same_batches=True)
    given = suite.base(name)
    many = Case(name, tuple(given.items()), 4, objective=same)
    one = replace(many, workers=1)
    near_center(played, many, one)
    weights = [report.weights for report in played(many, "virtual")]
    for other in weights[1:]:
        np.testing.assert_array_equal(bits(other), bits(weights[0]))
