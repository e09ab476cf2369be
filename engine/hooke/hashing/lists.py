"""One list of ids per sample, stored one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.family import Ints

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Lists:
    """ids[starts[i]:starts[i + 1]] is the list of sample i; int64 and int32, as kernels are compiled for."""

    starts: Longs
    ids: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", np.ascontiguousarray(self.starts, np.int64))
        object.__setattr__(self, "ids", np.ascontiguousarray(self.ids, np.int32))
        if not len(self.starts) or int(self.starts[-1]) != len(self.ids) or (np.diff(self.starts) < 0).any():
            raise ArgumentError(f"offsets of lists must rise from 0 to the number of ids, {len(self.ids)}")

    @classmethod
    def of_matrix(cls, rows: Ints, sizes: Longs) -> Lists:
        """Return the lists rows[i, :sizes[i]]."""
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        return cls(starts, rows[np.arange(rows.shape[1]) < sizes[:, None]])

    @classmethod
    def empty(cls, samples: int) -> Lists:
        """Return lists without ids."""
        return cls(np.zeros(samples + 1, np.int64), np.empty(0, np.int32))

    def of(self, sample: int) -> Ints:
        """Return the list of one sample."""
        return self.ids[self.starts[sample] : self.starts[sample + 1]]

    @property
    def sizes(self) -> Longs:
        """The length of each list."""
        return np.diff(self.starts)
