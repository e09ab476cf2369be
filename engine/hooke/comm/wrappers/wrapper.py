"""Base class of wrappers: forwards every operation to an inner communicator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hooke.comm.base import Comm, Content, Control, Counter, Message, Pending, Traffic, Vector, Window

T = TypeVar("T")


class Wrapper:
    """Forwards to `inner`."""

    def __init__(self, inner: Comm) -> None:
        self.inner = inner
        self.rank = inner.rank
        self.size = inner.size
        self.traffic: Traffic = inner.traffic
        self.control: Control = inner.control
        self.implementation = inner.implementation

    def without_feedback(self) -> Comm:
        """Return the same communicator without error feedback.

        For vectors whose rounding errors must not be added to later ones, such as projections on a changing basis.
        """
        return self

    def in_full(self) -> Comm:
        """Return the same ranks by a wire that rounds nothing, for vectors that are no part of a method."""
        return self

    def sending(self, content: Content) -> Comm:
        """Return the same communicator for vectors of this content; only compressed wires differ."""
        del content
        return self

    def label(self, x: Vector, name: str) -> None:
        """Give a vector of the rank a name, the same in a resumed run: that of residuals and estimates of it."""
        if isinstance(self.inner, Wrapper):
            self.inner.label(x, name)

    def clock(self) -> float:
        """Return the inner clock."""
        return self.inner.clock()

    def charge(self, seconds: float) -> None:
        """Advance virtual time by `seconds`, in the current phase of the caller."""
        self.inner.charge(seconds)

    def pause(self, seconds: float) -> None:
        """Return after `seconds`."""
        self.inner.pause(seconds)

    def occupy(self, seconds: float) -> None:
        """Let this rank's links carry nothing else for `seconds`, in virtual time."""
        self.inner.occupy(seconds)

    def alongside(self, work: Callable[[], T]) -> T:
        """Return `work()`, while other ranks may run."""
        return self.inner.alongside(work)

    def barrier(self) -> None:
        """Return when every rank has entered."""
        self.inner.barrier()

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x on every rank with that of the root."""
        self.inner.broadcast(x, root)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum over ranks."""
        self.inner.allreduce(x)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background."""
        return self.inner.iallreduce(x, into)

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Overwrite the root's x with the sum over ranks."""
        self.inner.reduce(x, root)

    def gather(self, x: Vector, root: int = 0) -> None:
        """Collect the blocks of all ranks on the root; wire types leave them as they are."""
        self.inner.gather(x, root)

    def allgather(self, x: Vector) -> None:
        """Collect the blocks of all ranks on every rank; wire types leave them as they are."""
        self.inner.allgather(x)

    def iallgather(self, x: Vector) -> Pending:
        """Begin an all-gather in the background."""
        return self.inner.iallgather(x)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""
        self.inner.send(x, to, tag)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x."""
        return self.inner.isend(x, to, tag)

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector."""
        return self.inner.recv(into, source, tag)

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive."""
        return self.inner.irecv(into, source, tag)

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the communicator of the ranks that gave the same color."""
        return self.inner.split(color, key)

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's vector."""
        return self.inner.window(initial, owner)

    def counter(self) -> Counter:
        """Return a counter at 0, kept by rank 0."""
        return self.inner.counter()
