"""When a run met its target, and what two such times say of their ratio.

Accuracy is known at evaluations only, so a run met its target somewhere between the last evaluation that had not
met it and the first that had. What is not known is made a bound: a time that can only be longer (the run ended
without the target) is cut off at the last clock that is known; one that can only be shorter (the target was met in
the first interval, whose beginning is 0 and has no logarithm) counts as that interval's end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hooke_api.comparisons.ranges import Range


@dataclass(frozen=True)
class Crossing:
    """When one run met its target: train-clock seconds."""

    after: float
    """Clock of the last evaluation that had not met it, >= 0; of a run that never met it, its last clock."""
    by: float | None
    """Clock of the first evaluation that met it; None: it never did within its budget, or diverged."""
    diverged: bool = False
    """It ended by NaN or Inf: it never reaches the target, however early that was."""

    @property
    def met(self) -> bool:
        """Return whether the target was met."""
        return self.by is not None

    @property
    def observed(self) -> bool:
        """Return whether it says anything: a run that ended before its first step, not diverging, does not."""
        return self.met or self.diverged or self.after > 0

    @property
    def at_start(self) -> bool:
        """Return whether the target was met before the first step: a time of 0, which has no ratio."""
        return self.by is not None and self.by <= 0

    @property
    def seconds(self) -> float:
        """Return the time as it is usually given: the clock of the meeting evaluation, else the last clock."""
        return self.after if self.by is None else self.by


def horizon(crossings: Iterable[Crossing]) -> float:
    """Return the largest clock that any of the runs was seen at, s: a run that diverged is cut off there."""
    return max((crossing.seconds for crossing in crossings), default=0.0)


def log_time(crossing: Crossing, longest: float) -> Range:
    """Return where the logarithm of a time above 0 lies; `longest` is where a run that diverged is cut off, s."""
    if crossing.by is None:
        seconds = math.log(longest if crossing.diverged else crossing.after)
        return Range(seconds, seconds, seconds, open_above=True)
    by = math.log(crossing.by)
    if crossing.after <= 0:
        return Range(by, by, by, open_below=True)
    return Range(math.log(crossing.after), by, by)
