"""Vectors that live on a device travel through host buffers, allocated once per vector; others pass as they are.

Both worlds move and sum host arrays: the order of summation is part of the contract, and its additions are made
on the host. So a device vector is copied into a pinned buffer on a side stream, exchanged, and copied back; the
buffer of a vector is always the same one, which error feedback (`wire.py`) counts on. Messages straight from
device memory (CUDA-aware MPI) and NCCL are not used.

`Staging` is the device's part; `cuda.py` has the real one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hooke.comm.base import Comm, Message, Pending, Vector, Window
from hooke.comm.wrappers.wrapper import Wrapper


class Staging(Protocol):
    """Copies between vectors and their host buffers."""

    def takes(self, x: Vector) -> bool:
        """Return whether x lives where MPI does not reach."""

    def buffer(self, x: Vector) -> Any:
        """Return the host buffer of x, always the same one, when no copy from it is under way."""

    def out(self, x: Vector) -> Any:
        """Copy x into its host buffer, after all work on x that was begun; return the buffer, complete."""

    def back(self, x: Vector) -> None:
        """Copy the host buffer of x into x, before all work on x that begins from now on."""


class Staged(Wrapper):
    """Moves device vectors through their host buffers; a host vector costs one look at it."""

    def __init__(self, inner: Comm, staging: Staging) -> None:
        super().__init__(inner)
        self.staging = staging

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x everywhere by the root's, at the root too: a narrow wire type rounds there."""
        if not self.staging.takes(x):
            return self.inner.broadcast(x, root)
        self.inner.broadcast(self.staging.out(x) if self.rank == root else self.staging.buffer(x), root)
        return self.staging.back(x)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x everywhere by the sum over ranks."""
        if not self.staging.takes(x):
            return self.inner.allreduce(x)
        self.inner.allreduce(self.staging.out(x))
        return self.staging.back(x)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin the same in the background; x, or `into`, gets the sum in `wait`."""
        if not self.staging.takes(x):
            return self.inner.iallreduce(x, into)
        if into is None:
            return StagedPending(self.inner.iallreduce(self.staging.out(x)), lambda: self.staging.back(x))
        pending = self.inner.iallreduce(self.staging.out(x), self.staging.buffer(into))
        return StagedPending(pending, lambda: self.staging.back(into))

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Leave the sum over ranks in the root's x; elsewhere x keeps what it had."""
        if not self.staging.takes(x):
            return self.inner.reduce(x, root)
        self.inner.reduce(self.staging.out(x), root)
        return self.staging.back(x) if self.rank == root else None

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
        message = self.inner.recv(self.staging.buffer(into), source, tag)
        self.staging.back(into)
        return message

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive; the vector gets it in `wait`."""
        if not self.staging.takes(into):
            return self.inner.irecv(into, source, tag)
        pending = self.inner.irecv(self.staging.buffer(into), source, tag)
        return StagedPending(pending, lambda: self.staging.back(into))

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the part's communicator; a vector keeps its buffer there."""
        return Staged(self.inner.split(color, key), self.staging)

    def without_feedback(self) -> Comm:
        """Return the same, around a wire that keeps no residual."""
        return Staged(self.inner.without_feedback(), self.staging) if isinstance(self.inner, Wrapper) else self

    def in_full(self) -> Comm:
        """Return the same, around a wire that rounds nothing."""
        return Staged(self.inner.in_full(), self.staging) if isinstance(self.inner, Wrapper) else self

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window in host memory."""
        if not self.staging.takes(initial):
            return self.inner.window(initial, owner)
        return StagedWindow(self.inner.window(self.staging.out(initial), owner), self.staging)


class StagedPending:
    """A transfer whose result is copied to the device once, when it has been waited for."""

    def __init__(self, inner: Pending, back: Callable[[], None]) -> None:
        self._inner = inner
        self._back: Callable[[], None] | None = back

    @property
    def hidden(self) -> float:
        """Seconds that the transfer ran while the rank did something else; the copy back is not counted."""
        return self._inner.hidden

    def wait(self) -> None:
        """Return when the vector may be used."""
        self._inner.wait()
        if self._back is not None:
            self._back()
            self._back = None


class Complete:
    """What was done when it was begun; a `Pending`."""

    hidden = 0.0

    def wait(self) -> None:
        """Return: it is complete."""


class StagedWindow:
    """A window whose callers' vectors live on a device; the window itself lies in host memory."""

    def __init__(self, inner: Window, staging: Staging) -> None:
        self._inner = inner
        self._staging = staging
        self.shared = inner.shared

    def get(self, into: Vector) -> None:
        """Copy the vector as it is found."""
        self._inner.get(self._staging.buffer(into))
        self._staging.back(into)

    def accumulate(self, delta: Vector) -> None:
        """Add delta, each element atomically."""
        self._inner.accumulate(self._staging.out(delta))

    def add(self, delta: Vector, alpha: float = 1) -> None:
        """Add alpha * delta by plain loads and stores of the host."""
        self._inner.add(self._staging.out(delta), alpha)

    def iexchange(self, into: Vector, answer: Callable[[], Vector], alpha: float | None = None) -> Pending:
        """Do it at once: `answer` computes on the device, whose stream the rank's own thread fills."""
        self.get(into)
        delta = answer()
        self.accumulate(delta) if alpha is None else self.add(delta, alpha)
        return Complete()

    def put(self, x: Vector) -> None:
        """Overwrite the vector."""
        self._inner.put(self._staging.out(x))

    def close(self) -> None:
        """Free it; collective."""
        self._inner.close()
