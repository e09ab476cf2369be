"""The t interval of a mean whose values are known as ranges only: all that any values in the ranges would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke_api.intervals import t_quantile

EXACT = 12
"""Up to so many ranges every corner of their box is looked at, 2^n of them; above, a bound stands for them."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Hull:
    """The union of the t intervals, and p values of the mean being 0: the largest that any values would give."""

    low: float
    high: float
    p_above: float
    """Two-sided p value for a mean above 0: 1 where some values have it at or below 0."""
    p_below: float
    """The same for a mean below 0."""


def hull(lows: Sequence[float], highs: Sequence[float]) -> Hull:
    """Return the hull over all values between `lows` and `highs`, n >= 2 of them.

    With values x, mean m and standard deviation s, m - c s is concave in x, and m / s is quasi-concave where
    m > 0: both are least at a corner of the box.
    """
    low, high = np.array(lows, dtype=np.float64), np.array(highs, dtype=np.float64)
    n = len(low)
    least, most, spread = _corners(low, high) if n <= EXACT else _bound(low, high)
    error = spread / math.sqrt(n)
    half = t_quantile(n - 1) * error
    return Hull(
        low=float((least - half).min()),
        high=float((most + half).max()),
        p_above=_p(least, error, n - 1),
        p_below=_p(-most, error, n - 1),
    )


def _corners(low: Vector, high: Vector) -> tuple[Vector, Vector, Vector]:
    """Return mean, mean and standard deviation at every corner."""
    n = len(low)
    chosen = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    values = np.where(chosen == 1, high, low)
    mean = values.mean(axis=1)
    return mean, mean, values.std(axis=1, ddof=1)


def _bound(low: Vector, high: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the least and the largest mean, and a bound of the deviation: it is a seminorm, s(a + b) <= s(a) + s(b).

    What is added to the middles deviates at most by its root mean square (n - 1 below the root).
    """
    middle, half = (low + high) / 2, (high - low) / 2
    spread = middle.std(ddof=1) + math.sqrt(float(half @ half) / (len(low) - 1))
    return low.mean(keepdims=True), high.mean(keepdims=True), np.array([spread])


def _p(mean: Vector, error: Vector, degrees: int) -> float:
    """Return the largest two-sided p value of means above 0; 1 if one of them is not."""
    from scipy.special import stdtr

    if mean.min() <= 0:
        return 1.0
    with np.errstate(divide="ignore"):  # no spread at all: infinitely many standard errors from 0
        least = float((mean / error).min())
    return 2 * float(stdtr(degrees, -least))
