"""What the equations say of a case: the NumPy references under the batches and the order that were observed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from hooke.methods.elastic import Elastic

from tests.engine.contract import suite
from tests.engine.contract.cases import Case, Played
from tests.engine.reference import descent, elastic
from tests.engine.reference.descent import Adam, Array, Momentum
from tests.engine.reference.elastic import Constants, Spring

End = tuple[Sequence[Array], Array]
"""Weights of every worker, and the center."""
SHAPES = ((5,), (4, 5), (1,), (11,))
"""Of the layers of a `Quadratic`."""


def recorded(case: Case, reports: list[Played]) -> Callable[[int, int, Array], Array]:
    """Return gradient(i, t, x) in float64, with the batches that worker i has picked."""
    family = case.objective
    h = [family.h(i).astype(np.float64) for i in range(case.workers)]
    b = [family.b(i).astype(np.float64) for i in range(case.workers)]
    kicks = [family.kicks(i).astype(np.float64) for i in range(case.workers)]
    forces = family.forces().astype(np.float64)
    picked = [report.picked for report in reports]

    def gradient(i: int, t: int, x: Array) -> Array:
        g = h[i] * (x - b[i]) - forces[picked[i][t]].mean(axis=0)
        return np.asarray(g + kicks[i] if t == 0 else g)

    return gradient


def center_of(reports: list[Played]) -> Any:
    """Return the center, from whichever rank has it."""
    return next(report.center for report in reversed(reports) if report.center is not None)


def expected(case: Case, reports: list[Played]) -> End | None:
    """Return (weights of each worker, center) as the equations have it.

    None: nobody can say, because several workers wrote without locks.
    """
    if suite.free(case) and case.workers > 1:
        return None
    gradient, start = recorded(case, reports), case.objective.start(case.seed)
    steps = [len(report.picked) for report in reports[: case.workers]]
    if issubclass(case.kind, Elastic):
        return _springs(case, gradient, start, reports, steps)
    return _descents(case, gradient, start, reports, steps)


def _springs(case: Case, gradient: Any, start: Array, reports: list[Played], steps: list[int]) -> End:
    values = case.values
    k = Constants(
        values["lr"],
        case.rate / values["lr"],
        values.get("period", 1),
        values["momentum"],
        values["momentum_kind"] == "nesterov",
        values.get("center_momentum", 0.0),
    )
    if case.algorithm == "chip-easgd":
        s = elastic.chip_easgd(start, gradient, k, steps[0], case.workers, case.parts, values["inside"])
        return [s.x[i // case.parts] for i in range(case.workers)], s.c
    s = Spring.at(start, case.workers)
    if case.algorithm == "sma":
        elastic.sma(s, gradient, k, steps[0])
    elif not suite.served(case):
        elastic.sync_easgd(s, gradient, k, steps[0])
    elif case.kind.deterministic:
        elastic.original_easgd(s, gradient, k, sum(steps))
    else:
        elastic.async_easgd(s, gradient, k, reports[-1].served, steps)
    return s.x, s.c


def _descents(case: Case, gradient: Any, start: Array, reports: list[Played], steps: list[int]) -> End:
    values, workers = case.values, case.workers
    lr, mu, nesterov = values["lr"], values["momentum"], values["momentum_kind"] == "nesterov"
    own = [Momentum(lr, mu, nesterov) for _ in range(workers)]
    if suite.served(case):
        at = values["momentum_at"]
        order = reports[-1].served
        return descent.async_sgd(start, gradient, lr, values["period"], order, steps, mu, nesterov, at)
    if case.algorithm in ("local-sgd", "post-local-sgd"):
        return descent.local_sgd(start, gradient, own, values["period"], steps[0], values.get("switch", 0))
    if case.algorithm == "slowmo":
        center = descent.slow_step(values["slow_momentum"], values["slow_lr"], lr)
        return descent.outer(start, gradient, own, values["period"], steps[0], center)
    if case.algorithm == "diloco":
        inner: Any = [Adam(lr, values["decay"]) for _ in own] if values["inner"] == "adamw" else own
        center = descent.nesterov_step(values["outer_lr"], values["outer_momentum"])
        return descent.outer(start, gradient, inner, values["period"], steps[0], center)
    if case.algorithm == "powersgd":
        x = descent.powersgd(start, gradient, own[0], steps[0], workers, SHAPES, first_basis(case))
    else:
        reduction = values.get("reduction", "mean")
        x = descent.sync_sgd(start, gradient, own[0], steps[0], workers, reduction)
    return ([] if suite.free(case) else [x] * workers), x  # Hogwild's x is only what a worker read last


def first_basis(case: Case) -> list[Array]:
    """Return the Q that PowerSGD begins with: a seeded normal draw, (columns, rank) of every matrix."""
    rank = min(case.values["rank"], 4)
    draw = torch.randn(5 * rank, generator=torch.Generator().manual_seed(case.seed))
    return [draw.numpy().astype(np.float64).reshape(5, rank)]


def assert_follows(case: Case, reports: list[Played], tolerance: float = 2e-6) -> None:
    """Raise AssertionError where weights or center are not those of the equations.

    A power iteration from a kept start is not a contraction: it grows a difference in the last bit about
    tenfold in four steps here (1e-7 after 4 steps, 3e-5 after 12), so that PowerSGD is held less strictly.
    """
    if case.algorithm == "powersgd" and case.values["rank"] < min(SHAPES[1]):
        tolerance *= 20
    end = expected(case, reports)
    assert end is not None
    weights, center = end
    scale = max(1.0, float(np.abs([*weights, center]).max()))
    for report, x in zip(reports, weights, strict=False):
        np.testing.assert_allclose(report.weights, x, atol=tolerance * scale, rtol=1e-6)
    np.testing.assert_allclose(center_of(reports), center, atol=tolerance * scale, rtol=1e-6)


def drift(case: Case, reports: list[Played]) -> float:
    """I1: return how far SUM x_i + c is from where the gradients have put it, relative to its terms.

    Parts of one chip share their weights: each chip counts once, with the mean of its parts' gradients.
    """
    weights = [report.weights.astype(np.float64) / case.parts for report in reports[: case.workers]]
    total = np.sum(weights, axis=0) + center_of(reports)
    start = case.objective.start(case.seed).astype(np.float64)
    spent = np.sum([report.spent for report in reports[: case.workers]], axis=0)
    spent /= case.parts if case.values.get("inside", "mean") == "mean" else 1
    scale = np.sum(np.abs(weights), axis=0) + np.abs(center_of(reports))
    gap = np.abs(total - ((case.workers // case.parts + 1) * start - case.values["lr"] * spent))
    return float((gap / scale).max())
