"""Mean and 95% t interval over seeds on a common grid that is stable while curves grow.

Seeds are not sampled at the same x, because train clocks differ. Each seed is interpolated linearly between its
own neighbouring points, and not extrapolated; `n` is the number of seeds at each grid point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hooke.comparison.intervals import t_quantile
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One seed: x ascending, y (NaN is a gap), and whether more points may follow."""

    x: Floats
    y: Floats
    ended: bool


@dataclass(frozen=True)
class BandColumns:
    """Columns of equal length. `mean` is NaN where n is 0; `low` and `high` are NaN where n < 2."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]


def grid_step(reach: float, cells: int, unit: float) -> float:
    """Return the least unit * 2^k (k any integer) of which at most `cells` fit into `reach` > 0."""
    k = math.ceil(math.log2(reach / (cells * unit)))
    step = unit * 2.0**k
    while math.floor(reach / step) > cells:  # log2 may be rounded
        step *= 2
    return step


def common_grid(curves: Sequence[Curve], most: int, unit: float) -> Floats:
    """Return at most `most` x values, ascending: multiples of a step, and the last x of seeds that ended.

    The step is `unit` times a power of two, so when the curves outgrow the grid every second multiple is dropped
    and the others do not move. The last points are included so that a curve ends where its seed did.
    """
    curves = [c for c in curves if len(c.x)]
    if not curves:
        return np.empty(0)
    ends = np.unique([c.x[-1] for c in curves if c.ended])[-(most // 2) :]
    begin, reach = min(float(c.x[0]) for c in curves), max(float(c.x[-1]) for c in curves)
    if reach <= 0:
        return np.unique([begin, reach])
    cells = most - len(ends) - 1
    step = grid_step(reach, cells, unit)
    first, last = math.ceil(begin / step), math.floor(reach / step)
    return np.unique(np.concatenate([np.arange(first, last + 1) * step, ends]))


def interpolate(curve: Curve, grid: Floats) -> Floats:
    """Return y of one seed on the grid: NaN outside its range, in a gap, and next to a gap."""
    x, y = curve.x, curve.y
    if not len(x):
        return np.full(len(grid), np.nan)
    left = np.clip(np.searchsorted(x, grid, side="right") - 1, 0, len(x) - 1)
    right = np.minimum(left + 1, len(x) - 1)
    with np.errstate(invalid="ignore"):  # inf - inf next to a gap: NaN is intended
        gap = x[right] - x[left]
        part = np.where(gap > 0, (grid - x[left]) / np.where(gap > 0, gap, 1.0), 0.0)
        between = np.where(part > 0, y[left] + part * (y[right] - y[left]), y[left])
    inside = (grid >= x[0]) & (grid <= x[-1]) & np.isfinite(between)
    return np.where(inside, between, np.nan)


def band(curves: Sequence[Curve], most: int, unit: float) -> BandColumns:
    """Return mean and 95% t interval of the seeds on their common grid of at most `most` points."""
    x = common_grid(curves, most, unit)
    if not len(x):
        return BandColumns(x, x, x, x, np.empty(0, dtype=np.int64))
    values = np.stack([interpolate(c, x) for c in curves])
    there = np.isfinite(values)
    n = there.sum(axis=0)
    nothing = np.full(len(x), np.nan)
    quantile = np.array([math.nan, math.nan, *(t_quantile(k - 1) for k in range(2, len(curves) + 1))])
    with np.errstate(over="ignore", invalid="ignore"):  # a loss that diverged to 1e200 has no finite interval
        mean = np.divide(np.where(there, values, 0.0).sum(axis=0), n, out=nothing.copy(), where=n > 0)
        squares = np.where(there, values - mean, 0.0) ** 2
        variance = np.divide(squares.sum(axis=0), n - 1, out=nothing.copy(), where=n > 1)
        half = quantile[n] * np.sqrt(variance / np.maximum(n, 1))
        return BandColumns(x, mean, mean - half, mean + half, n.astype(np.int64))
