"""Encoded vectors from rank to rank. A head says what follows, so that receivers need not know the sender.

Head: three uint32, number of the stream (of the sender's vector), kind, and count of the stream's differences. A
receiver keeps one estimate for every source and stream.
"""

from __future__ import annotations

import numpy as np

from hooke.comm.arrays import Array
from hooke.comm.base import Content
from hooke.comm.wrappers.remembered import Remembered, number_of
from hooke.errors import CommError

HEAD = 12
"""Bytes of the head."""
_UPDATE, _FULL, _DIFFERENCE = 0, 1, 2


class Messages:
    """Writes and reads messages; what both sides remember is in `memory`, under names that begin with `prefix`."""

    def __init__(self, memory: Remembered, prefix: str) -> None:
        self._memory = memory
        self._prefix = prefix

    def room(self, elements: int) -> int:
        """Return the bytes of the longest message with such a vector."""
        return HEAD + max(4 * elements, self._memory.compressor.size(elements))

    def size(self, name: str, elements: int, content: Content) -> int:
        """Return the bytes of the next message of a stream."""
        full = content != "updates" and not self._memory.has(name, "estimate")
        return HEAD + (4 * elements if full else self._memory.compressor.size(elements))

    def write(self, name: str, x: Array, message: Array, content: Content, plain: bool) -> None:
        """Write the next message of a stream: an update, the first vector in full, or a difference."""
        memory, head, body = self._memory, message[:HEAD].view(np.uint32), message[HEAD:]
        head[:] = number_of(name), _UPDATE, 0
        if content == "updates":
            memory.encode_update(name, x, body, plain)
        elif memory.has(name, "estimate"):
            head[1:] = _DIFFERENCE, memory.next_count(f"{name}.sent")
            memory.encode_difference(name, x, memory.vector(name, "estimate", x.size), body)
        else:
            head[1] = _FULL
            memory.vector(name, "estimate", x.size)[:] = x
            body.view(np.float32)[:] = x

    def read(self, message: Array, source: int, into: Array) -> None:
        """Write to `into` what a message brings. Raises CommError if it does not continue its stream."""
        memory = self._memory
        stream, kind, count = message[:HEAD].view(np.uint32).tolist()
        body = message[HEAD : HEAD + (4 * into.size if kind == _FULL else memory.compressor.size(into.size))]
        name = f"{self._prefix}receive-{source}.{stream:08x}"
        if kind == _UPDATE:
            memory.write(body, None, into)
            return
        estimate = memory.vector(name, "estimate", into.size)
        if kind == _FULL:
            estimate[:] = body.view(np.float32)
        elif count != (expected := memory.next_count(f"{name}.received") & 0xFFFFFFFF):
            raise CommError(
                f"rank {source} sent difference {count} of a vector where {expected} was expected: on a "
                "compressed wire, receive messages with one vector, and wait for them, in the order of sending"
            )
        else:
            memory.compressor.add(body, estimate)
        into[:] = estimate
