"""Duration of a run, predicted from the history of similar runs, with an interval.

Similar runs are searched from the closest likeness to coarser ones; the first level with a run decides. Logarithms
of durations are taken as normal: their mean and variance, the variance drawn towards SPREAD while runs are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

SPREAD, WEIGHT = 0.3, 2.0
"""Standard deviation of log durations that is assumed before runs are known, and how many runs it counts for."""
OCCASION = 0.15
"""Standard deviation of log durations between occasions: runs of an experiment share their machine's load."""
LARGEST_SPREAD = 1.0
"""Spread above which the mean of a log-normal distribution is not trusted."""
Z90 = 1.645
"""Quantile of the normal distribution of a two-sided 90% interval."""


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
    """Whether durations are compared per sample of the budget."""
    spread: float = 0.0
    """Additional standard deviation of log durations: what the likeness does not cover."""


@dataclass
class _Figures:
    runs: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.runs += 1
        step = value - self.mean
        self.mean += step / self.runs
        self.squares += step * (value - self.mean)


class History(Generic[K]):
    """Durations of runs that have ended, by likeness; built by `add`."""

    def __init__(self, levels: Sequence[Level[K]], size: Callable[[K], float] = lambda _: 1.0) -> None:
        """`size` is what `scaled` levels divide durations by, such as the samples of the budget."""
        self._levels = levels
        self._size = size
        self._found: list[dict[Hashable, _Figures]] = [{} for _ in levels]

    def add(self, run: K, seconds: float) -> None:
        """Count one run that has ended; a duration of 0 s says nothing and is not counted."""
        if seconds <= 0:
            return
        for level, found in zip(self._levels, self._found, strict=True):
            value = math.log(seconds / self._size(run) if level.scaled else seconds)
            found.setdefault(level.key(run), _Figures()).add(value)

    def predict(self, run: K) -> Prediction | None:
        """Return the duration of a run from the closest likeness that is known; None: nothing is."""
        for level, found in zip(self._levels, self._found, strict=True):
            figures = found.get(level.key(run))
            if figures is not None:
                return _prediction(figures, level.likeness, level.spread, self._size(run) if level.scaled else 1.0)
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
        seconds=seconds,
        spread=seconds * math.sqrt(math.expm1(trusted)),
        error=seconds * math.sqrt(min(unsure, LARGEST_SPREAD**2)),
        low=middle * math.exp(-reach),
        high=middle * math.exp(reach),
        runs=count,
        likeness=likeness,
    )


@dataclass(frozen=True)
class Kind:
    """What the duration of a run of Hooke depends on."""

    cluster: str
    simulated: bool
    workload: str
    algorithm: str
    ranks: int
    samples: int
    """Of its budget."""


LEVELS: tuple[Level[Kind], ...] = (
    Level(
        "the same workload, algorithm, ranks, cluster and budget",
        lambda k: (k.cluster, k.simulated, k.workload, k.algorithm, k.ranks, k.samples),
        spread=OCCASION,
    ),
    Level(
        "the same workload, algorithm, ranks and cluster",
        lambda k: (k.cluster, k.simulated, k.workload, k.algorithm, k.ranks),
        scaled=True,
        spread=0.25,
    ),
    Level(
        "the same workload, algorithm and cluster",
        lambda k: (k.cluster, k.simulated, k.workload, k.algorithm),
        scaled=True,
        spread=0.4,
    ),
    Level(
        "the same workload and cluster",
        lambda k: (k.cluster, k.simulated, k.workload),
        scaled=True,
        spread=0.7,
    ),
    Level(
        "the same workload, algorithm and ranks on other clusters",
        lambda k: (k.simulated, k.workload, k.algorithm, k.ranks),
        scaled=True,
        spread=0.7,
    ),
)
"""From the closest likeness to the coarsest."""


def history_of_runs() -> History[Kind]:
    """Return an empty history of runs of Hooke."""
    return History(LEVELS, lambda kind: max(1, kind.samples))


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
