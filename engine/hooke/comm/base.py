"""The communicator that algorithms see: a few words of the MPI standard, in two worlds.

`Comm` is implemented by real MPI (`mpi.py`) and by threads in virtual time (`virtual.py`), and wrapped by
`Timed` (phases and counters), `Wire` (vectors travel as bf16 or fp16) and `Packed` (one message, one per
layer, or buckets). Vectors are flat, contiguous float32 and are changed in place.

Summation order. Floating-point addition is not associative, so the order is part of the contract and the
same in every world and for every message size (`collectives.py` is its single home):

    tree, halving   let q be the largest power of two <= P. First x[r - q] += x[r] for r = q..P-1; then, for
                    distance 1, 2, 4, ... < q, x[r] + x[r ^ distance]. Every reduce has this order, too, and
                    so have control words, whatever the collective.
    ring            element i lies in segment s, the s-th of P parts of the vector as it was passed, or cut by
                    the packing: x[s] + x[s + 1], + x[s + 2], ... around the ring. Packing changes the bits.
    library         MPI's own order, which may depend on P, size and machine; not in the virtual world.

Addition commutes, so all ranks obtain the same bits (`library`: as far as MPI sees to it). With a wire type,
both operands and the sum of every single addition are rounded to it; the order stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

ANY = -1
"""Receive from whichever rank sends first."""

Updates = Literal["plain", "atomic", "auto"]
"""How a window is added to: plain loads and stores in shared memory, element-wise atomic additions, or plain
wherever memory is shared."""


class Vector(Protocol):
    """The part of `torch.Tensor` that algorithms may use; all in place but `clone`."""

    def copy_(self, other: Any, /) -> Any: ...
    def add_(self, other: Any, /, *, alpha: float = 1) -> Any: ...
    def sub_(self, other: Any, /, *, alpha: float = 1) -> Any: ...
    def mul_(self, other: Any, /) -> Any: ...
    def lerp_(self, end: Any, weight: float, /) -> Any: ...
    def addcmul_(self, a: Any, b: Any, /, *, value: float = 1) -> Any: ...
    def addcdiv_(self, a: Any, b: Any, /, *, value: float = 1) -> Any: ...
    def sqrt_(self) -> Any: ...
    def zero_(self) -> Any: ...
    def sum(self) -> Any: ...
    def clone(self) -> Any: ...
    def numel(self) -> int: ...
    @property
    def is_cuda(self) -> bool: ...
    def numpy(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...


@dataclass(frozen=True)
class Slice:
    """One named parameter inside the flat vector: elements `start` to `stop`, of the given shape."""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Message:
    """What a receive returns: who sent it."""

    source: int


@dataclass
class Traffic:
    """What one rank has sent so far. `payload`: bytes asked to move; `wire`: bytes sent by the schedule."""

    payload: int = 0
    wire: int = 0
    messages: int = 0


class Pending(Protocol):
    """A transfer under way."""

    def wait(self) -> None:
        """Return when the vectors involved may be read and written again."""

    @property
    def hidden(self) -> float:
        """Seconds, once waited for, that the transfer ran while the rank did something else (observed)."""


class Control(Protocol):
    """Small control words (at most 8 float64) that ride with vectors: no cost in virtual time, and no payload.

    They carry requests to a server, its stop word, and the collective decisions of `Rank.steps`.
    """

    def send(self, words: tuple[float, ...], to: int) -> None:
        """Send words to one rank; never blocks."""

    def recv(self, source: int = ANY) -> tuple[int, tuple[float, ...]]:
        """Return (source, words) of the earliest message from `source`; blocks until there is one."""

    def poll(self, source: int = ANY) -> tuple[int, tuple[float, ...]] | None:
        """Return the same if a message has arrived, else None; never blocks."""

    def ibroadcast(self, words: tuple[float, ...] | None) -> ControlPending:
        """Post one broadcast from rank 0 (others pass None); all ranks post in the same order."""

    def allreduce(self, words: tuple[float, ...]) -> tuple[float, ...]:
        """Return the sums over all ranks, in the documented order; blocks."""


class ControlPending(Protocol):
    """A broadcast of control words under way."""

    def wait(self) -> tuple[float, ...]:
        """Return the words of rank 0."""


class Window(Protocol):
    """One vector that every rank of a communicator reads and changes without the others taking part.

    There are no locks: that is what it is for (Hogwild). `get` may see a vector that others are changing.
    `accumulate` loses nothing: every element's addition is atomic. `add` is plain loads and stores, so that
    what another rank stores in between is lost; it needs memory shared with the owner.
    """

    shared: bool
    """Whether plain loads and stores reach the vector: owner and rank share memory."""

    def get(self, into: Vector) -> None:
        """Copy the vector as it is found, element by element."""

    def accumulate(self, delta: Vector) -> None:
        """Add delta, each element atomically (MPI_Accumulate with MPI_SUM, completed)."""

    def add(self, delta: Vector, alpha: float = 1) -> None:
        """Add alpha * delta by plain loads and stores; raises CommError where memory is not shared."""

    def iexchange(self, into: Vector, answer: Callable[[], Vector], alpha: float | None = None) -> Pending:
        """Begin in the background: `get` into the vector, then add what `answer` makes of it.

        With alpha by `add`, without it by `accumulate`; no lock and no turn lies between reading and adding. Until
        `wait`, `into` and what `answer` writes must not be touched, nor what it reads be written. `answer` calls
        no communicator. What it raises is raised by `wait`, and nothing is added.
        """

    def put(self, x: Vector) -> None:
        """Overwrite the vector; for moments at which nobody else touches it."""

    def close(self) -> None:
        """Free it; collective."""


class Counter(Protocol):
    """A number that ranks take from, one after the other, without anybody's help. Costs no virtual time."""

    def take(self, amount: int = 1) -> int:
        """Add to it, atomically; return what it was before."""

    def close(self) -> None:
        """Free it; collective."""


class Comm(Protocol):
    """All ranks of one run, or a part of them."""

    rank: int
    size: int
    traffic: Traffic
    control: Control
    implementation: str
    """What carries the messages, in words: an MPI library and its version, or the virtual world."""

    def clock(self) -> float:
        """Return seconds: `perf_counter` under MPI, virtual seconds in the virtual world."""

    def charge(self, seconds: float) -> None:
        """Advance virtual time by work done; nothing under MPI, where work takes its own time."""

    def barrier(self) -> None:
        """Return when every rank has entered."""

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x everywhere by the root's."""

    def allreduce(self, x: Vector) -> None:
        """Overwrite x everywhere by the sum over ranks, in the documented order."""

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin the same in the background; x must not be touched before `wait`.

        With `into`, the sum is left there: x keeps its bits and may be changed as soon as this returns, but
        `into` must not be touched before `wait`. Several may be under way, each into a vector of its own.
        """

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Leave the sum over ranks, in the documented order, in the root's x; elsewhere x is scratch after."""

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x; it may be read, not written, before `wait`."""

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector; blocks. `source` may be ANY."""

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive; `into` must not be touched before `wait`."""

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the communicator of the ranks that gave the same color, ordered by key."""

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's `initial`; collective."""

    def counter(self) -> Counter:
        """Return a counter at 0, kept by rank 0; collective."""
