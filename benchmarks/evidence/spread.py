"""Median and range of a few figures, some of which may be bounds: a description, not used for verdicts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.evidence.records import Run

Side = Literal["=", ">", "<"]
"""Kind of a figure: exact, or the true figure is larger, or smaller."""


@dataclass(frozen=True)
class Figure:
    """One measured figure, or a bound of it."""

    value: float
    side: Side = "="


@dataclass(frozen=True)
class Spread:
    """Figures of several seeds or repeats: their median and range. `keys`: the runs that they come from."""

    figures: tuple[Figure, ...]
    keys: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of figures."""
        return len(self.figures)

    @property
    def median(self) -> Figure:
        """Return the median, or its bound if the figures do not determine it."""
        lower = statistics.median(0.0 if f.side == "<" else f.value for f in self.figures)
        upper = statistics.median(math.inf if f.side == ">" else f.value for f in self.figures)
        if lower == upper:
            return Figure(lower)
        return Figure(lower, ">") if lower > 0 else Figure(upper, "<")

    @property
    def least(self) -> Figure:
        """Return the least figure."""
        return min(self.figures, key=lambda figure: (figure.value, figure.side != "<"))

    @property
    def most(self) -> Figure:
        """Return the largest figure."""
        return max(self.figures, key=lambda figure: (figure.value, figure.side == ">"))

    def text(self, form: str, unit: str = "") -> str:
        """Return `median [least, most]`, or a single figure; bounds are marked."""
        if self.count == 1:
            return told(self.figures[0], form) + unit
        return f"{told(self.median, form)}{unit} [{told(self.least, form)}, {told(self.most, form)}]"


def told(figure: Figure, form: str) -> str:
    """Return a figure as text; an infinite time is that of a run that diverged."""
    sign = {"=": "", ">": "≥ ", "<": "≤ "}[figure.side]
    return "never" if math.isinf(figure.value) else f"{sign}{figure.value:{form}}"


def of(values: Iterable[float | None], keys: Iterable[str] = ()) -> Spread | None:
    """Return the spread of plain figures; None if there are none."""
    figures = tuple(Figure(value) for value in values if value is not None)
    return Spread(figures, tuple(keys)) if figures else None


def time_to_target(run: Run) -> Figure:
    """Return a run's time to its target; its duration as a bound if it missed it; infinite if it diverged."""
    if run.time_to_target is not None:
        return Figure(run.time_to_target)
    return Figure(math.inf) if run.diverged == "yes" else Figure(run.train_seconds or 0.0, ">")


def times(runs: Sequence[Run]) -> Spread | None:
    """Return the times to the target of several seeds."""
    return Spread(tuple(map(time_to_target, runs)), tuple(run.key for run in runs)) if runs else None


def quotient(above: Mapping[int, Run], below: Mapping[int, Run]) -> Spread | None:
    """Return the quotient of throughputs, repeat by repeat."""
    found, keys = [], list[str]()
    for repeat in sorted(above.keys() & below.keys()):
        first, second = above[repeat].throughput, below[repeat].throughput
        if first and second:
            found.append(first / second)
            keys += [above[repeat].key, below[repeat].key]
    return of(found, keys)
