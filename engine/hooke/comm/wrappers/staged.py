"""Exchanges device vectors through host buffers; host vectors are passed on unchanged.

Both worlds transfer and sum host arrays, because the order of summation is part of the interface and its additions
are made on the host. A device vector is copied into a page-locked buffer, exchanged, and copied back. A vector
that its rank has labelled always has the same buffer, which has its name, as error feedback (`wire.py`) requires.
Messages from device memory (CUDA-aware MPI) and NCCL are not used.

`Staging` is the interface of a device; `cuda.py` implements it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hooke.comm.base import Comm, Content, Message, Pending, Vector, Window
from hooke.comm.wrappers.wrapper import Wrapper


class Staging(Protocol):
    """Copies between vectors and their host buffers."""

    def takes(self, x: Vector) -> bool:
        """Return whether x is in memory that MPI cannot access."""

    def keep(self, x: Vector, made: Callable[[Any], None]) -> None:
        """Keep one buffer for x and its parts; `made` is told the buffer of x before it is used."""

    def buffer(self, x: Vector) -> Any:
        """Return a host buffer for x that no copy is reading; what it holds is not defined."""

    def out(self, x: Vector) -> Any:
        """Copy x into its host buffer, after all pending work on x; return the buffer when it is complete."""

    def back(self, host: Any, x: Vector) -> None:
        """Copy a buffer into x; return when it is complete."""

    def settle(self) -> None:
        """Wait until the device has completed all that this rank has begun."""


class Staged(Wrapper):
    """Transfers device vectors through their host buffers; for a host vector the cost is one check."""

    def __init__(self, inner: Comm, staging: Staging) -> None:
        super().__init__(inner)
        self.staging = staging

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x on every rank with that of the root, including the root: a wire type rounds there."""
        if not self.staging.takes(x):
            return self.inner.broadcast(x, root)
        host = self.staging.out(x) if self.rank == root else self.staging.buffer(x)
        self.inner.broadcast(host, root)
        return self.staging.back(host, x)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum over ranks."""
        if not self.staging.takes(x):
            return self.inner.allreduce(x)
        host = self.staging.out(x)
        self.inner.allreduce(host)
        return self.staging.back(host, x)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background; x, or `into`, is written in `wait`."""
        if not self.staging.takes(x):
            return self.inner.iallreduce(x, into)
        host = self.staging.out(x)
        if into is None:
            return StagedPending(self.inner.iallreduce(host), self.staging, host, x)
        landing = self.staging.buffer(into)
        return StagedPending(self.inner.iallreduce(host, landing), self.staging, landing, into)

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Overwrite the root's x with the sum over ranks; elsewhere x is unchanged."""
        if not self.staging.takes(x):
            return self.inner.reduce(x, root)
        host = self.staging.out(x)
        self.inner.reduce(host, root)
        return self.staging.back(host, x) if self.rank == root else None

    def gather(self, x: Vector, root: int = 0) -> None:
        """Collect the blocks of all ranks on the root."""
        if not self.staging.takes(x):
            return self.inner.gather(x, root)
        host = self.staging.out(x)
        self.inner.gather(host, root)
        return self.staging.back(host, x) if self.rank == root else None

    def allgather(self, x: Vector) -> None:
        """Collect the blocks of all ranks on every rank."""
        if not self.staging.takes(x):
            return self.inner.allgather(x)
        host = self.staging.out(x)
        self.inner.allgather(host)
        return self.staging.back(host, x)

    def iallgather(self, x: Vector) -> Pending:
        """Begin an all-gather in the background; x is written in `wait`."""
        if not self.staging.takes(x):
            return self.inner.iallgather(x)
        host = self.staging.out(x)
        return StagedPending(self.inner.iallgather(host), self.staging, host, x)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""
        self.inner.send(self.staging.out(x) if self.staging.takes(x) else x, to, tag)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x."""
        return self.inner.isend(self.staging.out(x) if self.staging.takes(x) else x, to, tag)

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector."""
        if not self.staging.takes(into):
            return self.inner.recv(into, source, tag)
        host = self.staging.buffer(into)
        message = self.inner.recv(host, source, tag)
        self.staging.back(host, into)
        return message

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive; the vector is written in `wait`."""
        if not self.staging.takes(into):
            return self.inner.irecv(into, source, tag)
        host = self.staging.buffer(into)
        return StagedPending(self.inner.irecv(host, source, tag), self.staging, host, into)

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the part's communicator; a vector keeps its buffer there."""
        return Staged(self.inner.split(color, key), self.staging)

    def without_feedback(self) -> Comm:
        """Return the same communicator with a wire type that keeps no residual."""
        return Staged(self.inner.without_feedback(), self.staging) if isinstance(self.inner, Wrapper) else self

    def in_full(self) -> Comm:
        """Return the same, around a wire that rounds nothing."""
        return Staged(self.inner.in_full(), self.staging) if isinstance(self.inner, Wrapper) else self

    def sending(self, content: Content) -> Comm:
        """Return the same communicator for vectors of this content."""
        return Staged(self.inner.sending(content), self.staging) if isinstance(self.inner, Wrapper) else self

    def label(self, x: Vector, name: str) -> None:
        """Name a vector of the rank: of a device vector, its buffer."""
        if self.staging.takes(x):
            self.staging.keep(x, lambda host: super(Staged, self).label(host, name))
        else:
            super().label(x, name)

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window in host memory."""
        if not self.staging.takes(initial):
            return self.inner.window(initial, owner)
        return StagedWindow(self.inner.window(self.staging.out(initial), owner), self.staging)


class StagedPending:
    """A transfer whose result is copied to the device once, in `wait`."""

    def __init__(self, inner: Pending, staging: Staging, host: Any, x: Vector) -> None:
        """`host`: the buffer in which the result arrives, x: the vector for it."""
        self._inner, self._staging, self._host, self._x = inner, staging, host, x

    @property
    def hidden(self) -> float:
        """Seconds that the transfer ran while the rank did something else; the copy back is not counted."""
        return self._inner.hidden

    def wait(self) -> None:
        """Return when the vector may be used."""
        self._inner.wait()
        if self._host is not None:
            self._staging.back(self._host, self._x)
            self._host = None


class Complete:
    """A `Pending` that was complete when it was begun."""

    hidden = 0.0

    def wait(self) -> None:
        """Return at once."""


class StagedWindow:
    """A window in host memory whose callers' vectors are on a device."""

    def __init__(self, inner: Window, staging: Staging) -> None:
        self._inner = inner
        self._staging = staging
        self.shared = inner.shared

    def get(self, into: Vector, at: Any = None) -> None:
        """Copy the vector without synchronization."""
        host = self._staging.buffer(into)
        self._inner.get(host, at)
        self._staging.back(host, into)

    def accumulate(self, delta: Vector, at: Any = None) -> None:
        """Add delta, each element atomically."""
        self._inner.accumulate(self._staging.out(delta), at)

    def add(self, delta: Vector, alpha: float = 1, at: Any = None) -> None:
        """Add alpha * delta by plain loads and stores of the host."""
        self._inner.add(self._staging.out(delta), alpha, at)

    def iexchange(
        self, into: Vector, answer: Callable[[], Vector], alpha: float | None = None, at: Any = None
    ) -> Pending:
        """Exchange at once: `answer` computes on the device, on the stream of the rank's own thread."""
        self.get(into, at)
        delta = answer()
        self.accumulate(delta, at) if alpha is None else self.add(delta, alpha, at)
        return Complete()

    def put(self, x: Vector) -> None:
        """Overwrite the vector."""
        self._inner.put(self._staging.out(x))

    def close(self) -> None:
        """Free it; collective."""
        self._inner.close()
