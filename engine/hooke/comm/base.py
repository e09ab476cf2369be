"""The communicator interface of algorithms: a subset of the MPI standard, in two worlds.

`Comm` is implemented by MPI (`mpi/`) and by threads in virtual time (`virtual/`), and wrapped by `Timed` (phases
and counters), `Wire` (vectors are sent as bf16 or fp16), `Compressed` (as int8, signs or largest elements) and
`Packed` (one message, one per layer, or buckets). Vectors are flat, contiguous float32 and are changed in place;
gathers and messages also take bytes (uint8), and a message of bytes may be shorter than its receiver's vector.

Summation order. Floating-point addition is not associative, so the order is part of the interface and the
same in both worlds and for every message size (defined in `collectives.py`):

    tree, halving   let q be the largest power of two <= P. First x[r - q] += x[r] for r = q..P-1; then, for
                    distance 1, 2, 4, ... < q, x[r] + x[r ^ distance]. Every reduce and all control words use
                    this order, whatever the collective.
    ring            element i lies in segment s, the s-th of P parts of the vector as it was passed, or cut by
                    the packing: x[s] + x[s + 1], + x[s + 2], ... around the ring. Packing changes the bits.
    library         MPI's own order, which may depend on P, size and machine; not in the virtual world.

Addition commutes, so all ranks obtain the same bits (`library`: if MPI ensures it). With a wire type, both
operands and the sum of every single addition are rounded to it; the order is the same. Compressed vectors are
gathered, decoded and added in the order of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")

ANY = -1
"""Receive from whichever rank sends first."""

Updates = Literal["plain", "atomic", "auto"]
"""Additions to a window: plain loads and stores in shared memory, element-wise atomic additions, or plain
where memory is shared and atomic elsewhere."""


Content = Literal["weights", "averages", "updates"]
"""What the vectors of an operation are, for compressed wires (`wrappers/compressed.py`): weights that the sender
keeps and changes, weights that every rank replaces by their average, or updates (gradients, changes of weights)
that the receiver adds."""


class Vector(Protocol):
    """The part of `torch.Tensor` that algorithms may use; all operations but `clone` are in place."""

    def copy_(self, other: Any, /) -> Any: ...
    def add_(self, other: Any, /, *, alpha: float = 1) -> Any: ...
    def sub_(self, other: Any, /, *, alpha: float = 1) -> Any: ...
    def mul_(self, other: Any, /) -> Any: ...
    def lerp_(self, end: Any, weight: float, /) -> Any: ...
    def addcmul_(self, a: Any, b: Any, /, *, value: float = 1) -> Any: ...
    def addcdiv_(self, a: Any, b: Any, /, *, value: float = 1) -> Any: ...
    def sqrt_(self) -> Any: ...
    def sign_(self) -> Any: ...
    def clamp_(self, low: float, high: float, /) -> Any: ...
    def zero_(self) -> Any: ...
    def sum(self) -> Any: ...
    def isfinite(self) -> Any: ...
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
    hidden: bool = True
    """Whether it is neither an embedding nor the matrix of the output layer, which Muon leaves to AdamW."""


@dataclass(frozen=True)
class Message:
    """The result of a receive: its source."""

    source: int


@dataclass
class Traffic:
    """What one rank has sent so far. `payload`: bytes requested; `wire`: bytes sent by the schedule."""

    payload: int = 0
    wire: int = 0
    messages: int = 0


class Pending(Protocol):
    """A pending transfer."""

    def wait(self) -> None:
        """Return when the vectors involved may be read and written again; at once if called again."""

    @property
    def hidden(self) -> float:
        """Observed seconds during which the transfer overlapped other work of the rank; valid after `wait`."""


class Control(Protocol):
    """Control messages of at most 8 float64, without cost in virtual time and without payload.

    They carry requests to a server, its stop message, and the collective decisions of `Rank.steps`.
    """

    def send(self, words: tuple[float, ...], to: int) -> None:
        """Send words to one rank; never blocks."""

    def recv(self, source: int = ANY) -> tuple[int, tuple[float, ...]]:
        """Return (source, words) of the earliest message from `source`; blocks until there is one."""

    def poll(self, source: int = ANY) -> tuple[int, tuple[float, ...]] | None:
        """Return (source, words) if a message has arrived, else None; never blocks."""

    def ibroadcast(self, words: tuple[float, ...] | None) -> ControlPending:
        """Post one broadcast from rank 0 (others pass None); all ranks post in the same order."""

    def allreduce(self, words: tuple[float, ...]) -> tuple[float, ...]:
        """Return the sums over all ranks, in the documented order; blocks. Ranks that are gone are left out."""

    def watch(self, ranks: Iterable[int]) -> None:
        """From now on raise RankLost in a wait for one of these ranks if its process is known to have ended."""

    def forget(self, rank: int) -> None:
        """Look no longer whether the process of this rank has ended."""

    def without(self, ranks: Iterable[int]) -> None:
        """Leave these ranks, which are gone, out of all-reduces; all others have to."""


class ControlPending(Protocol):
    """A pending broadcast of control words."""

    def wait(self) -> tuple[float, ...]:
        """Return the words of rank 0."""


class Window(Protocol):
    """A vector that every rank of a communicator reads and updates by one-sided operations, without locks.

    `get` may return a vector that others are updating. `accumulate` adds each element atomically and loses no
    update. `add` uses plain loads and stores, so concurrent updates may be lost; it needs memory shared with the
    owner. Used by Hogwild methods. `at`: the numbers of some elements, an ascending int64 array without
    repetition: an operation is about these alone, and its vectors have as many elements; None: all.
    """

    shared: bool
    """Whether plain loads and stores reach the vector: owner and rank share memory."""

    def get(self, into: Vector, at: Any = None) -> None:
        """Copy the vector element by element, without synchronization."""

    def accumulate(self, delta: Vector, at: Any = None) -> None:
        """Add delta, each element atomically (MPI_Accumulate with MPI_SUM, completed)."""

    def add(self, delta: Vector, alpha: float = 1, at: Any = None) -> None:
        """Add alpha * delta by plain loads and stores; raises CommError where memory is not shared."""

    def iexchange(
        self, into: Vector, answer: Callable[[], Vector], alpha: float | None = None, at: Any = None
    ) -> Pending:
        """Begin in the background: `get` into `into`, call `answer`, and add the vector that it returns.

        The addition is `add` with alpha, `accumulate` without; there is no lock between reading and adding. Until
        `wait`, `into` and vectors written by `answer` must not be accessed, and vectors read by it must not be
        written. `answer` must not use a communicator. An exception in it is raised by `wait`; nothing is added.
        """

    def put(self, x: Vector) -> None:
        """Overwrite the vector; only while no other rank accesses it."""

    def close(self) -> None:
        """Free it; collective."""


class Counter(Protocol):
    """A shared counter with atomic fetch-and-add, one-sided. Costs no virtual time."""

    def take(self, amount: int = 1) -> int:
        """Add `amount` atomically; return the previous value."""

    def close(self) -> None:
        """Free it; collective."""


class Comm(Protocol):
    """All ranks of one run, or a part of them."""

    rank: int
    size: int
    traffic: Traffic
    control: Control
    implementation: str
    """Name of the transport: an MPI library with its version, or the virtual world."""

    def clock(self) -> float:
        """Return seconds: `perf_counter` under MPI, virtual seconds in the virtual world."""

    def charge(self, seconds: float) -> None:
        """Advance virtual time by `seconds` of work; no effect under MPI."""

    def pause(self, seconds: float) -> None:
        """Return after `seconds`: sleep under MPI, advance virtual time in the virtual world."""

    def occupy(self, seconds: float) -> None:
        """Let this rank's links carry nothing else for `seconds` of virtual time; no effect under MPI."""

    def alongside(self, work: Callable[[], T]) -> T:
        """Return `work()`. In the virtual world other ranks may run meanwhile, before this one in virtual time.

        `work` must use nothing that another rank writes, and no communicator. What it raises is raised in this
        rank's turn.
        """

    def barrier(self) -> None:
        """Return when every rank has entered."""

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x on every rank with that of the root."""

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum over ranks, in the documented order."""

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background; x must not be accessed before `wait`.

        With `into`, the sum is written there instead: x is unchanged and may be modified as soon as this returns,
        and `into` must not be accessed before `wait`. Several may be pending, each with its own vector.
        """

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Overwrite the root's x with the sum over ranks, in the documented order; elsewhere x is undefined."""

    def gather(self, x: Vector, root: int = 0) -> None:
        """Collect blocks: x has P equal ones, rank r has written block r; the root ends with all of them."""

    def allgather(self, x: Vector) -> None:
        """Collect all blocks (see `gather`) on every rank."""

    def iallgather(self, x: Vector) -> Pending:
        """Begin an all-gather in the background; x must not be accessed before `wait`."""

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x; it may be read, not written, before `wait`."""

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector; blocks. `source` may be ANY."""

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive; `into` must not be accessed before `wait`."""

    def split(self, color: int, key: int = 0) -> Comm:
        """Return the communicator of the ranks that gave the same color, ordered by key."""

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's `initial`; collective."""

    def counter(self) -> Counter:
        """Return a counter at 0, kept by rank 0; collective."""
