"""Duration of a run, predicted from the history of similar runs, with an interval.

Similar runs are searched from the closest likeness to coarser ones; the first level with a run decides. Logarithms
of durations are taken as normal: their mean and variance, the variance drawn towards SPREAD while runs are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

SPREAD, WEIGHT = 0.3, 2.0
"""Standard deviation of log durations that is assumed before runs are known, and how many runs it counts for."""
LARGEST_SPREAD = 1.0
"""Spread above which the mean of a log-normal distribution is not trusted."""
Z90 = 1.645
"""Quantile of the normal distribution of a two-sided 90% interval."""
_LEAST = 1e-3
"""Seconds that a part of a duration counts for at least, so that its logarithm exists."""
_FURTHEST = 30.0
"""Quantile of the normal distribution beyond which its tail is not computed."""


@dataclass(frozen=True)
class Prediction:
    """Duration of one run, s. `spread`: standard deviation of one run; `error`: of the prediction itself."""

    seconds: float
    spread: float = 0.0
    error: float = 0.0
    low: float = 0.0
    """5% and 95% of one run."""
    high: float = 0.0
    runs: int = 0
    """Number of similar runs."""
    likeness: str = ""
    """What they have in common."""


K = TypeVar("K")


@dataclass(frozen=True)
class Level(Generic[K]):
    """One degree of likeness: runs with the same key are alike."""

    likeness: str
    key: Callable[[K], Hashable]
    scaled: bool = False
    """Whether durations without their start-up are compared per sample."""
    spread: float = 0.0
    """Additional standard deviation of log durations: what the likeness does not cover."""


@dataclass
class _Figures:
    runs: int = 0
    mean: float = 0.0
    squares: float = 0.0
    fixed: float = 0.0
    """Mean of the seconds that do not depend on the size."""

    def add(self, value: float, fixed: float) -> None:
        self.runs += 1
        step = value - self.mean
        self.mean += step / self.runs
        self.squares += step * (value - self.mean)
        self.fixed += (fixed - self.fixed) / self.runs


class History(Generic[K]):
    """Durations of runs that have ended, by likeness; built by `add`."""

    def __init__(
        self,
        levels: Sequence[Level[K]],
        size: Callable[[K], float] = lambda _: 1.0,
        limit: Callable[[K], float | None] = lambda _: None,
    ) -> None:
        """`size`: samples of a run's budget; `limit`: seconds after its start-up at which it ends."""
        self._levels = levels
        self._size = size
        self._limit = limit
        self._found: list[dict[Hashable, _Figures]] = [{} for _ in levels]

    def add(self, run: K, seconds: float, starting: float = 0.0, size: float | None = None) -> None:
        """Count one run that has ended; a duration of 0 s says nothing and is not counted.

        `starting`: the part of `seconds` that was start-up; `size`: what it did, by default all of its size.
        """
        if not 0 < seconds < math.inf:
            return
        fixed = min(max(starting, 0.0), seconds)
        done = self._size(run) if size is None else size
        for level, found in zip(self._levels, self._found, strict=True):
            value = math.log(max(seconds - fixed, _LEAST) / done if level.scaled else seconds)
            found.setdefault(level.key(run), _Figures()).add(value, fixed if level.scaled else 0.0)

    def predict(self, run: K) -> Prediction | None:
        """Return the duration of a run from the closest likeness that is known; None: nothing is."""
        for level, found in zip(self._levels, self._found, strict=True):
            figures = found.get(level.key(run))
            if figures is not None:
                size = self._size(run) if level.scaled else 1.0
                limit = self._limit(run) if level.scaled else None
                most = math.inf if limit is None else figures.fixed + limit
                return _at_most(most, _prediction(figures, level.likeness, level.spread, size))
        return None


def _prediction(figures: _Figures, likeness: str, extra: float, size: float) -> Prediction:
    count = figures.runs
    own = (WEIGHT * SPREAD**2 + figures.squares) / (WEIGHT + count - 1)
    unsure = own / count + extra**2
    trusted = min(own, LARGEST_SPREAD**2)
    seconds = size * math.exp(figures.mean + trusted / 2)
    reach = Z90 * math.sqrt(own + unsure)
    middle = size * math.exp(figures.mean)
    return Prediction(
        seconds=figures.fixed + seconds,
        spread=seconds * math.sqrt(math.expm1(trusted)),
        error=seconds * math.sqrt(min(unsure, LARGEST_SPREAD**2)),
        low=figures.fixed + middle * math.exp(-reach),
        high=figures.fixed + middle * math.exp(reach),
        runs=count,
        likeness=likeness,
    )


def _at_most(most: float, found: Prediction) -> Prediction:
    """Return a prediction of a run that ends after `most` seconds, whatever it has done until then."""
    if found.high <= most:
        return found
    room = max(0.0, most - found.low)
    return replace(
        found,
        seconds=min(found.seconds, most),
        spread=min(found.spread, room),
        error=min(found.error, room),
        low=min(found.low, most),
        high=most,
    )


def remaining(predicted: Prediction, elapsed: float) -> Prediction:
    """Return the seconds that a run still takes that has taken `elapsed` seconds and has not ended.

    Mean and deviation of a log-normal duration under the condition that it is longer than `elapsed`: with the
    normal distribution Phi, m and s of the logarithm and z = (log(elapsed) - m) / s, the mean of the k-th power is
    that without the condition times Phi(k s - z) / Phi(-z).
    """
    deviation = math.hypot(predicted.spread, predicted.error)
    if elapsed <= 0 or deviation <= 0:
        return replace(predicted, seconds=max(0.0, predicted.seconds - max(0.0, elapsed)))
    square = math.log1p((deviation / predicted.seconds) ** 2)
    s = math.sqrt(square)
    z = (math.log(elapsed / predicted.seconds) + square / 2) / s
    if z > _FURTHEST:  # far out in the tail, the hazard is z / (s x elapsed)
        left = deviation_left = elapsed * s / z
    else:
        beyond = _above(z)
        mean = predicted.seconds * _above(z - s) / beyond
        second = predicted.seconds**2 * math.exp(square) * _above(z - 2 * s) / beyond
        left = max(0.0, mean - elapsed)
        deviation_left = math.sqrt(max(0.0, second - mean**2))
    return Prediction(
        left,
        spread=deviation_left * predicted.spread / deviation,
        error=deviation_left * predicted.error / deviation,
        runs=predicted.runs,
        likeness=predicted.likeness,
    )


def _above(z: float) -> float:
    """Return the probability that a standard normal variable is above z."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def total(batches: Sequence[tuple[int, Prediction | None]]) -> tuple[float, float] | None:
    """Return mean and standard deviation, s, of runs one after the other; None if a duration is unknown.

    `batches` are numbers of runs with their prediction. Errors of predictions are shared by runs (the machine is
    slower today than it was), so they add; spreads are independent, so their squares add.
    """
    mean = variance = error = 0.0
    for runs, predicted in batches:
        if predicted is None:
            return None
        mean += runs * predicted.seconds
        variance += runs * predicted.spread**2
        error += runs * predicted.error
    return mean, math.sqrt(variance + error**2)
