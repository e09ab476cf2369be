"""Compressed wires: int8, signs or the largest elements travel (`hooke.comm.compressors`), in every operation.

A sum of encoded vectors is not an encoded vector. An all-reduce therefore gathers the encoded vectors, and every
rank decodes and adds them in the order of ranks: the same bits everywhere, in both worlds and after a restart. A
reduce gathers them at the root; broadcasts and messages send the root's or the sender's encoded vector.

C(x) alone would destroy weights. What is encoded depends on what the vectors are (`Content`; decision 29):

    weights    C(x - h);  h' = h + C(x - h) on both sides, and h' arrives (EF21, P. Richtarik et al. 2021, arXiv
               2106.05203; CHOCO-SGD, A. Koloskova et al. 2019, arXiv 1902.00340). An all-reduce gives sum_j h_j'.
               The first vector is sent in full. A vector that does not change arrives exactly in the end.
    averages   of an all-reduce: q_i = C(x_i - s / P + e_i), s' = s + sum_i q_i arrives, e_i' is what q_i lacks;
               s is the previous sum, first in full (Qsparse-local-SGD, D. Basu et al. 2019, arXiv 1906.02367).
               In the background and in other operations these are weights.
    updates    q = C(x + e) arrives, e' = x + e - q (error feedback, as in `wire.py`): the sum of all that is sent
               loses nothing.

Memory, in vectors of the size of x: weights 2 per all-reduced vector (h, sum), 1 per broadcast one, 1 on both
sides for every vector sent to a rank, 1 per reduced one and the root's sum; averages 2; updates 1 on the sender.
All of it is part of checkpoints. Without error feedback there is no e; h and s remain. Windows, control words,
gathers, vectors that are not float32, and single ranks send what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hooke.comm.arrays import Array, array_of, check_length
from hooke.comm.base import ANY, Comm, Content, Message, Pending, Vector
from hooke.comm.compressors import Compressor
from hooke.comm.wrappers.messages import Messages
from hooke.comm.wrappers.remembered import Remembered
from hooke.comm.wrappers.sites import Labels, Sites
from hooke.comm.wrappers.sums import Pool, Sum, Sums
from hooke.comm.wrappers.wire import WirePending
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.errors import CommError


@dataclass(frozen=True)
class Coding:
    """How vectors are encoded; `seed` is that of random rounding, `plain`: neither estimates nor residuals."""

    compressor: Compressor
    feedback: bool = True
    seed: int = 0
    content: Content = "weights"
    plain: bool = False


class Compressed(Wrapper):
    """Encodes the vectors that `inner` sends. `residuals` is shared with checkpoints and subgroups."""

    def __init__(
        self,
        inner: Comm,
        coding: Coding,
        residuals: dict[str, Array],
        sites: Sites | None = None,
        origin: int | None = None,
    ) -> None:
        super().__init__(inner)
        self.residuals = residuals
        self._coding = coding
        self._sites = Sites(Labels()) if sites is None else sites
        self._origin = inner.rank if origin is None else origin
        self._memory = Remembered(residuals, coding.compressor, (coding.seed, self._origin), coding.feedback)
        # Roots of several parts that broadcast replicas of one vector must round them alike.
        self._alike = Remembered(residuals, coding.compressor, (coding.seed,), coding.feedback)
        self._messages = Messages(self._memory, self._sites.prefix)
        self._content: Content = "updates" if coding.plain else coding.content
        self._lasting: Content = "updates" if self._content == "updates" else "weights"
        self._parts = 0
        self._pool = Pool()
        self._sums = Sums(self._memory, self._pool, self.rank, self.size)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum of what was encoded."""
        if not self._encodes(x):
            self.inner.allreduce(x)
            return
        begun = self._begin("allreduce", array_of(x), self._content, array_of(x))
        if begun.blocks is None:
            self.inner.allreduce(x)
        else:
            self.inner.allgather(_vector(begun.blocks))
        begun.finish()

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background; sums of the same vector are completed in the order posted."""
        if not self._encodes(x):
            return self.inner.iallreduce(x, into)
        array, target = array_of(x), array_of(x if into is None else into)
        check_length(target.size, array.size, "an all-reduce into another vector")
        begun = self._begin("allreduce", array, self._lasting, target)
        if begun.blocks is None:
            begun.pending = self.inner.iallreduce(x, into)
        else:
            begun.pending = self.inner.iallgather(_vector(begun.blocks))
        return WirePending(begun.pending, begun.finish)

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Overwrite the root's x with the sum of what was encoded; elsewhere x is undefined."""
        if not self._encodes(x):
            self.inner.reduce(x, root)
            return
        begun = self._begin(f"reduce-{root}", array_of(x), self._lasting, array_of(x), self.rank == root)
        if begun.blocks is None:
            self.inner.reduce(x, root)
        else:
            self.inner.gather(_vector(begun.blocks), root)
        begun.finish()

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x on every rank, including the root, with what was encoded."""
        if not self._encodes(x):
            self.inner.broadcast(x, root)
            return
        array, memory = array_of(x), self._alike
        name = self._sites.name(f"broadcast-{root}", array)
        estimate = None
        if self._content != "updates":
            first = not memory.has(name, "estimate")
            estimate = memory.vector(name, "estimate", array.size)
            if first:
                self.inner.broadcast(x, root)
                estimate[:] = array
                return
        encoded = self._pool.take(memory.compressor.size(array.size))
        if self.rank == root and estimate is not None:
            memory.encode_difference(name, array, estimate, encoded)
        elif self.rank == root:
            memory.encode_update(name, array, encoded, self._coding.plain)
        self.inner.broadcast(_vector(encoded), root)
        if self.rank != root and estimate is not None:
            memory.compressor.add(encoded, estimate)
        memory.write(encoded, estimate, array)
        self._pool.give(encoded)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x encoded; x itself is unchanged."""
        if not self._encodes(x):
            self.inner.send(x, to, tag)
            return
        message = self._message(array_of(x), to, tag)
        self.inner.send(_vector(message), to, tag)
        self._pool.give(message)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x encoded."""
        if not self._encodes(x):
            return self.inner.isend(x, to, tag)
        message = self._message(array_of(x), to, tag)
        return WirePending(self.inner.isend(_vector(message), to, tag), lambda: self._pool.give(message))

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector."""
        if not self._encodes(into):
            return self.inner.recv(into, source, tag)
        array = array_of(into)
        message = self._pool.take(self._messages.room(array.size))
        arrived = self.inner.recv(_vector(message), source, tag)
        self._arrived(message, arrived.source, array)
        return arrived

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive; not from ANY, because what arrives adds to what that rank sent before."""
        if not self._encodes(into):
            return self.inner.irecv(into, source, tag)
        if source == ANY:
            raise CommError("irecv from ANY with a compressed wire: name the source, or use recv")
        array = array_of(into)
        message = self._pool.take(self._messages.room(array.size))
        pending = self.inner.irecv(_vector(message), source, tag)
        return WirePending(pending, lambda: self._arrived(message, source, array))

    def sending(self, content: Content) -> Compressed:
        """Return the same communicator for vectors of this content."""
        return self._with(replace(self._coding, content=content))

    def without_feedback(self) -> Compressed:
        """Return the same communicator without estimates and residuals: C(x) is sent.

        Raises CommError if the vectors are not updates and the compressor is biased, which would destroy them.
        """
        if self._coding.content != "updates" and not self._coding.compressor.unbiased:
            raise CommError(
                "this method sends weights that continue no earlier message, which the wire types sign and top-k "
                "would destroy: choose int8, bf16, fp16 or fp32 as communication.wire"
            )
        return self._with(replace(self._coding, plain=True))

    def in_full(self) -> Comm:
        """Return what this wire goes by."""
        return self.inner

    def split(self, color: int, key: int = 0) -> Compressed:
        """Return the subgroup's communicator with the same coding."""
        sites = Sites(self._sites.labels, f"{self._sites.prefix}part-{self._parts}.")
        self._parts += 1
        return Compressed(self.inner.split(color, key), self._coding, self.residuals, sites, self._origin)

    def label(self, x: Vector, name: str) -> None:
        """Name what is remembered of a vector and of its parts."""
        self._sites.labels.add(array_of(x), name)

    def _with(self, coding: Coding) -> Compressed:
        return Compressed(self.inner, coding, self.residuals, self._sites, self._origin)

    def _encodes(self, x: Vector) -> bool:
        array = array_of(x)
        return self.size > 1 and array.dtype == np.float32 and array.size > 0

    def _message(self, x: Array, to: int, tag: int) -> Array:
        name = self._sites.name(f"send-{to}-{tag}" if tag else f"send-{to}", x)
        message = self._pool.take(self._messages.size(name, x.size, self._content))
        self._messages.write(name, x, message, self._content, self._coding.plain)
        return message

    def _arrived(self, message: Array, source: int, into: Array) -> None:
        self._messages.read(message, source, into)
        self._pool.give(message)

    def _begin(self, way: str, x: Array, content: Content, target: Array, wanted: bool = True) -> Sum:
        return self._sums.begin(self._sites.name(way, x), x, target, content, self._coding.plain, wanted)


def _vector(array: Any) -> Any:
    return array  # worlds accept arrays as well as tensors
