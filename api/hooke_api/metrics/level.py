"""Points of one metric of a run at a limited resolution: what M4 keeps of it at a limit, with all axes.

What M4 keeps at a lower limit is among them (`hooke_api.metrics.m4.again`), so an answer is the same as from the
whole series. Points that follow are added without those that were left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np

from hooke_api.metrics.m4 import Indices, again, bucket_size, of_buckets, of_known
from hooke_api.metrics.schemas import Axis
from hooke_api.metrics.table import Floats

AXES: tuple[Axis, ...] = get_args(Axis)
_GAPLESS = 4
"""Points of a bucket without a gap: the buckets of an answer are never smaller than those that follow from it."""


@dataclass(frozen=True)
class Thinned:
    """Points of one metric of a run: all that M4 keeps at the limit of a level."""

    n: int
    """Number of points of the whole series."""
    gaps: bool
    at: Indices
    """Their places in the series."""
    x: Mapping[Axis, Floats]
    y: Floats

    @property
    def whole(self) -> bool:
        """Return whether it has every point of the series."""
        return len(self.at) == self.n

    @property
    def nbytes(self) -> int:
        """Return the size in memory, bytes."""
        return int(self.at.nbytes + self.y.nbytes + sum(x.nbytes for x in self.x.values()))

    def at_most(self, axis: Axis, most: int) -> tuple[Floats, Floats, int]:
        """Return x and y of what M4 keeps of the series, and the number of points of the series."""
        kept = again(self.at, self.y, self.n, self.gaps, most)
        return self.x[axis][kept], self.y[kept], self.n

    def thinner(self, most: int) -> Thinned:
        """Return what M4 keeps of the series at a lower limit, with all axes."""
        kept = again(self.at, self.y, self.n, self.gaps, most)
        return Thinned(
            self.n, self.gaps, self.at[kept], {axis: x[kept] for axis, x in self.x.items()}, self.y[kept]
        )

    def followed(self, x: Mapping[Axis, Floats], y: Floats) -> Thinned:
        """Return the series with further points, all of which it has."""
        at = np.concatenate((self.at, np.arange(self.n, self.n + len(y))))
        return self._with(len(y), not bool(np.isfinite(y).all()), at, x, y)

    def extended(self, x: Mapping[Axis, Floats], y: Floats, most: int) -> Thinned:
        """Return what M4 keeps at a limit of the series with further points; this one was made with that limit.

        At a lower limit of points than `most`, `at_most` returns what it would of the whole series.
        """
        if not len(y):
            return self
        n = self.n + len(y)
        size = _size(n, most)
        begin = min(-(-self.n // size) * size, n) - self.n  # of the first bucket that has new points alone
        new = np.concatenate((np.arange(begin), begin + of_buckets(y[begin:], size)))
        at = np.concatenate((self.at, self.n + new))
        gaps = not bool(np.isfinite(y).all())
        found = self._with(len(y), gaps, at, {axis: each[new] for axis, each in x.items()}, y[new])
        # buckets that were full, and are no larger now, stay as they are
        same = int(np.searchsorted(self.at, self.n // size * size)) if size == _size(self.n, most) else 0
        kept = np.concatenate((np.arange(same), same + of_known(found.at[same:], found.y[same:], size)))
        columns = {axis: each[kept] for axis, each in found.x.items()}
        return Thinned(n, found.gaps, found.at[kept], columns, found.y[kept])

    def _with(self, more: int, gaps: bool, at: Indices, x: Mapping[Axis, Floats], y: Floats) -> Thinned:
        columns = {axis: np.concatenate((self.x[axis], x[axis])) for axis in AXES}
        return Thinned(self.n + more, self.gaps or gaps, at, columns, np.concatenate((self.y, y)))

    def packed(self) -> bytes:
        """Return it as it is stored."""
        return np.stack([self.at.astype("<f8"), *(self.x[axis] for axis in AXES), self.y]).astype("<f8").tobytes()

    @classmethod
    def unpacked(cls, n: int, gaps: bool, data: bytes) -> Thinned:
        """Return what was stored."""
        at, *axes, y = np.frombuffer(data, "<f8").reshape(2 + len(AXES), -1)
        return cls(n, gaps, at.astype(np.int64), dict(zip(AXES, axes, strict=True)), y)


EMPTY = Thinned(0, False, np.empty(0, dtype=np.int64), dict.fromkeys(AXES, np.empty(0)), np.empty(0))


def _size(n: int, most: int) -> int:
    """Return the number of points of a bucket at a limit: M4's, or less."""
    return 1 if n <= most else bucket_size(n, most, _GAPLESS)
