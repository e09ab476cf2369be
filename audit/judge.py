"""Compares runs with the simulations, bit by bit with each other, and their clocks with the invariants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from audit import apart, clocks, gossip, problem, rows, sparse, together, unequal
from audit.cases import Case
from audit.problem import Array
from audit.product import Run
from audit.simulate import DEFAULTS, Parameters, Seen, difference

Method = Callable[[Seen, Parameters], tuple[Array, list[Array]]]

METHODS: dict[str, Method] = {
    "adaptive-sgd": unequal.adaptive_sgd,
    "async-easgd": apart.async_easgd,
    "async-measgd": apart.async_easgd,
    "async-msgd": apart.async_sgd,
    "async-sgd": apart.async_sgd,
    "chip-easgd": together.chip_easgd,
    "co2": together.co2,
    "delayed-gradient-averaging": together.delayed_gradient_averaging,
    "demo": sparse.demo,
    "diloco": together.diloco,
    "elastic-slowmo": together.elastic_slowmo,
    "downpour": apart.async_sgd,
    "eamsgd": apart.async_easgd,
    "easgd": apart.async_easgd,
    "heterogeneous-easgd": unequal.heterogeneous_easgd,
    "hogbatch": apart.hogbatch,
    "hogwild-easgd": apart.hogwild_easgd,
    "hogwild-sgd": apart.hogwild_sgd,
    "local-sgd": together.local_sgd,
    "mdownpour": apart.async_sgd,
    "noloco": gossip.noloco,
    "onebit-adam": together.onebit_adam,
    "original-easgd": apart.original_easgd,
    "overlap-local-sgd": together.overlap_local_sgd,
    "pipe-sgd": together.pipe_sgd,
    "post-local-sgd": together.post_local_sgd,
    "powersgd": together.powersgd,
    "sgd": apart.sgd,
    "slowmo": together.slowmo,
    "sma": together.sma,
    "sparseloco": sparse.sparseloco,
    "sparta": together.sparta,
    "stochastic-gradient-push": gossip.stochastic_gradient_push,
    "streaming-diloco": together.streaming_diloco,
    "sync-easgd": together.sync_easgd,
    "sync-easgd1": together.sync_easgd,
    "sync-easgd2": together.sync_easgd,
    "sync-easgd3": together.sync_easgd,
    "sync-sgd": together.sync_sgd,
    "weighted-sync-sgd": unequal.weighted_sync_sgd,
}
"""Method of the catalogue -> its equations; `python -m audit` reports missing ones."""
PRESETS = {"eamsgd": {"momentum_kind": "nesterov"}, "mdownpour": {"momentum_kind": "nesterov"}}
"""Settings implied by a method's name."""
ROUNDINGS, HALF_UNIT = 4, 2.0**-24
GROWS = 100.0
"""Growth from which the summary names a run."""


@dataclass
class Row:
    """One run of one case in one world, with its faults."""

    case: Case
    world: str
    center: float | None = None
    weights: float | None = None
    points: float | None = None
    """Largest relative differences from the simulation: final center, final weights, points of all gradients."""
    tolerance: float = 0.0
    growth: float = 1.0
    """Factor by which the simulation amplifies a small change of its initial weights until its end."""
    missing: float | None = None
    """Lock-free methods on several workers: relative part of the updates that did not arrive."""
    equal: list[str] = field(default_factory=list)
    """Other results with the same bits."""
    margin: float | None = None
    off_clock: float | None = None
    """Seconds: clock minus the longest work; off the clock beyond the evaluations' own."""
    faults: list[str] = field(default_factory=list)
    late: bool = False
    """Whether it was not begun, because the time for the audit was over."""


def tolerance(seen: Seen, growth: float = 1.0) -> float:
    """Return the bound on the error of float32, relative to the largest element of a vector.

    Every step rounds an element about four times (gradient, move, pull, sum), each time by at most 2^-24 of the
    largest, on a CPU as on a CUDA device (TF32 is off); the errors of all steps at most add up. If the equations
    amplify small changes, the error of the first step is amplified by the same factor.
    """
    return ROUNDINGS * HALF_UNIT * (sum(map(len, seen.items)) + growth)


def growth(method: Method, seen: Seen, p: Parameters, center: Array) -> float:
    """Return the factor by which the simulation amplifies a small relative change of its initial weights.

    The largest of four directions. About 1 for all methods but PowerSGD, whose orthonormal bases depend on
    differences of nearly parallel columns.
    """
    small, draw = 1e-9, np.random.default_rng(seen.seed)
    changes = [1 + small * draw.uniform(-1, 1, problem.SIZE) for _ in range(4)]
    return max(difference(method(seen.anew(seen.start * change), p)[0], center) / small for change in changes)


def equations(case: Case, run: Run, row: Row, method: str | None = None) -> None:
    """Compare a run with the simulation of its method (or of another one); record differences and faults."""
    seen, method = run.seen, method or case.method
    if seen is None:
        raise ValueError("this run was not asked to note what it was given")
    p = {**DEFAULTS, **PRESETS.get(method, {}), "lr": 0.1, **case.settings}
    center = run.finals["center"].astype(np.float64)
    seen.one_output = case.one_output
    simulated = rows.METHODS[method] if case.one_output else METHODS[method]
    weights = [run.finals[f"worker_{i}"].astype(np.float64) for i in range(seen.workers)]
    row.tolerance = tolerance(seen)
    try:
        if method.startswith("hogwild") and seen.workers > 1:
            row.missing = apart.missing(method, seen, p, center, weights)
            found = {"of what was pushed, missing": row.missing}
        else:
            fresh = seen.anew(seen.start)
            c, xs = simulated(seen, p)
            row.growth = growth(simulated, fresh, p, c)
            row.tolerance = tolerance(seen, row.growth)
            if case.one_output and method in rows.PULLED:
                row.faults += tells_nothing(simulated, fresh, p, c, row.tolerance)
            row.center = difference(center, c)
            row.weights = max(difference(x, truth) for x, truth in zip(weights, xs, strict=True))
            row.points = seen.apart
            found = {"center": row.center, "weights": row.weights, "points of gradients": row.points}
    except (ValueError, IndexError) as error:
        row.faults.append(f"the run does not fit the equations' course: {error}")
        return
    if case.once and (again := repeated(seen)):
        row.faults.append(f"{again} items were used twice within an epoch, though batches were handed out")
    row.faults += [
        f"{name}: {value:.1e} from the equations, more than {row.tolerance:.1e}"
        for name, value in found.items()
        if not value <= row.tolerance
    ]
    if any(seen.left(i) for i in range(seen.workers)):
        row.faults.append("the run took more steps than the equations' course has")


def tells_nothing(method: Method, seen: Seen, p: Parameters, center: Array, least: float) -> list[str]:
    """Return a fault if exchanges of whole vectors would have had the same center: such a case shows nothing."""
    whole = method(seen.anew(seen.start), {**p, "whole": True})[0]
    if difference(whole, center) > least:
        return []
    return ["no row was left alone when it mattered: exchanges of whole vectors have the same result here"]


def repeated(seen: Seen) -> int:
    """Return how many items occur more than once in the batches of all workers."""
    items = np.concatenate([each.ravel() for each in seen.items])
    return len(items) - len(np.unique(items))


def time(case: Case, run: Run, row: Row) -> None:
    """Check the clocks of a run."""
    row.margin, row.off_clock = clocks.margin(run.journals), clocks.off_clock(run.journals)
    row.faults += clocks.faults(run.journals, case.asks == "target")


def bits(run: Run, other: Run, what: str, row: Row) -> None:
    """Compare the final vectors of two runs bit by bit."""
    if run.finals.keys() != other.finals.keys():
        row.faults.append(f"{what}: {sorted(other.finals)} instead of {sorted(run.finals)}")
        return
    unequal = [name for name in run.finals if run.finals[name].tobytes() != other.finals[name].tobytes()]
    if unequal:
        row.faults.append(f"{what}: other bits in {', '.join(unequal)}")
    else:
        row.equal.append(what)
