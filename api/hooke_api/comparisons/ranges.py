"""A mean, its 95% interval and its p values from figures that are known as ranges only.

The lower ends are a sample of their own whose mean is at most the true one, so the lower end of its t interval is
one for the true mean too; the upper ends likewise. What the ranges hide of the spread is added, as if each value
lay anywhere in its range: without it a few equal ranges would claim to have no spread at all, and three seeds
would miss the true mean in up to 7% of cases on one side (docs/decisions/0020-one-rule-of-verdict.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hooke_api.base.intervals import t_quantile


@dataclass(frozen=True)
class Range:
    """Where a value lies: between `low` and `high`, or anywhere beyond an open end; `point` stands for it."""

    low: float
    high: float
    point: float
    open_below: bool = False
    open_above: bool = False

    def __sub__(self, other: Range) -> Range:
        return Range(
            self.low - other.high,
            self.high - other.low,
            self.point - other.point,
            self.open_below or other.open_above,
            self.open_above or other.open_below,
        )


@dataclass(frozen=True)
class Mean:
    """The mean of ranges: null is what they leave open, or what fewer than two cannot say."""

    point: float | None
    low: float | None
    high: float | None
    p: float | None
    """Two-sided p value of the mean being 0."""


def mean_of(ranges: Sequence[Range]) -> Mean:
    """Return the mean of independent values, each known as a range, with its 95% t interval."""
    n = len(ranges)
    below, above = any(r.open_below for r in ranges), any(r.open_above for r in ranges)
    if not n or (below and above):
        return Mean(None, None, None, 1.0 if n > 1 else None)
    point = math.fsum(r.point for r in ranges) / n
    if n == 1:
        return Mean(point, None, None, None)
    hidden = math.fsum((r.high - r.low) ** 2 for r in ranges) / n / 12
    least, error = _mean_and_error([r.low for r in ranges], hidden)
    most, upper_error = _mean_and_error([r.high for r in ranges], hidden)
    t = t_quantile(n - 1)
    return Mean(
        point,
        None if below else least - t * error,
        None if above else most + t * upper_error,
        min(1.0 if below else _p(least, error, n - 1), 1.0 if above else _p(-most, upper_error, n - 1)),
    )


def _mean_and_error(values: Sequence[float], hidden: float) -> tuple[float, float]:
    """Return the mean of values and its standard error, where `hidden` is added to their variance."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, math.sqrt((variance + hidden) / n)


def _p(mean: float, error: float, degrees: int) -> float:
    """Return the two-sided p value of a mean above 0; 1 of one that is not."""
    from scipy.special import stdtr

    if mean <= 0:
        return 1.0
    return 2 * float(stdtr(degrees, -mean / error)) if error else 0.0
