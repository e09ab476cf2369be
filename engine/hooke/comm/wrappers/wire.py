"""Wire types bfloat16 and float16: half the bytes, with error feedback for the rounding error.

Every float32 vector is rounded to the wire type before it is sent (to nearest, ties to even) and converted
back to float32 on arrival. In a reduction both operands of every addition are of the wire type, are added in
float32, and the sum is rounded. Every rank thus ends with the same bits, in both worlds, and tree and halving
agree. A broadcast also rounds the root's vector. A float16 that overflows is Inf on every rank.

Error feedback (F. Seide et al., "1-bit stochastic gradient descent...", Interspeech 2014; S. P. Karimireddy
et al., "Error feedback fixes SignSGD...", ICML 2019). The rounding error of a rank's own vector is its
residual e. The next time the same buffer is sent by the same operation, q = round(x + e) is sent and x + e - q
is the new residual. A sequence of updates therefore loses nothing in the long run, and one of weights
fluctuates around the exact values. The rounding of the sums is not compensated.

There is one residual, |W| float32, for every pair of buffer and operation (all-reduce, broadcast, reduce,
receiver), which has the same name in a resumed run (`sites.py`).
A single rank rounds nothing; windows and vectors that are not float32 are passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from hooke.comm.arrays import Array, array_of, check_length
from hooke.comm.base import Comm, Message, Pending, Vector
from hooke.comm.elements import BF16, tensor
from hooke.comm.wrappers.sites import Labels, Sites
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.errors import CommError

WireType = Literal["bf16", "fp16"]

_TYPES: dict[WireType, np.dtype[Any]] = {"bf16": BF16, "fp16": np.dtype(np.float16)}

_BLOCK = 1 << 16  # elements per block: all steps of rounding run in the cache


class Wire(Wrapper):
    """Rounds the vectors that `inner` sends. `residuals` is shared with checkpoints and subgroups."""

    def __init__(
        self,
        inner: Comm,
        wire: WireType,
        error_feedback: bool,
        residuals: dict[str, Array],
        sites: Sites | None = None,
    ) -> None:
        super().__init__(inner)
        self.residuals = residuals
        self._wire: WireType = wire
        self._feedback = error_feedback
        self._sites = Sites(Labels()) if sites is None else sites
        self._parts = 0
        self._wide = np.zeros(_BLOCK, np.float32)
        self._free: dict[int, list[Array]] = {}

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x on every rank, including the root, with the root's rounded vector."""
        if not self._rounds(x):
            self.inner.broadcast(x, root)
            return
        half = self._rounded("broadcast", x) if self.rank == root else self._blank(x)
        self.inner.broadcast(_vector(half), root)
        self._back(half, x)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the rounded sum."""
        if not self._rounds(x):
            self.inner.allreduce(x)
            return
        half = self._rounded("allreduce", x)
        self.inner.allreduce(_vector(half))
        self._back(half, x)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background; the residual is that of x, also with `into`."""
        if not self._rounds(x):
            return self.inner.iallreduce(x, into)
        half, target = self._rounded("allreduce", x), x if into is None else into
        check_length(array_of(target).size, half.size, "an all-reduce into another vector")
        return WirePending(self.inner.iallreduce(_vector(half)), lambda: self._back(half, target))

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Overwrite the root's x with the rounded sum."""
        if not self._rounds(x):
            self.inner.reduce(x, root)
            return
        half = self._rounded(f"reduce-{root}", x)
        self.inner.reduce(_vector(half), root)
        self._back(half, x) if self.rank == root else self._release(half)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x rounded; x itself is unchanged."""
        if not self._rounds(x):
            self.inner.send(x, to, tag)
            return
        half = self._rounded(f"send-{to}", x)
        self.inner.send(_vector(half), to, tag)
        self._release(half)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x rounded."""
        if not self._rounds(x):
            return self.inner.isend(x, to, tag)
        half = self._rounded(f"send-{to}", x)
        return WirePending(self.inner.isend(_vector(half), to, tag), lambda: self._release(half))

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector."""
        if not self._rounds(into):
            return self.inner.recv(into, source, tag)
        half = self._blank(into)
        message = self.inner.recv(_vector(half), source, tag)
        self._back(half, into)
        return message

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive."""
        if not self._rounds(into):
            return self.inner.irecv(into, source, tag)
        half = self._blank(into)
        return WirePending(self.inner.irecv(_vector(half), source, tag), lambda: self._back(half, into))

    def without_feedback(self) -> Wire:
        """Return the same communicator without residuals."""
        return Wire(self.inner, self._wire, False, self.residuals, self._sites)

    def in_full(self) -> Comm:
        """Return what this wire goes by."""
        return self.inner

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the subgroup's communicator with the same wire type and residuals."""
        sites = Sites(self._sites.labels, f"{self._sites.prefix}part-{self._parts}.")
        self._parts += 1
        return Wire(self.inner.split(color, key), self._wire, self._feedback, self.residuals, sites)

    def label(self, x: Vector, name: str) -> None:
        """Name the residuals of a vector and of its parts."""
        self._sites.labels.add(array_of(x), name)

    def _rounds(self, x: Vector) -> bool:
        return self.size > 1 and array_of(x).dtype == np.float32

    def _rounded(self, way: str, x: Vector) -> Array:
        """Return x plus its residual in the wire type; update the residual."""
        array, half = array_of(x), self._blank(x)
        if not self._feedback:
            tensor(half).copy_(tensor(array))
            return half
        left, wide = self._residual(way, array), tensor(self._wide)
        for start in range(0, array.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            kept, sent = tensor(left[part]), tensor(half[part])
            kept.add_(tensor(array[part]))
            sent.copy_(kept)
            kept.sub_(wide[: kept.numel()].copy_(sent))
        return half

    def _residual(self, way: str, array: Array) -> Array:
        name = self._sites.name(way, array)
        residual = self.residuals.get(name)
        if residual is None:
            residual = self.residuals[name] = np.zeros(array.size, np.float32)
        elif residual.size != array.size:
            raise CommError(
                f"the residual {name} has {residual.size} elements, the vector {array.size}: it was restored "
                "from a run whose ranks exchanged other vectors"
            )
        return residual

    def _blank(self, x: Vector) -> Array:
        size = array_of(x).size
        free = self._free.setdefault(size, [])
        return free.pop() if free else np.zeros(size, _TYPES[self._wire])

    def _release(self, half: Array) -> None:
        self._free[half.size].append(half)

    def _back(self, half: Array, x: Vector) -> None:
        tensor(array_of(x)).copy_(tensor(half))
        self._release(half)


class WirePending:
    """A transfer in the wire type; the first `wait` converts the result to float32."""

    def __init__(self, inner: Pending, arrived: Callable[[], None]) -> None:
        self._inner = inner
        self._arrived: Callable[[], None] | None = arrived

    @property
    def hidden(self) -> float:
        """Seconds that the transfer ran while the rank did something else."""
        return self._inner.hidden

    def wait(self) -> None:
        """Return when the vectors involved may be read and written again."""
        self._inner.wait()
        if self._arrived is not None:
            self._arrived()
            self._arrived = None


def _vector(half: Array) -> Any:
    return half  # worlds accept arrays as well as tensors
