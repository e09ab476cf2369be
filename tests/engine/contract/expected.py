"""What the equations say of a case: the NumPy references under the batches and the order that were observed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from hooke.catalogue.claims import claimed

from tests.engine.contract.cases import BATCH, Case, Played
from tests.engine.reference.descent import Array
from tests.engine.reference.observed import End, Observed, equations

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
    count = case.values.get("accumulation", 1)

    def gradient(i: int, t: int, x: Array) -> Array:
        drawn = [forces[picked[i][n]].mean(axis=0) for n in range(count * t, count * (t + 1))]
        g = h[i] * (x - b[i]) - np.mean(drawn, axis=0)
        return np.asarray(g + kicks[i] / count if t == 0 else g)

    return gradient


def center_of(reports: list[Played]) -> Any:
    """Return the weights that were evaluated last, from whichever rank has them."""
    return next(report.center for report in reversed(reports) if report.center is not None)


def observed(case: Case, reports: list[Played]) -> Observed:
    """Return what the equations need to know of a case that was played."""

    def normal(count: int) -> Array:
        draw = torch.randn(count, generator=torch.Generator().manual_seed(case.seed))
        return draw.numpy().astype(np.float64)

    sizes = case.values["sizes"] if "split" in case.values else (1,)
    joined = case.values.get("accumulation", 1) * sum(sizes) / len(sizes)
    return Observed(
        values=case.values,
        workers=case.workers,
        steps=[len(report.picked) // case.values.get("accumulation", 1) for report in reports[: case.workers]],
        served=reports[-1].served,
        gradient=recorded(case, reports),
        start=case.objective.start(case.seed).astype(np.float64),
        shapes=SHAPES,
        normal=normal,
        seed=case.seed,
        period=case.values[case.kind.period_field] if case.kind.period_field else 1,
        budget_steps=math.ceil(case.budget / (case.workers * BATCH * joined)),
    )


def expected(case: Case, reports: list[Played]) -> End:
    """Return the weights of the workers and those that are evaluated, as the equations have them."""
    return equations(claimed(case.kind, "reference"))(observed(case, reports))


def assert_follows(case: Case, reports: list[Played], tolerance: float = 2e-6) -> None:
    """Raise AssertionError where weights or center are not those of the equations.

    A power iteration from a kept start is not a contraction: it grows a difference in the last bit about
    tenfold in four steps here (1e-7 after 4 steps, 3e-5 after 12), so that PowerSGD is held less strictly.
    """
    if case.values.get("rank", 4) < min(SHAPES[1]):
        tolerance *= 20
    weights, center = expected(case, reports)
    scale = max(1.0, float(np.abs([*weights, center]).max()))
    for report, x in zip(reports, weights, strict=False):
        np.testing.assert_allclose(report.weights, x, atol=tolerance * scale, rtol=1e-6)
    np.testing.assert_allclose(center_of(reports), center, atol=tolerance * scale, rtol=1e-6)


def drift(case: Case, reports: list[Played]) -> float:
    """I1: return how far SUM x_i + c is from where the gradients have put it, relative to its terms.

    Among these are the initial weights: an element that ends near 0 has the rounding of where it has been.
    Parts of one chip share their weights: each chip counts once, with the mean of its parts' gradients. Where no
    worker and no server keeps a center, the sum is that of the weights alone.
    """
    weights = [report.weights.astype(np.float64) / case.parts for report in reports[: case.workers]]
    center = center_of(reports) if case.centered else np.zeros_like(weights[0])
    total = np.sum(weights, axis=0) + center
    start = case.objective.start(case.seed).astype(np.float64)
    spent = np.sum([report.spent for report in reports[: case.workers]], axis=0)
    spent /= case.parts if case.values.get("inside", "mean") == "mean" else 1
    members = case.workers // case.parts + case.centered
    scale = np.maximum(np.sum(np.abs(weights), axis=0) + np.abs(center), members * np.abs(start))
    gap = np.abs(total - (members * start - case.values["lr"] * spent))
    return float((gap / scale).max())
