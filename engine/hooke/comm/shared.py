"""A center without locks: a window that counts what is pushed into it, and finds out how much was lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from hooke.comm.base import Pending, Updates, Vector
from hooke.comm.elements import add_scaled, host, tensor
from hooke.comm.wrappers.timed import Timed
from hooke.errors import Fault, NumericalError, SpecError


class Shared:
    """What `Rank.shared` returns: the vector of a lock-free method.

    `read` may see elements of different ages. `add` in plain mode may lose what others store meanwhile; in
    atomic mode nothing is lost. Made and closed by all ranks together. The sum and the size of all updates are
    counted on the rank that pushes them, in the method's time: about a millisecond for a million elements.

    Making one with `updates="plain"` raises SpecError, on every rank, where not all ranks share memory: who asks
    for plain stores must not get something else. `"auto"` may choose, and `mode` says what it chose.
    """

    def __init__(self, comm: Timed, snapshot: Vector, scratch: Vector, updates: Updates) -> None:
        self._comm = comm
        self._window = comm.window(snapshot, 0)
        if updates == "plain":
            self._refuse_ranks_apart()
        self._scratch = scratch
        self._pushed = np.zeros(snapshot.numel())
        self._mass = 0.0
        self._under_way: CenterExchange | None = None
        self.plain = self._window.shared and updates != "atomic"
        self.snapshot = snapshot
        """The vector as it was at the latest meeting of all ranks: what is evaluated, and kept in checkpoints."""
        self._window.get(snapshot)
        comm.barrier()  # nobody pushes before all have read the beginning
        self._start = host(snapshot).astype(np.float64)

    def _refuse_ranks_apart(self) -> None:
        (apart,) = self._comm.control.allreduce((float(not self._window.shared),))
        if apart:
            self._window.close()
            raise SpecError(
                [
                    Fault(
                        "/algorithm/parameters/updates",
                        f"plain loads and stores need one host: {int(apart)} of {self._comm.size} ranks share "
                        "no memory with rank 0, which has the center. Ask for `atomic`, or for `auto`, which is "
                        "plain only where memory is shared; or run on one host (virtual: without latency and "
                        "seconds per byte)",
                    )
                ]
            )

    @property
    def mode(self) -> str:
        """Return in words how this rank adds."""
        if self.plain:
            return "plain loads and stores in shared memory"
        return "element-wise atomic additions" + ("" if self._window.shared else " (memory is not shared)")

    def read(self, into: Vector) -> None:
        """Copy the vector as it is found."""
        self._window.get(into)

    def add(self, delta: Vector, alpha: float = 1.0) -> None:
        """Add alpha * delta. Raises NumericalError before a NaN or Inf can reach the vector."""
        self._count(delta, alpha)
        if self.plain:
            self._window.add(delta, alpha)
        else:
            self._window.accumulate(self._scratch.copy_(delta).mul_(alpha))

    def exchange(self, x: Vector, stretch: Vector, alpha: float, overlap: bool) -> CenterExchange:
        """Begin to read c and to add alpha (x - c); leave x - c in `stretch`, for the pull of x by the same.

        With overlap in the background: until `wait`, x must not be written, nor `stretch` be touched. Without, all
        is done when this returns. Raises NumericalError, here or in `wait`, before a NaN or Inf can reach the
        vector.
        """
        if not overlap:
            self.read(stretch)
            self.add(stretch.mul_(-1).add_(x), alpha)
            return CenterExchange(None, lambda: None)

        def answer() -> Vector:
            self._check(float(stretch.mul_(-1).add_(x).sum()))
            return stretch if self.plain else self._scratch.copy_(stretch).mul_(alpha)

        pending = self._window.iexchange(stretch, answer, alpha if self.plain else None)
        self._under_way = CenterExchange(pending, lambda: self._added(stretch, alpha))
        return self._under_way

    def finish(self) -> None:
        """Wait for the exchange, if there is one, that a worker has under way which broke off its step."""
        if self._under_way is not None:
            with suppress(NumericalError):  # which is why it broke off: nothing was added
                self._under_way.wait()

    def _added(self, delta: Vector, alpha: float) -> None:
        self._under_way = None
        self._count(delta, alpha)

    def _check(self, mass: float) -> None:
        if not math.isfinite(mass):
            raise NumericalError(f"an update of rank {self._comm.rank} of the shared center holds NaN or Inf")

    def _count(self, delta: Vector, alpha: float) -> None:
        push = host(delta)
        mass = abs(alpha) * float(np.abs(push).sum(dtype=np.float64))
        self._check(mass)
        add_scaled(self._pushed, tensor(push), alpha)
        self._mass += mass

    def refresh(self) -> None:
        """Bring `snapshot` up to date; for meetings, when nobody writes."""
        self._window.get(self.snapshot)

    def balance(self) -> tuple[float, float]:
        """Return the L1 norms of what is missing and of all that was pushed, in this attempt; collective.

        Missing: (end - start) - sum of all updates. Rounding of the vector to fp32 alone makes about 1e-7 of
        the pushed mass for every update that an element got, with random signs; more than that was lost.
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


class CenterExchange:
    """What `Shared.exchange` returns; only the first `wait` does anything."""

    def __init__(self, pending: Pending | None, added: Callable[[], None]) -> None:
        self._pending, self._added = pending, added

    def wait(self) -> None:
        """Return when the stretch may be read, x be written, and the update has been added."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.wait()
            self._added()
