"""Packing: all layers in one message, one message per layer, or buckets of equal size.

The packing does not change the bits of a sum, except with the ring, whose order depends on it. The number of
messages differs: 1, the number of layers, or ceil(|W| / bucket), for every message of the schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from hooke.comm.arrays import array_of
from hooke.comm.base import ANY, Comm, Content, Message, Pending, Slice, Vector
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.errors import CommError

Packing = Literal["one", "per-layer", "buckets"]

_LINE = 64  # bytes: buckets are aligned to cache lines


class Packed(Wrapper):
    """Cuts vectors into several transfers; gathers are not cut.

    "per-layer": one for each slice of `layout`; vectors of another length have no layers and are sent whole.
    "buckets": each of `bucket_bytes`, rounded down to whole cache lines of 64 bytes, the last one shorter.
    """

    def __init__(
        self, inner: Comm, packing: Packing, layout: tuple[Slice, ...], bucket_bytes: int = 1 << 20
    ) -> None:
        super().__init__(inner)
        if bucket_bytes < _LINE:
            raise CommError(f"a bucket holds at least {_LINE} bytes, not {bucket_bytes}")
        self.packing = packing
        self.layout = layout
        self.bucket_bytes = bucket_bytes
        self._length = layout[-1].stop if packing == "per-layer" and layout else None

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Broadcast one part after the other."""
        for part in self._parts(x):
            self.inner.broadcast(part, root)

    def allreduce(self, x: Vector) -> None:
        """All-reduce one part after the other."""
        for part in self._parts(x):
            self.inner.allreduce(part)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin one all-reduce per part."""
        if into is None:
            return self._begin(x, self.inner.iallreduce)
        pairs = zip(self._parts(x), self._parts(into), strict=True)
        return _together([self.inner.iallreduce(part, target) for part, target in pairs])

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Reduce one part after the other."""
        for part in self._parts(x):
            self.inner.reduce(part, root)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send one part after the other."""
        for part in self._parts(x):
            self.inner.send(part, to, tag)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send every part."""
        return self._begin(x, lambda part: self.inner.isend(part, to, tag))

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive one part after the other, all from the rank that sent the first."""
        message = Message(source)
        for part in self._parts(into):
            message = self.inner.recv(part, message.source, tag)
        return message

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive every part; not from ANY, because parts could come from different ranks."""
        parts = self._parts(into)
        if source == ANY and len(parts) > 1:
            raise CommError("irecv from ANY cannot be split into several messages: name the source, or use recv")
        return self._begin(into, lambda part: self.inner.irecv(part, source, tag))

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the part's communicator with the same packing."""
        return self._around(self.inner.split(color, key))

    def without_feedback(self) -> Comm:
        """Return the same packing of a communicator whose wire type keeps no residual."""
        return self._around(self.inner.without_feedback()) if isinstance(self.inner, Wrapper) else self

    def in_full(self) -> Comm:
        """Return the same packing of a communicator that rounds nothing."""
        return self._around(self.inner.in_full()) if isinstance(self.inner, Wrapper) else self

    def sending(self, content: Content) -> Comm:
        """Return the same packing of a communicator for vectors of this content."""
        return self._around(self.inner.sending(content)) if isinstance(self.inner, Wrapper) else self

    def _around(self, inner: Comm) -> Packed:
        return Packed(inner, self.packing, self.layout, self.bucket_bytes)

    def _parts(self, x: Vector) -> list[Any]:
        if self.packing == "buckets":
            array = array_of(x)
            step = self.bucket_bytes // _LINE * _LINE // array.itemsize
            return [array[start : start + step] for start in range(0, array.size, step)] or [x]
        if self._length is None:
            return [x]
        array = array_of(x)
        if array.size != self._length:
            return [x]
        return [array[layer.start : layer.stop] for layer in self.layout]

    def _begin(self, x: Vector, post: Callable[[Vector], Pending]) -> Pending:
        return _together([post(part) for part in self._parts(x)])


def _together(pending: list[Pending]) -> Pending:
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
