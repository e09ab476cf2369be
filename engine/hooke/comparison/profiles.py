"""Methods over several workloads: performance profiles, and the score of a profile.

r(s, w) = t(s, w) / min over s' of t(s', w) is the performance ratio of method s on workload w; a missed target has
an infinite time. The profile rho(s, tau) is the share of workloads with r(s, w) <= tau (Dolan and More 2002,
Math. Program. 91). The score is its integral from 1 to tau_max, divided by tau_max - 1: 1 for a method that is the
fastest everywhere, 0 for one that never is within a factor of tau_max (Dahl et al. 2023, arXiv 2306.07179, section
on scoring).

The interval is score +- reach, within [0, 1]. The least of several noisy times is too small, so scores of close
methods are too low, and those of resampled seeds are lower still, by about as much. The interval between quantiles
of these (percentile bootstrap) misses the true scores above it; the one reflected at the score (basic bootstrap)
covers them, but misses more where one workload or one method decides. `reach` is the larger distance of a quantile
from the score, so that the interval contains both. Decision 0037 has its measured coverage.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TAU_MAX = 4.0
"""Ratio at which a method scores nothing on a workload (Dahl et al. 2023)."""
LEAST_SEEDS = 3
"""Seeds of every workload that an interval needs."""
RESAMPLES = 2000
CONFIDENCE = 0.95

Method = TypeVar("Method", bound=Hashable)
Seeds = Mapping[int, float]
"""Seed -> time to the target, s; infinite if it was missed."""


@dataclass(frozen=True)
class BenchmarkScore:
    """The score of a method with an interval of a bootstrap over seeds, which contains it."""

    value: float
    low: float | None
    high: float | None
    """None where a workload has fewer than LEAST_SEEDS seeds."""
    ratios: tuple[float, ...]
    """r(s, w) of its median times, by workload; infinite where it missed the target."""
    seconds: tuple[float, ...]
    """Median over seeds of the time to the target by workload; infinite if half of the seeds or more missed it."""


def performance_ratios(times: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return r(s, w) for times[w][s] > 0 s, infinite for all methods where none met the target."""
    best = [min(of_workload) for of_workload in times]
    return [
        [time / least if math.isfinite(time) else math.inf for time in of_workload]
        for of_workload, least in zip(times, best, strict=True)
    ]


def profile(ratios: Sequence[float], tau_max: float = TAU_MAX) -> list[tuple[float, float]]:
    """Return the corners (tau, rho) of a method's profile from tau = 1 to `tau_max`; rho jumps at each tau."""
    corners = [(1.0, 0.0)]
    for tau in sorted({ratio for ratio in ratios if ratio <= tau_max}):
        corners += [(tau, corners[-1][1]), (tau, sum(ratio <= tau for ratio in ratios) / len(ratios))]
    return [*corners, (tau_max, corners[-1][1])]


def profile_score(ratios: Sequence[float], tau_max: float = TAU_MAX) -> float:
    """Return the normalized integral of the profile from 1 to `tau_max`, in [0, 1].

    rho is a mean of steps at the ratios, so its integral is the mean of what is left of the interval after each.
    """
    return statistics.fmean(max(0.0, tau_max - ratio) / (tau_max - 1) for ratio in ratios)


def scores(
    measured: Sequence[Mapping[Method, Seeds]], tau_max: float = TAU_MAX, seed: int = 0
) -> dict[Method, BenchmarkScore]:
    """Return the score of every method; `measured` has, for each workload, the times of all methods by seed.

    A method's time on a workload is the median over the seeds that all methods have there. The interval resamples
    these seeds on each workload, the same ones for all methods: their runs share the data order. Raises ValueError
    if a workload has another set of methods, no common seed, or a time that is not positive.
    """
    methods = list(measured[0]) if measured else []
    if not methods:
        return {}
    tables = [_table(of_workload, methods) for of_workload in measured]
    times = [[statistics.median(row) for row in table] for table in tables]
    ratios = performance_ratios(times)
    fewest = min(len(table[0]) for table in tables)
    drawn = _resampled(tables, tau_max, seed) if fewest >= LEAST_SEEDS else None
    found = {}
    for s, method in enumerate(methods):
        own = tuple(of_workload[s] for of_workload in ratios)
        value = profile_score(own, tau_max)
        low, high = (None, None) if drawn is None else _ends(value, drawn[s], fewest)
        seconds = tuple(of_workload[s] for of_workload in times)
        found[method] = BenchmarkScore(value, low, high, own, seconds)
    return found


def _table(of_workload: Mapping[Method, Seeds], methods: Sequence[Method]) -> list[list[float]]:
    """Return a row of times for each method, with a column for each common seed."""
    if set(of_workload) != set(methods):
        raise ValueError("every workload needs a time of every method")
    seeds = sorted(set[int].intersection(*(set(of_workload[method]) for method in methods)))
    if not seeds:
        raise ValueError("the methods have no seed in common")
    table = [[of_workload[method][each] for each in seeds] for method in methods]
    if any(not time > 0 for row in table for time in row):
        raise ValueError("a target that was met before the first step has no performance ratio")
    return table


def _resampled(tables: Sequence[list[list[float]]], tau_max: float, seed: int) -> Floats:
    """Return the scores of each method for RESAMPLES draws of seeds, [methods, draws]."""
    import numpy as np  # needed for intervals only, and slow to import

    generator = np.random.default_rng(seed)
    gained = []
    for table in tables:
        values = np.array(table)
        columns = generator.integers(values.shape[1], size=(RESAMPLES, values.shape[1]))
        times = np.sort(values[:, columns], axis=2)  # not np.median: inf - inf is not a number
        middle = values.shape[1]
        medians = (times[:, :, (middle - 1) // 2] + times[:, :, middle // 2]) / 2
        with np.errstate(invalid="ignore"):
            ratios = np.where(np.isfinite(medians), medians / medians.min(axis=0), np.inf)
        gained.append(np.maximum(0.0, tau_max - ratios) / (tau_max - 1))
    return np.asarray(np.mean(gained, axis=0), dtype=np.float64)


def _ends(value: float, drawn: Floats, seeds: int) -> tuple[float, float]:
    """Return value +- reach within [0, 1]; n seeds drawn from n vary less than new ones by sqrt((n - 1) / n)."""
    import numpy as np

    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    reach = max(value - float(low), float(high) - value) * math.sqrt(seeds / (seeds - 1))
    return max(0.0, value - reach), min(1.0, value + reach)
