"""What elastic methods exchange: whole vectors, or with `communication.rows = touched` the rows that were moved.

An exchange then pulls only rows that steps have moved since the exchange before: those of the worker that
exchanges or, in synchronous methods, those of any worker. All other rows keep their difference to the center until
a step moves them again: nothing is sent or changed there, neither of the center nor of the workers. A row that is
moved once is therefore pulled once, by a times its difference; exchanges of whole vectors pull it every time. The
first exchange is that of whole vectors, and so is each after steps that may have moved all rows (momentum, AdamW,
Muon, weight decay or clipping of SGD, accumulation): its bits are those of `rows = all`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooke.comm.touched import Touched, front, packed
from hooke.methods.moved import only_moved

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Pending, Vector
    from hooke.comm.wrappers.timed import Timed


class WeightSum:
    """A sum of the workers' weights that has been begun."""

    def __init__(self, buffer: Vector, rows: Touched | None, pending: Pending | None) -> None:
        self.buffer, self.rows, self._pending = buffer, rows, pending
        """`rows`: those that are summed; None: all. Their sum is in the front of `buffer`, once waited for."""

    def wait(self) -> Vector:
        """Return the sum, once it is complete."""
        if self._pending is not None:
            self._pending.wait()
        return self.buffer


class WeightSums:
    """Sums of the workers' weights, of which `at_once` may be under way; begun in the same order on all ranks."""

    def __init__(self, r: Rank, at_once: int = 1) -> None:
        self._r, self._only_moved = r, only_moved(r)
        self._free = [r.buffer(r.params) for _ in range(at_once)]

    def begin(self, x: Vector, moved: Touched | None, behind: bool) -> WeightSum:
        """Begin to sum x, or the rows that some worker has moved; `behind`: in the background, else now.

        x may be changed as soon as this returns. The ids of rows are exchanged now, in any case.
        """
        comm, buffer = self._r.comm, self._free.pop()
        rows = agreed_rows(self._r, comm, moved)
        if not self._only_moved and not behind:
            comm.allreduce(buffer.copy_(x))
            return WeightSum(buffer, None, None)
        if is_empty(rows):
            return WeightSum(buffer, rows, None)
        pending = comm.iallreduce(x, into=buffer) if rows is None else comm.iallreduce(rows.pack(x, buffer))
        if not behind:
            pending.wait()
        return WeightSum(buffer, rows, pending if behind else None)

    def end(self, done: WeightSum) -> None:
        """Take the buffer of a sum back."""
        self._free.append(done.buffer)


def is_empty(rows: Touched | None) -> bool:
    """Return whether an exchange of these rows sends nothing, on any rank."""
    return rows is not None and len(rows) == 0


def agreed_rows(r: Rank, comm: Timed, moved: Touched | None) -> Touched | None:
    """Return the rows that some rank of `comm` has moved; None: whole vectors are exchanged."""
    if not only_moved(r):
        return None
    from hooke.comm.union import agreed  # not at the top: parameters of algorithms are read without NumPy

    return agreed(comm, r.layout, moved)


class HostExchange:
    """The exchange of workers with a host that has the center, through worker 0."""

    def __init__(self, r: Rank) -> None:
        self._r = r
        self._sum, self._center = r.buffer(r.params), r.buffer(r.params)

    def work(self, group: Timed, x: Vector, moved: Touched | None) -> tuple[Vector, Touched | None]:
        """Worker: add x to the sum of all; return the center, or those rows of it that are returned."""
        r, rows = self._r, agreed_rows(self._r, group, moved)
        c, mine = front(self._center, rows), packed(x, rows, into=self._sum)
        if r.rank == 0:
            self._tell(rows)
        if not is_empty(rows):
            if r.rank == 0:
                r.comm.recv(c, r.server)
            group.broadcast(c, 0)
            group.reduce(mine, 0)
            if r.rank == 0:
                r.comm.send(mine, r.server)
        return c, rows

    def serve(self, c: Vector) -> tuple[Vector, Touched | None]:
        """Host: give the center; return the sum of the workers' weights, or those rows of it that are returned."""
        r, rows = self._r, self._heard()
        total = front(self._sum, rows)
        if not is_empty(rows):
            r.comm.send(packed(c, rows), 0)
            r.comm.recv(total, 0)
        return total, rows

    def _tell(self, rows: Touched | None) -> None:
        if only_moved(self._r):
            from hooke.comm.union import all_rows, tell

            for pending in tell(self._r.comm, all_rows(self._r.layout) if rows is None else rows, self._r.server):
                pending.wait()

    def _heard(self) -> Touched | None:
        if not only_moved(self._r):
            return None
        from hooke.comm.union import hear

        return hear(self._r.comm, self._r.layout, 0)
