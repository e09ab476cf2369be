"""The center of lock-free methods: a window that counts updates and measures how much was lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from hooke.comm.base import Pending, Slice, Updates, Vector
from hooke.comm.elements import add_scaled, host, tensor
from hooke.comm.row_versions import RowVersions
from hooke.comm.touched import Touched, front, packed
from hooke.comm.wrappers.timed import Timed
from hooke.errors import Fault, NumericalError, SpecError


class Shared:
    """The shared vector of a lock-free method, as returned by `Rank.shared`.

    `read` may return elements of different ages. `add` may lose concurrent updates in plain mode and loses none in
    atomic mode. Construction and `close` are collective. Sum and L1 norm of all updates are accumulated on the
    rank that pushes them, on the clock: about a millisecond for a million elements.

    With a `layout`, `read` fetches only the rows that were changed since this rank's latest read. `rows` of an
    operation: only these; its vectors then hold them packed, in front.

    With `updates="plain"` construction raises SpecError on every rank unless all ranks share memory; its pointer
    is `chosen_at`. `"auto"` chooses the mode; `mode` returns it.
    """

    def __init__(
        self,
        comm: Timed,
        snapshot: Vector,
        scratch: Vector,
        updates: Updates,
        chosen_at: str = "",
        layout: tuple[Slice, ...] | None = None,
    ) -> None:
        self._comm = comm
        self._window = comm.window(snapshot, 0)
        if updates == "plain":
            self._refuse_ranks_apart(chosen_at)
        self._scratch = scratch
        self._pushed = np.zeros(snapshot.numel())
        self._mass = 0.0
        self._under_way: CenterExchange | None = None
        self.plain = self._window.shared and updates != "atomic"
        self.snapshot = snapshot
        """The vector at the latest meeting of all ranks, which is evaluated and checkpointed."""
        self._window.get(snapshot)
        comm.barrier()  # no update before all ranks have read the initial vector
        self._start = host(snapshot).astype(np.float64)
        self._versions = None if layout is None else RowVersions(comm, layout)

    def _refuse_ranks_apart(self, chosen_at: str) -> None:
        (apart,) = self._comm.control.allreduce((float(not self._window.shared),))
        if apart:
            self._window.close()
            raise SpecError(
                [
                    Fault(
                        chosen_at,
                        f"plain loads and stores need one host: {int(apart)} of {self._comm.size} ranks share "
                        "no memory with rank 0, which holds the center. Use `atomic`, or `auto`, which is plain "
                        "only where memory is shared; or run on one host (virtual: without latency and seconds "
                        "per byte)",
                    )
                ]
            )

    @property
    def mode(self) -> str:
        """Return a description of how this rank adds."""
        if self.plain:
            return "plain loads and stores in shared memory"
        return "element-wise atomic additions" + ("" if self._window.shared else " (memory is not shared)")

    def read(self, into: Vector) -> None:
        """Copy the vector as it is found; with a layout, the rows that are new to this rank."""
        rows = None if self._versions is None else self._versions.changed()
        if rows is None:
            self._window.get(into)
        else:
            self._window.get(found := front(self._scratch, rows), rows.elements())
            rows.unpack(found, into)

    def add(self, delta: Vector, alpha: float = 1.0, rows: Touched | None = None) -> None:
        """Add alpha * delta. Raises NumericalError, without changing the vector, if it holds NaN or Inf."""
        delta, at = front(delta, rows), _elements(rows)
        self._count(delta, alpha, at)
        if self.plain:
            self._window.add(delta, alpha, at)
        else:
            self._window.accumulate(front(self._scratch, rows).copy_(delta).mul_(alpha), at)
        if self._versions is not None:
            self._versions.count(rows)

    def exchange(
        self, x: Vector, stretch: Vector, alpha: float, overlap: bool, rows: Touched | None = None
    ) -> CenterExchange:
        """Begin to read c and to add alpha (x - c) to it; write x - c to `stretch`, for the update of x.

        With `overlap` this runs in the background: until `wait`, x must not be written and `stretch` not be
        accessed. Without, it is complete when this returns. Raises NumericalError, here or in `wait`, without
        changing the vector, if the update holds NaN or Inf. `rows`: only these rows of c and x.
        """
        x, stretch, at = packed(x, rows), front(stretch, rows), _elements(rows)
        if not overlap:
            self._window.get(stretch, at)
            self.add(stretch.mul_(-1).add_(x), alpha, rows)
            return CenterExchange(None, lambda: None)

        def answer() -> Vector:
            self._check(float(stretch.mul_(-1).add_(x).sum()))
            return stretch if self.plain else front(self._scratch, rows).copy_(stretch).mul_(alpha)

        pending = self._window.iexchange(stretch, answer, alpha if self.plain else None, at)
        self._under_way = CenterExchange(pending, lambda: self._added(stretch, alpha, rows))
        return self._under_way

    def finish(self) -> None:
        """Wait for the pending exchange, if any, of a worker that aborted its step."""
        if self._under_way is not None:
            with suppress(NumericalError):  # the reason for aborting: nothing was added
                self._under_way.wait()

    def _added(self, delta: Vector, alpha: float, rows: Touched | None) -> None:
        self._under_way = None
        self._count(delta, alpha, _elements(rows))
        if self._versions is not None:
            self._versions.count(rows)

    def _check(self, mass: float) -> None:
        if not math.isfinite(mass):
            raise NumericalError(f"an update of rank {self._comm.rank} of the shared center holds NaN or Inf")

    def _count(self, delta: Vector, alpha: float, at: Any) -> None:
        push = host(delta)
        mass = abs(alpha) * float(np.abs(push).sum(dtype=np.float64))
        self._check(mass)
        if at is None:
            add_scaled(self._pushed, tensor(push), alpha)
        else:
            self._pushed[at] += alpha * push.astype(np.float64)
        self._mass += mass

    def refresh(self) -> None:
        """Update `snapshot`; only at meetings, when no rank writes."""
        self._window.get(self.snapshot)

    def balance(self) -> tuple[float, float]:
        """Return the L1 norms of the missing and of all pushed updates in this attempt; collective.

        Missing: (end - start) - sum of all updates. Rounding the vector to fp32 alone contributes about 1e-7 of
        the pushed mass for every update of an element, with random signs; anything beyond that was lost.
        """
        self.refresh()
        total: Any = self._pushed.copy()  # float64, which no wire type rounds
        self._comm.allreduce(total)
        (mass,) = self._comm.control.allreduce((self._mass,))
        moved = host(self.snapshot).astype(np.float64) - self._start
        return float(np.abs(moved - total).sum()), mass

    def close(self) -> None:
        """Free it; collective."""
        self._window.close()
        if self._versions is not None:
            self._versions.close()


def _elements(rows: Touched | None) -> Any:
    return None if rows is None else rows.elements()


class CenterExchange:
    """The result of `Shared.exchange`; only the first `wait` has an effect."""

    def __init__(self, pending: Pending | None, added: Callable[[], None]) -> None:
        self._pending, self._added = pending, added

    def wait(self) -> None:
        """Return when the update has been added, `stretch` may be read and x be written."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.wait()
            self._added()
