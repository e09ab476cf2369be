"""All-reduces in which only rows travel that some rank has touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hooke.comm.base import Comm, Content, Pending, Slice, Vector
from hooke.comm.collectives import Collective, sum_of_equals
from hooke.comm.touched import Touched, nonzero
from hooke.comm.union import UNKNOWN, row_counts, union
from hooke.comm.wrappers.wrapper import Wrapper

LATEST = "latest average"
"""Name of the state of a rank: the latest average of whole vectors of weights."""


class Supports:
    """What a rank knows of the rows of a vector, and what an all-reduce tells it. The rank sets the functions."""

    def __init__(self) -> None:
        self.of: Callable[[Vector], Touched | None] = lambda _: None
        """Return the rows that a vector consists of; None: it is not known."""
        self.learn: Callable[[Vector, Touched], None] = lambda _, __: None
        """Take note of the rows of a vector that was summed over ranks."""
        self.keep: Callable[[str], tuple[Any, bool]] = lambda _: (None, False)
        """Return a vector of this name that is part of checkpoints, and whether it is from one; None: none is."""
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
    equal on all ranks, and their sum is computed in the order of `collective`. The first average, and every vector
    of which one rank does not know the rows, is summed as a whole. The latest average is part of checkpoints: a
    resumed run sums the same rows and numbers as an undisturbed one. Other operations are forwarded.
    """

    def __init__(
        self,
        inner: Comm,
        supports: Supports,
        layout: tuple[Slice, ...],
        content: Content | None = None,
        collective: Collective = "tree",
    ) -> None:
        super().__init__(inner)
        self._supports, self._layout, self._content = supports, layout, content
        self._collective: Collective = collective
        self._average: Any = None
        """The latest average of weights, once there is one; only where this communicator forms any."""
        self._kept: Any = None
        """The vector that is part of checkpoints, once it has been asked for."""

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum over ranks."""
        rows = self._rows(x)
        if rows is None:
            self.inner.allreduce(x)
        else:
            packed = rows.pack(x)
            self.inner.allreduce(packed)
            if self._content == "averages":
                x.copy_(sum_of_equals(self._average, self.size, self._collective))
            rows.unpack(packed, x)
            self._supports.summed = rows
        if self._content == "averages" and self._whole(x):
            self._latest(x)
            self._average = self._kept.copy_(x).mul_(1 / self.size)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background; of updates, only rows that are not zero on some rank travel.

        Which these are the ranks tell each other before it begins. Other contents travel whole.
        """
        rows = self._rows(x) if self._content == "updates" else None
        if rows is None:
            return self.inner.iallreduce(x, into)
        return Unpacking(self.inner, rows, x, into)

    def _rows(self, x: Vector) -> Touched | None:
        """Return the rows that some rank has touched; None: x is summed as a whole."""
        if not self._whole(x):  # on no rank, for all pass as many elements
            return None
        mine = self._supports.of(x)
        mine = self._found(x) if mine is None else mine
        counts = row_counts(self.inner, len(self._layout), mine)
        return None if mine is None or (counts == UNKNOWN).any() else union(self.inner, mine, counts)

    def _found(self, x: Vector) -> Touched | None:
        """Return the rows of updates that are not zero, or of weights that differ from their latest average.

        None for other vectors, and before the first average.
        """
        if self._content == "updates":
            return nonzero(self._layout, x)
        if self._content == "averages" and self._latest(x) is not None:
            return nonzero(self._layout, x != self._average)
        return None

    def _latest(self, x: Any) -> Any:
        """Return the latest average of vectors such as x, which may be from before a restart; None: none yet."""
        if self._kept is None:
            kept, restored = self._supports.keep(LATEST)
            self._kept = x.clone() if kept is None else kept
            self._average = self._kept if restored else None
        return self._average

    def _whole(self, x: Any) -> bool:
        return bool(self._layout) and len(x) == self._layout[-1].stop

    def in_full(self) -> Comm:
        """Return the same ranks by a wire that rounds nothing; it sums whole vectors."""
        return self.inner.in_full() if isinstance(self.inner, Wrapper) else self.inner

    def without_feedback(self) -> Comm:
        """Return the same sums by a communicator without error feedback."""
        inner = self.inner.without_feedback() if isinstance(self.inner, Wrapper) else self.inner
        return TouchedSums(inner, self._supports, self._layout, self._content, self._collective)

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the same sums over the ranks that gave the same color."""
        part = self.inner.split(color, key)
        return TouchedSums(part, self._supports, self._layout, collective=self._collective)

    def sending(self, content: Content) -> Comm:
        """Return the same sums for vectors of this content."""
        inner = self.inner.sending(content) if isinstance(self.inner, Wrapper) else self.inner
        return TouchedSums(inner, self._supports, self._layout, content, self._collective)


class Unpacking:
    """A sum of some rows under way; the first `wait` writes it to x, or to `into`, and zero to its other rows."""

    def __init__(self, comm: Comm, rows: Touched, x: Vector, into: Vector | None) -> None:
        self._rows, self._x, self._into = rows, x, into
        self._packed: Any = rows.pack(x)
        self._inner = comm.iallreduce(self._packed)

    @property
    def hidden(self) -> float:
        """Seconds that the transfer ran while the rank did something else."""
        return self._inner.hidden

    def wait(self) -> None:
        """Return when the sum has been written."""
        self._inner.wait()
        if self._packed is None:
            return
        if self._into is not None:
            self._into.zero_()
        self._rows.unpack(self._packed, self._x if self._into is None else self._into)
        self._packed = None
