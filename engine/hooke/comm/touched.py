"""The rows of a vector that may differ from zero, where a model touches few of them in a step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hooke.comm.base import Slice, Vector


@dataclass(frozen=True)
class Rows:
    """Some rows of one slice of the flat vector, or all of them.

    `ids` are the rows' numbers, an ascending int64 tensor without repetition; None: all rows. A slice of one
    dimension has rows of one element.
    """

    part: Slice
    ids: Any
    values: Any = field(default=None, compare=False, repr=False)
    """These rows of a gradient that is written to no vector, as `of` returns them; see `Rank.read_rows`."""

    @property
    def count(self) -> int:
        """Number of rows of the slice."""
        return self.part.shape[0] if self.part.shape else 1

    @property
    def width(self) -> int:
        """Number of elements of a row."""
        return (self.part.stop - self.part.start) // self.count

    def at(self, vector: Any) -> Any:
        """Return `ids` on the device of a vector; not for all rows."""
        return self.ids.to(vector.device, non_blocking=True)

    def matrix(self, vector: Vector) -> Any:
        """Return the whole slice of a vector as a view of shape (rows, elements of a row)."""
        return vector[self.part.start : self.part.stop].view(self.count, -1)

    def of(self, vector: Vector) -> Any:
        """Return these rows of a vector: a copy of shape (number of rows, elements); all of them: a view."""
        whole = self.matrix(vector)
        return whole if self.ids is None else whole.index_select(0, self.at(whole))

    def gradient(self, g: Vector) -> Any:
        """Return these rows of the gradient g: `values`, which a step may change, or else `of`."""
        return self.of(g) if self.values is None else self.values

    def put(self, vector: Vector, values: Any) -> None:
        """Write values, as `of` returns them, to these rows of a vector."""
        if self.ids is not None:
            self.matrix(vector).index_copy_(0, self.at(vector), values)


@dataclass(frozen=True)
class Touched:
    """Where a gradient may differ from zero: for every slice of the layout, in its order, some rows or all."""

    slices: tuple[Rows, ...]

    def __iter__(self) -> Iterator[Rows]:
        return iter(self.slices)

    def __len__(self) -> int:
        """Return the number of elements that may differ from zero."""
        return sum((each.count if each.ids is None else len(each.ids)) * each.width for each in self.slices)

    def parts(self, packed: Vector) -> Iterator[tuple[Rows, Any]]:
        """Yield the rows of each slice, and their part of a packed vector as (number of rows, elements)."""
        first = 0
        for each in self.slices:
            count, width = each.count if each.ids is None else len(each.ids), each.width
            yield each, packed[first : first + count * width].view(count, width)
            first += count * width

    def pack(self, vector: Any, into: Vector | None = None) -> Any:
        """Return these elements of a vector, in its order, as one vector: a new one, or the front of `into`."""
        packed = vector.new_empty(len(self)) if into is None else into[: len(self)]
        for rows, values in self.parts(packed):
            values.copy_(rows.of(vector))
        return packed

    def unpack(self, packed: Vector, vector: Vector) -> None:
        """Write a packed vector to these elements of a vector."""
        for rows, values in self.parts(packed):
            if rows.ids is None:
                rows.matrix(vector).copy_(values)
            else:
                rows.put(vector, values)

    def add_packed(self, vector: Vector, packed: Vector, rate: float) -> None:
        """Add rate times a packed vector to these elements of a vector."""
        for rows, values in self.parts(packed):
            own = rows.of(vector)
            own.add_(values, alpha=rate)
            rows.put(vector, own)

    def elements(self) -> Any:
        """Return the numbers of these elements of the flat vector: int64, ascending where the layout is."""
        import numpy as np  # not at the top: parameters of algorithms are read without NumPy

        found: list[Any] = [np.zeros(0, np.int64)]
        for each in self.slices:
            ids = np.arange(each.count) if each.ids is None else each.ids.cpu().numpy()
            found.append((each.part.start + ids[:, None] * each.width + np.arange(each.width)).reshape(-1))
        return np.concatenate(found)

    def clear(self, vector: Vector) -> None:
        """Set these elements of a vector to zero."""
        for each in self.slices:
            if each.ids is None:
                each.matrix(vector).zero_()
            else:
                each.matrix(vector).index_fill_(0, each.at(vector), 0.0)

    def add(self, x: Vector, g: Vector, rate: float) -> None:
        """Add rate g to x, of which g differs from zero only here: the bits of `x.add_(g, alpha=rate)`."""
        for each in self.slices:
            values = each.of(x)
            values.add_(each.gradient(g), alpha=rate)
            each.put(x, values)

    def total(self, vector: Vector) -> float:
        """Return the sum of these elements of a gradient, which is NaN or infinite if one of them is."""
        sums = [each.gradient(vector).sum().double() for each in self.slices]
        return float(sum(sums))  # one wait for a device, not one per slice


def finite(vector: Any, touched: Touched | None) -> bool:
    """Return whether a vector, or the gradient that consists of these rows, holds neither NaN nor infinity."""
    if math.isfinite(float(vector.sum()) if touched is None else touched.total(vector)):
        return True  # a sum keeps both, but may overflow by itself
    found = [vector] if touched is None else [rows.gradient(vector) for rows in touched]
    return all(bool(values.isfinite().all()) for values in found)


def nonzero(layout: tuple[Slice, ...], vector: Any) -> Touched:
    """Return the rows of a tensor that are not zero; all rows of a slice, if more than half of them are not."""
    found = []
    for part in layout:
        matrix = Rows(part, None).matrix(vector)
        ids = (matrix != 0).any(dim=1).nonzero().flatten()
        found.append(Rows(part, None if 2 * len(ids) > len(matrix) else ids))
    return Touched(tuple(found))


def packed(vector: Vector, rows: Touched | None, into: Vector | None = None) -> Vector:
    """Return these rows of a vector as one vector, see `Touched.pack`; None, all rows: the vector itself."""
    if rows is not None:
        return rows.pack(vector, into)  # type: ignore[no-any-return]
    return vector if into is None else into.copy_(vector)


def front(vector: Vector, rows: Touched | None) -> Vector:
    """Return the part of a vector that holds these rows when they are packed; None, all rows: the vector."""
    return vector if rows is None else vector[: len(rows)]


def place(vector: Vector, values: Vector, rows: Touched | None) -> None:
    """Overwrite these rows of a vector by values that are packed, in the front of a vector; None: all rows."""
    if rows is None:
        vector.copy_(values)
    else:
        rows.unpack(front(values, rows), vector)


def add_rows(vector: Vector, values: Vector, rate: float, rows: Touched | None) -> None:
    """Add rate times packed values to these rows of a vector; None, all rows: values is a whole vector."""
    if rows is None:
        vector.add_(values, alpha=rate)
    else:
        rows.add_packed(vector, values, rate)
