"""Statistics of comparisons: mean with t interval, and quantiles of t."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over `n` independent values, and the ends of its t interval (null where n < 2)."""

    mean: float | None
    low: float | None
    high: float | None
    n: int


@functools.cache
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Return the two-sided quantile of Student's t: P(|T| <= q) = confidence, with `degrees` >= 1 of freedom.

    SciPy is imported on first use, because not every API process needs it. `stdtrit` is the function behind
    `scipy.stats.t.ppf`, without the second that importing `scipy.stats` takes.
    """
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def interval(values: Sequence[float]) -> Interval:
    """Return mean and 95% t interval of independent values; no interval for fewer than two."""
    n = len(values)
    if n == 0:
        return Interval(None, None, None, 0)
    mean = math.fsum(values) / n
    if n == 1:
        return Interval(mean, None, None, 1)
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    half = t_quantile(n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - half, mean + half, n)


def p_value(found: Interval) -> float | None:
    """Return the two-sided p value of a mean being 0, by the t test of its interval; None without an interval."""
    if found.mean is None or found.low is None or found.high is None:
        return None
    from scipy.special import stdtr

    error = (found.high - found.low) / 2 / t_quantile(found.n - 1)
    if error == 0:
        return float(found.mean == 0)
    return 2 * float(stdtr(found.n - 1, -abs(found.mean) / error))
