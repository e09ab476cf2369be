"""All-reduces in which only rows travel that some rank has touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hooke.comm.base import Comm, Content, Slice, Vector
from hooke.comm.elements import tensor
from hooke.comm.touched import Rows, Touched, nonzero
from hooke.comm.wrappers.wrapper import Wrapper

UNKNOWN, ALL = -2, -1
"""In place of a number of rows: nothing is known of the vector; all rows of the slice."""


class Supports:
    """What a rank knows of the rows of a vector, and what an all-reduce tells it. The rank sets both functions."""

    def __init__(self) -> None:
        self.of: Callable[[Vector], Touched | None] = lambda _: None
        """Return the rows that a vector consists of; None: it is not known."""
        self.learn: Callable[[Vector, Touched], None] = lambda _, __: None
        """Take note of the rows of a vector that was summed over ranks."""
        self.summed: Touched | None = None
        """The rows of the latest sum, until the operation is complete."""

    def settle(self, x: Vector) -> None:
        """Tell the rank the rows of the sum in x, once the operation is complete."""
        found, self.summed = self.summed, None
        if found is not None:
            self.learn(x, found)


class TouchedSums(Wrapper):
    """Sums rows that at least one rank has touched; the sums of the others are known.

    The ranks gather the numbers and ids of their rows (4 bytes each), and all-reduce a vector of the union's rows,
    in the order of `layout`. Where all rows are touched, this is the vector itself, and the bits are those of the
    all-reduce of it. The rows of a gradient are those that the objective tells; of other updates, those that
    are not zero. Of weights that are averaged they are those that differ from the latest average: the others are
    equal on all ranks. The first average, and every vector of which one rank does not know the rows, is summed
    as a whole. Other operations are forwarded.
    """

    def __init__(
        self, inner: Comm, supports: Supports, layout: tuple[Slice, ...], content: Content | None = None
    ) -> None:
        super().__init__(inner)
        self._supports, self._layout, self._content = supports, layout, content
        self._average: Any = None
        """The latest average of weights, if this communicator forms any."""

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum over ranks."""
        mine = self._supports.of(x)
        mine = self._found(x) if mine is None else mine
        counts = self._counts(mine)
        if mine is None or (counts == UNKNOWN).any():
            self.inner.allreduce(x)
        else:
            union = self._union(mine, counts)
            packed = _pack(union, x)
            self.inner.allreduce(packed)
            if self._content == "averages":
                x.copy_(self._average).mul_(self.size)
            _unpack(union, packed, x)
            self._supports.summed = union
        if self._content == "averages" and self._whole(x):
            self._average = x.clone().mul_(1 / self.size)

    def _found(self, x: Vector) -> Touched | None:
        """Return the rows of updates that are not zero, or of weights that differ from their latest average.

        None for other vectors, for parts of vectors, and before the first average.
        """
        if self._content == "updates" and self._whole(x):
            return nonzero(self._layout, x)
        if self._content == "averages" and self._average is not None and self._whole(x):
            return nonzero(self._layout, x != self._average)
        return None

    def _whole(self, x: Any) -> bool:
        return bool(self._layout) and x.numel() == self._layout[-1].stop

    def _counts(self, mine: Touched | None) -> Any:
        """Return the number of rows of every slice on every rank, int32 (P, 1 + slices)."""
        told = [UNKNOWN] if mine is None else [0, *(ALL if rows.ids is None else len(rows.ids) for rows in mine)]
        counts: Any = np.full((self.size, 1 + len(self._layout)), UNKNOWN, dtype=np.int32)
        counts[self.rank, : len(told)] = told
        self.inner.allgather(counts.view(np.uint8).reshape(-1))
        return counts

    def _union(self, mine: Touched, counts: Any) -> Touched:
        """Return the rows that some rank has touched."""
        known = counts[:, 1:]
        sent = [k for k in range(known.shape[1]) if not (known[:, k] == ALL).any()]
        longest = int(known[:, sent].sum(axis=1).max(initial=0))
        ids: Any = np.zeros((self.size, longest), dtype=np.int32)
        own = [mine.slices[k].ids.numpy().astype(np.int32) for k in sent]
        if own:
            joined = np.concatenate(own)
            ids[self.rank, : len(joined)] = joined
        if longest:
            self.inner.allgather(ids.view(np.uint8).reshape(-1))
        found: list[Rows] = []
        starts = np.zeros(self.size, dtype=np.int64)
        for k, rows in enumerate(mine):
            if k not in sent:
                found.append(Rows(rows.part, None))
                continue
            theirs = [ids[r, starts[r] : starts[r] + known[r, k]] for r in range(self.size)]
            starts += known[:, k]
            found.append(Rows(rows.part, tensor(np.unique(np.concatenate(theirs)).astype(np.int64))))
        return Touched(tuple(found))

    def in_full(self) -> Comm:
        """Return the same ranks by a wire that rounds nothing; it sums whole vectors."""
        return self.inner.in_full() if isinstance(self.inner, Wrapper) else self.inner

    def without_feedback(self) -> Comm:
        """Return the same sums by a communicator without error feedback."""
        inner = self.inner.without_feedback() if isinstance(self.inner, Wrapper) else self.inner
        return TouchedSums(inner, self._supports, self._layout, self._content)

    def sending(self, content: Content) -> Comm:
        """Return the same sums for vectors of this content."""
        inner = self.inner.sending(content) if isinstance(self.inner, Wrapper) else self.inner
        return TouchedSums(inner, self._supports, self._layout, content)


def _pack(union: Touched, x: Any) -> Any:
    """Return the union's rows of x as one vector."""
    packed, first = x.new_empty(len(union)), 0
    for rows in union:
        values = rows.of(x).reshape(-1)
        packed[first : first + values.numel()] = values
        first += values.numel()
    return packed


def _unpack(union: Touched, packed: Any, x: Vector) -> None:
    """Write a vector of the union's rows to x."""
    first = 0
    for rows in union:
        whole = rows.matrix(x)
        count = rows.count if rows.ids is None else len(rows.ids)
        values = packed[first : first + count * whole.shape[1]].view(count, whole.shape[1])
        first += values.numel()
        if rows.ids is None:
            whole.copy_(values)
        else:
            rows.put(x, values)
