"""Points on both sides of the places at which bands interpolate, so that a band needs no other points of a run.

A band's grid has multiples of a step, which is a unit times a power of two, and the ends of runs that have
ended (`hooke_api.metrics.bands`). The places of a coarser grid are among those of a finer one. What `interpolate`
reads of a series for a place are the last point that is not behind it and the next one: both are kept, and the
first and the last point of the series. Interpolated between these, a series has the same values there, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hooke_api.metrics.bands import grid_step
from hooke_api.metrics.m4 import Indices, ascending
from hooke_api.metrics.table import Floats

CELLS = 512
"""Multiples of the step that are kept at most: no grid of a band of at most so many points is finer."""
TINY = 1e-300
"""Below this there is no step."""


@dataclass(frozen=True)
class Brackets:
    """Some points of series with a common x, on one axis."""

    unit: float
    x: Floats
    """Ascending, none below 0, shape (n,)."""
    y: Floats
    """Of each series, shape (series, n)."""
    watched: Floats
    """Further places, ascending."""

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        return int(self.x.nbytes + self.y.nbytes + self.watched.nbytes)

    def followed(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return x and y with all points that follow, for `interpolate`."""
        return np.concatenate((self.x, x)), np.concatenate((self.y, y), axis=1)

    def extended(self, x: Floats, y: Floats) -> Brackets:
        """Return them with further points, as far as these are needed."""
        if not len(x):
            return self
        x, y = self.followed(x, y)
        kept = beside(x, np.concatenate((multiples(x, self.unit), self.watched)))
        return Brackets(self.unit, x[kept], y[:, kept], self.watched)

    def watching(self, places: Iterable[float]) -> Brackets | None:
        """Return them with further places; None if points beside one of these were left out already."""
        new = np.setdiff1d(np.fromiter(places, np.float64), self.watched)
        if not len(new):
            return self
        if len(self.x) and ((self.x[0] <= new) & (new < self.x[-1])).any():
            return None
        return Brackets(self.unit, self.x, self.y, np.union1d(self.watched, new))


def nothing(unit: float, series: int, watched: Iterable[float] = ()) -> Brackets:
    """Return those of series without points."""
    places = np.unique(np.fromiter(watched, np.float64))
    return Brackets(unit, np.empty(0), np.empty((series, 0)), places)


def multiples(x: Floats, unit: float) -> Floats:
    """Return the multiples of the finest step that a grid which reaches the last of these x may have."""
    if x[-1] < TINY:
        return np.zeros(1)
    step = grid_step(float(x[-1]), CELLS, unit)
    return np.arange(np.floor(x[0] / step), np.ceil(x[-1] / step) + 1) * step


def beside(x: Floats, places: Floats) -> Indices:
    """Return the indices of the first and the last x, and of those on both sides of each place."""
    last = len(x) - 1
    left = np.searchsorted(x, places, side="right") - 1
    left = left[(left >= 0) & (left < last)]
    return ascending(np.concatenate((np.array([0, last]), left, left + 1)))
