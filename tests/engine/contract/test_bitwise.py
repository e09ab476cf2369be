"""What must not move a single bit of the weights: delays, worlds, packings, schedules, restarts, evaluation."""

from dataclasses import replace

import numpy as np
import pytest

from tests.engine.contract import suite
from tests.engine.contract.cases import BATCH, WORLDS, Case
from tests.engine.contract.expected import center_of
from tests.engine.contract.objective import Quadratics

DETERMINISTIC = [case for case in suite.family() if case.kind.deterministic]
BY_ARRIVAL = [case for case in suite.family() if not case.kind.deterministic]
ELASTIC = [case for case in suite.family((1, 2, 3)) if suite.elastic(case)]


def ids(value):
    return value.name if isinstance(value, Case) else str(value)


def bits(array):
    return array.view(np.uint32)


def assert_same_bits(these, those):
    """Compare weights of all ranks, and centers where both have one, bit by bit."""
    assert len(these) == len(those)
    for this, that in zip(these, those, strict=True):
        np.testing.assert_array_equal(bits(this.weights), bits(that.weights))
        if this.center is not None and that.center is not None:
            np.testing.assert_array_equal(bits(this.center), bits(that.center))


SHOWN = {
    "again with delays": "P8",
    "hardly evaluated": "P22",
    "packed per layer": "P18",
    "other collective": "P8",
    "halted and restarted": "P23",
}


@pytest.mark.parametrize(
    ("twin", "case", "world"),
    [
        pytest.param(twin, case, world, marks=pytest.mark.property(SHOWN[twin]))
        for world in WORLDS
        for twin, case in suite.twins(world)
    ],
    ids=ids,
)
def test_twins_are_bitwise_equal(played, case, twin, world):
    other = played(suite.TWINS[twin](case), world)
    assert_same_bits(other, played(suite.straight(case), world))
    if not suite.TWINS[twin](case).whole:
        assert 0 < other[0].first["step"] < other[0].done["step"]


@pytest.mark.property("P8")
@pytest.mark.parametrize("world", ["mpi"])
@pytest.mark.parametrize("case", [c for c in suite.played_in("mpi") if c.kind.deterministic], ids=ids)
def test_both_worlds_are_bitwise_equal(played, case, world):
    assert_same_bits(played(suite.straight(case), "virtual"), played(suite.straight(case), world))


@pytest.mark.property("P24")
@pytest.mark.parametrize("case", [c for c in suite.defaults((3, 5, 6)) if c.kind.deterministic], ids=ids)
def test_schedules_agree_when_workers_are_no_power_of_two(played, case):
    assert_same_bits(played(replace(case, collective="halving"), "virtual"), played(case, "virtual"))


@pytest.mark.property("P8")
@pytest.mark.parametrize("case", BY_ARRIVAL, ids=ids)
def test_virtual_time_alone_decides_who_is_served(played, case):
    if case.algorithm in suite.MERGING:
        case = replace(case, steps=48)  # several merges: the order of requests between two of them decides nothing
    this, that = played(replace(case, sleeps=1), "virtual"), played(replace(case, sleeps=2), "virtual")
    assert this[-1].served == that[-1].served
    assert_same_bits(this, that)
    slower = played(replace(case, network=(("compute_jitter", 1.0),), every=10**6), "virtual")
    if suite.served(case):
        assert slower[-1].served != this[-1].served
    assert not np.array_equal(slower[-1].center, played(replace(case, every=10**6), "virtual")[-1].center)


@pytest.mark.property("P23")
@pytest.mark.parametrize(("case", "world"), suite.ends(suite.cancelled()), ids=ids)
def test_a_cancelled_run_goes_on_where_it_stopped(played, case, world):
    reports = played(case, world)
    assert {report.first["reason"] for report in reports} == {"cancelled"}
    assert reports[-1].first["samples"] < reports[-1].done["samples"]
    assert {report.done["reason"] for report in reports} == {"budget"}
    assert sum(len(report.picked) for report in reports) * BATCH == case.budget
    if case.kind.deterministic:
        assert_same_bits(reports, played(replace(case, cancel=None, slow=None), "virtual"))


@pytest.mark.property("P2")
@pytest.mark.parametrize("case", ELASTIC, ids=ids)
def test_without_elasticity_each_worker_is_alone(played, case):
    """P2: c stays where it began; each x_i is an independent SGD run on its own batches."""
    free = case.pulling(0.0)
    reports = played(free, "virtual")
    start = free.objective.start(free.seed)
    np.testing.assert_array_equal(bits(center_of(reports)), bits(start))
    for worker, report in enumerate(reports[: free.workers]):
        alone = alone_on(free, worker, report.picked)
        np.testing.assert_array_equal(bits(report.weights), bits(alone))


def alone_on(case, worker, picked):
    """Take SGD or heavy-ball steps in float32, batch by batch, rounded as one fused or two operations."""
    import torch

    family = case.objective
    h, b = torch.from_numpy(family.h(worker)), torch.from_numpy(family.b(worker))
    forces, kick = torch.from_numpy(family.forces()), torch.from_numpy(family.kicks(worker))
    x = torch.from_numpy(family.start(case.seed).copy())
    v = torch.zeros_like(x)
    lr, momentum = case.values["lr"], case.values["momentum"]
    for step, indices in enumerate(picked):
        g = h * (x - b) - forces[indices].mean(dim=0)
        if step == 0:
            g.add_(kick)
        if momentum:
            x.add_(v.mul_(momentum).add_(g, alpha=-lr))
        else:
            x.add_(g, alpha=-lr)
    return x.numpy()


@pytest.mark.property("P7")
@pytest.mark.parametrize(
    ("case", "world"),
    [
        (c, w)
        for c, w in suite.worlds()
        if c.kind.deterministic and (c.values.get("overlap") or c.values.get("pipelined"))
    ],
    ids=ids,
)
def test_overlap_moves_no_bit(played, case, world):
    """The transfer reads a copy, so that it may run behind the gradient, or behind all until the next one."""
    off = [(name, False) for name in ("overlap", "pipelined") if name in case.values]
    blocking = replace(suite.straight(case), parameters=(*case.parameters, *off))
    assert_same_bits(played(suite.straight(case), world), played(blocking, "virtual"))


@pytest.mark.property("P8")
@pytest.mark.parametrize(
    ("case", "world"),
    [pair for pair in suite.worlds() if pair[0].kind.deterministic and not pair[0].kind.servers],
    ids=ids,
)
def test_replicas_of_the_answer_stay_equal(played, case, world):
    reports = played(suite.straight(case), world)
    for report in reports[1:]:
        np.testing.assert_array_equal(bits(report.center), bits(reports[0].center))


SAME = Quadratics(same_batches=True)


SYNC = [c for c in DETERMINISTIC if suite.elastic(c) and c.kind.coordination == "synchronous"]


@pytest.mark.property("P5")
@pytest.mark.parametrize("case", SYNC, ids=ids)
def test_identical_workers_stay_identical(played, case):
    """They follow one worker with worker rate a and center rate P a."""
    reports = played(replace(case, objective=SAME), "virtual")
    for report in reports[1 : case.workers]:
        np.testing.assert_array_equal(bits(report.weights), bits(reports[0].weights))
    x, c = one_with_two_rates(replace(case, objective=SAME), reports[0].picked)
    np.testing.assert_allclose(reports[0].weights, x, atol=1e-5)
    np.testing.assert_allclose(center_of(reports), c, atol=1e-5)


def one_with_two_rates(case, picked):
    values, family = case.values, case.objective
    a = case.rate
    h, b, forces = (np.asarray(v, np.float64) for v in (family.h(0), family.b(0), family.forces()))
    x = family.start(case.seed).astype(np.float64)
    c = x.copy()
    for step, indices in enumerate(picked):
        d = x - c if step % values["period"] == 0 else np.zeros_like(x)
        x = x - values["lr"] * (h * (x - b) - forces[indices].mean(axis=0)) - a * d
        c = c + case.workers * a * d
    return x, c
