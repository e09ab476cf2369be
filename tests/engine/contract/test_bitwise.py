"""What must not move a single bit of the weights: delays, worlds, packings, schedules, restarts, evaluation."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, WORLDS, Case
from tests.engine.contract.problem import Quadratics

DETERMINISTIC = [case for case in suite.family() if case.kind.deterministic]
SERVED = [case for case in suite.family() if not case.kind.deterministic]
ELASTIC = [case for case in suite.family((1, 2, 4)) if suite.elastic(case)]


def ids(case):
    return case.name


def bits(array):
    return array.view(np.uint32)


def assert_same_bits(these, those):
    """Compare weights of all ranks, and centers where both have one, bit by bit."""
    assert len(these) == len(those)
    for this, that in zip(these, those, strict=True):
        np.testing.assert_array_equal(bits(this.weights), bits(that.weights))
        if this.center is not None and that.center is not None:
            np.testing.assert_array_equal(bits(this.center), bits(that.center))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("twin", suite.TWINS)
@pytest.mark.parametrize("case", DETERMINISTIC, ids=ids)
def test_twins_are_bitwise_equal(played, case, twin, world):
    other = played(suite.TWINS[twin](case), world)
    assert_same_bits(other, played(suite.straight(case), world))
    if not suite.TWINS[twin](case).whole:
        assert 0 < other[0].first["step"] < other[0].done["step"]


@pytest.mark.parametrize("case", [c for c in suite.family((2, 3, 4)) if c.kind.deterministic], ids=ids)
def test_both_worlds_are_bitwise_equal(played, case):
    assert_same_bits(played(suite.straight(case), "virtual"), played(suite.straight(case), "mpi"))


@pytest.mark.parametrize("case", [c for c in suite.family((3, 5)) if c.kind.deterministic], ids=ids)
def test_schedules_agree_when_workers_are_no_power_of_two(played, case):
    assert_same_bits(played(replace(case, collective="halving"), "virtual"), played(case, "virtual"))


@pytest.mark.parametrize("case", SERVED, ids=ids)
def test_virtual_time_alone_decides_who_is_served(played, case):
    this, that = played(replace(case, sleeps=1), "virtual"), played(replace(case, sleeps=2), "virtual")
    assert this[-1].served == that[-1].served
    assert_same_bits(this, that)
    slower = replace(case, network=(("compute_jitter", 1.0),))
    assert played(slower, "virtual")[-1].served != this[-1].served


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", suite.cancelled(), ids=ids)
def test_a_cancelled_run_goes_on_where_it_stopped(played, case, world):
    reports = played(case, world)
    assert {report.first["reason"] for report in reports} == {"cancelled"}
    assert reports[-1].first["samples"] < reports[-1].done["samples"]
    assert {report.done["reason"] for report in reports} == {"budget"}
    assert sum(len(report.picked) for report in reports) * BATCH == case.budget
    if case.kind.deterministic:
        assert_same_bits(reports, played(replace(case, cancel=None, slow=None), "virtual"))


@pytest.mark.parametrize("case", ELASTIC, ids=ids)
def test_without_elasticity_each_worker_is_alone(played, case):
    """P2: c stays where it began; each x_i is an independent SGD run on its own batches."""
    free = replace(case, parameters=(*case.parameters, ("rho", 0.0)))
    reports = played(free, "virtual")
    start = free.problem.start(free.seed)
    center = next(report.center for report in reversed(reports) if report.center is not None)
    np.testing.assert_array_equal(bits(center), bits(start))
    for worker, report in enumerate(reports[: free.workers]):
        alone = alone_on(free, worker, report.picked)
        np.testing.assert_array_equal(bits(report.weights), bits(alone))


def alone_on(case, worker, picked):
    """Take plain SGD steps in float32, batch by batch: x += (-lr) g, rounded as one fused or two operations."""
    import torch

    family = case.problem
    h, b = torch.from_numpy(family.h(worker)), torch.from_numpy(family.b(worker))
    forces, kick = torch.from_numpy(family.forces()), torch.from_numpy(family.kicks(worker))
    x = torch.from_numpy(family.start(case.seed).copy())
    for step, indices in enumerate(picked):
        g = h * (x - b) - forces[indices].mean(dim=0)
        if step == 0:
            g.add_(kick)
        x.add_(g, alpha=-case.values["lr"])
    return x.numpy()


@pytest.mark.parametrize("case", [c for c in suite.family((1,)) if suite.elastic(c)], ids=ids)
def test_one_worker_makes_elastic_methods_equal(played, case):
    """P1: with one worker there is one way to exchange."""
    period = {name: value for name, value in case.parameters if name == "period"}
    yardstick = Case("sync-easgd", tuple(period.items()), 1)
    this, that = played(case, "virtual"), played(yardstick, "virtual")
    np.testing.assert_array_equal(bits(this[0].weights), bits(that[0].weights))
    np.testing.assert_array_equal(bits(this[-1].center), bits(that[0].center))


@pytest.mark.parametrize("case", [c for c in suite.family((1,)) if suite.plain(c)], ids=ids)
def test_one_worker_makes_plain_methods_sequential(played, case):
    """P1: averaging one gradient changes nothing."""
    this, that = played(case, "virtual"), played(Case("sgd", (), 1), "virtual")
    np.testing.assert_array_equal(bits(this[0].weights), bits(that[0].weights))


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("case", [c for c in DETERMINISTIC if c.values.get("overlap")], ids=ids)
def test_overlap_moves_no_bit(played, case, world):
    """P7: the transfer reads a copy, so that it may run behind the gradient."""
    plain = tuple(item for item in case.parameters if item[0] != "overlap")
    assert_same_bits(
        played(suite.straight(case), world), played(suite.straight(replace(case, parameters=plain)), world)
    )


@pytest.mark.parametrize("case", [c for c in DETERMINISTIC if not c.kind.servers], ids=ids)
def test_replicas_of_the_answer_stay_equal(played, case):
    for world in WORLDS:
        reports = played(suite.straight(case), world)
        for report in reports[1:]:
            np.testing.assert_array_equal(bits(report.center), bits(reports[0].center))


SAME = Quadratics(same_batches=True)


@pytest.mark.parametrize("case", [c for c in DETERMINISTIC if c.algorithm == "sync-easgd"], ids=ids)
def test_identical_workers_stay_identical(played, case):
    """P5: they follow one worker with worker rate a and center rate P a."""
    reports = played(replace(case, problem=SAME), "virtual")
    for report in reports[1:]:
        np.testing.assert_array_equal(bits(report.weights), bits(reports[0].weights))
    x, c = one_with_two_rates(replace(case, problem=SAME), reports[0].picked)
    np.testing.assert_allclose(reports[0].weights, x, atol=1e-5)
    np.testing.assert_allclose(reports[0].center, c, atol=1e-5)


def one_with_two_rates(case, picked):
    values, family = case.values, case.problem
    a = values["lr"] * values["rho"]
    h, b, forces = (np.asarray(v, np.float64) for v in (family.h(0), family.b(0), family.forces()))
    x = family.start(case.seed).astype(np.float64)
    c = x.copy()
    for step, indices in enumerate(picked):
        d = x - c if step % values["period"] == 0 else np.zeros_like(x)
        x = x - values["lr"] * (h * (x - b) - forces[indices].mean(axis=0)) - a * d
        c = c + case.workers * a * d
    return x, c
