"""How a vector is cut into messages: all layers in one, or one message per layer.

Element-wise operations in the documented order give the same bits either way; only the number of messages
differs: 1 against the number of layers for every message of the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from hooke.comm.arrays import array_of
from hooke.comm.base import ANY, Comm, Message, Pending, Vector
from hooke.comm.wrapper import Wrapper
from hooke.errors import CommError
from hooke.workload import Slice

Packing = Literal["one", "per-layer"]


class Packed(Wrapper):
    """Cuts vectors of the length of `layout` into one transfer per slice when packing is "per-layer".

    Vectors of another length have no layers and travel whole.
    """

    def __init__(self, inner: Comm, packing: Packing, layout: tuple[Slice, ...]) -> None:
        super().__init__(inner)
        self.packing = packing
        self.layout = layout
        self._length = layout[-1].stop if packing == "per-layer" and layout else None

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Broadcast layer after layer."""
        for part in self._parts(x):
            self.inner.broadcast(part, root)

    def allreduce(self, x: Vector) -> None:
        """All-reduce layer after layer."""
        for part in self._parts(x):
            self.inner.allreduce(part)

    def iallreduce(self, x: Vector) -> Pending:
        """Begin one all-reduce per layer."""
        return self._begin(x, self.inner.iallreduce)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send layer after layer."""
        for part in self._parts(x):
            self.inner.send(part, to, tag)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send every layer."""
        return self._begin(x, lambda part: self.inner.isend(part, to, tag))

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive layer after layer, all from the rank that sent the first."""
        message = Message(source)
        for part in self._parts(into):
            message = self.inner.recv(part, message.source, tag)
        return message

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive every layer; from ANY this is impossible, for layers could come from many ranks."""
        parts = self._parts(into)
        if source == ANY and len(parts) > 1:
            raise CommError("irecv from ANY cannot be packed per layer: name the source, or use recv")
        return self._begin(into, lambda part: self.inner.irecv(part, source, tag))

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the part's communicator with the same packing."""
        return Packed(self.inner.split(color, key), self.packing, self.layout)

    def _parts(self, x: Vector) -> list[Any]:
        if self._length is None:
            return [x]
        array = array_of(x)
        if array.size != self._length:
            return [x]
        return [array[layer.start : layer.stop] for layer in self.layout]

    def _begin(self, x: Vector, post: Callable[[Vector], Pending]) -> Pending:
        pending = [post(part) for part in self._parts(x)]
        return pending[0] if len(pending) == 1 else Together(pending)


class Together:
    """Several transfers of one call, waited for as one.

    They complete in the order posted, so the last is waited for first: its entry into `wait` is the caller's,
    and its hidden time, min(completion, entry) - post, is that of the whole.
    """

    def __init__(self, parts: list[Pending]) -> None:
        self._parts = parts

    @property
    def hidden(self) -> float:
        """Seconds that the transfers ran while the rank did something else."""
        return self._parts[-1].hidden

    def wait(self) -> None:
        """Return when every part has arrived."""
        for part in reversed(self._parts):
            part.wait()
