"""The time at which a run met its target, and the range of its logarithm.

Accuracy is known only at evaluations, so a run met its target between the last evaluation below it and the first
one that met it. Unknown ends become bounds: a time that can only be longer (the run ended without the target) is
censored at the last known clock; a time that can only be shorter (the target was met in the first interval, whose
start 0 has no logarithm) counts as the end of that interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hooke.comparison.ranges import Range


@dataclass(frozen=True)
class Crossing:
    """The time at which one run met its target, in train-clock seconds."""

    after: float
    """Clock of the last evaluation that had not met the target, >= 0.

    Of a run that never met it, its last clock.
    """
    by: float | None
    """Clock of the first evaluation that met the target; None: not met within the budget, or diverged."""
    diverged: bool = False
    """Whether it ended with NaN or Inf: it never reaches the target, however early it ended."""

    @property
    def met(self) -> bool:
        """Return whether the target was met."""
        return self.by is not None

    @property
    def observed(self) -> bool:
        """Return whether it can be compared; a run that ended before its first step, without diverging, cannot."""
        return self.met or self.diverged or self.after > 0

    @property
    def at_start(self) -> bool:
        """Return whether the target was met before the first step; a time of 0 has no ratio."""
        return self.by is not None and self.by <= 0

    @property
    def seconds(self) -> float:
        """Return the usual time to target: the clock of the evaluation that met it, otherwise the last clock."""
        return self.after if self.by is None else self.by


def horizon(crossings: Iterable[Crossing]) -> float:
    """Return the largest clock of the runs, s, at which diverged runs are censored."""
    return max((crossing.seconds for crossing in crossings), default=0.0)


def log_time(crossing: Crossing, longest: float) -> Range:
    """Return the range of the logarithm of a time > 0; diverged runs are censored at `longest`, s."""
    if crossing.by is None:
        seconds = math.log(longest if crossing.diverged else crossing.after)
        return Range(seconds, seconds, seconds, open_above=True)
    by = math.log(crossing.by)
    if crossing.after <= 0:
        return Range(by, by, by, open_below=True)
    return Range(math.log(crossing.after), by, by)
