"""Where time inside the communicator is charged, and `connect`, which composes the wrappers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hooke.comm.arrays import Array
from hooke.comm.base import ANY, Comm, Control, ControlPending, Counter, Message, Pending, Vector, Window
from hooke.comm.packed import Packed
from hooke.comm.staged import Staged, Staging
from hooke.comm.timed_window import TimedCounter, TimedWindow
from hooke.comm.wire import Wire
from hooke.comm.wrapper import Wrapper
from hooke.phases import Ledger, Phase
from hooke.spec import Communication
from hooke.workload import Slice


def connect(
    comm: Comm,
    communication: Communication,
    layout: tuple[Slice, ...],
    ledger: Ledger,
    staging: Staging | None = None,
) -> Timed:
    """Return `Timed(Wire(Packed(comm)))`: what an algorithm sees of a world; `Staged` around it on a device.

    The collective of `communication` is chosen where the world is made: `MpiComm(collective)`,
    `run_virtual(..., collective)`. `residuals` of the result is what error feedback keeps, by name; a restart
    puts them back with `residuals[name] = array`.
    """
    packed = Packed(comm, communication.packing, layout, communication.bucket_bytes)
    residuals: dict[str, Array] = {}
    inner: Comm = packed
    if communication.wire != "fp32":
        inner = Wire(packed, communication.wire, communication.error_feedback, residuals)
    if staging is not None:
        inner = Staged(inner, staging)
    return Timed(inner, ledger, residuals=residuals)


@dataclass
class Account:
    """Seconds that a rank was blocked, and until when (on its unblocked clock) hidden time is counted."""

    blocked: float = 0.0
    counted: float = float("-inf")


class Timed(Wrapper):
    """Charges the time inside every operation to `ledger`: communicate, or what `under` says.

    Traffic is counted by the world itself: payload is what this rank asked to send (|W| for an all-reduce, a
    send, the root of a broadcast and all others of a reduce; nothing for a receive, nor for a rank alone),
    wire and messages are what the schedule made it send. Barriers and control words are not traffic.
    """

    def __init__(
        self,
        inner: Comm,
        ledger: Ledger,
        account: Account | None = None,
        residuals: dict[str, Array] | None = None,
    ) -> None:
        super().__init__(inner)
        self.residuals: dict[str, Array] = {} if residuals is None else residuals
        """What error feedback has to make up for, by a name that a restarted run gives it again."""
        self.ledger = ledger
        self.account = Account() if account is None else account
        self._phase = Phase.COMMUNICATE
        self.control: Control = _TimedControl(inner.control, self)

    @contextmanager
    def under(self, phase: Phase) -> Iterator[None]:
        """Charge operations in the body to another phase: waiting without a request is idle, say."""
        before, self._phase = self._phase, phase
        try:
            yield
        finally:
            self._phase = before

    @contextmanager
    def charged(self) -> Iterator[None]:
        """Charge the body to the phase of operations."""
        ledger = self.ledger
        before = ledger.enter(self._phase)
        entered = ledger.since
        try:
            yield
        finally:
            ledger.enter(before)
            self.account.blocked += ledger.since - entered

    def unblocked(self) -> float:
        """Return a clock that stands still inside operations: seconds in which something can be hidden."""
        return self.clock() - self.account.blocked

    def barrier(self) -> None:
        """Return when every rank has entered."""
        with self.charged():
            self.inner.barrier()

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x everywhere by the root's."""
        with self.charged():
            self.inner.broadcast(x, root)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x everywhere by the sum over ranks."""
        with self.charged():
            self.inner.allreduce(x)

    def iallreduce(self, x: Vector) -> Pending:
        """Begin the same in the background."""
        with self.charged():
            pending = self.inner.iallreduce(x)
        return TimedPending(pending, self)

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Leave the sum over ranks in the root's x."""
        with self.charged():
            self.inner.reduce(x, root)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""
        with self.charged():
            self.inner.send(x, to, tag)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x."""
        with self.charged():
            pending = self.inner.isend(x, to, tag)
        return TimedPending(pending, self)

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector."""
        with self.charged():
            return self.inner.recv(into, source, tag)

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive."""
        with self.charged():
            pending = self.inner.irecv(into, source, tag)
        return TimedPending(pending, self)

    def split(self, color: int, key: int = 0) -> Timed:
        """Return the part's communicator, charged to the same ledger."""
        with self.charged():
            return Timed(self.inner.split(color, key), self.ledger, self.account, self.residuals)

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's vector, whose operations are charged."""
        with self.charged():
            return TimedWindow(self.inner.window(initial, owner), self.charged)

    def counter(self) -> Counter:
        """Return a counter at 0, whose operations are charged."""
        with self.charged():
            return TimedCounter(self.inner.counter(), self.charged)


class TimedPending:
    """A transfer whose wait is charged, and whose hidden time is added to the ledger.

    A moment counts as hidden once, however many transfers are under way, and never when the rank was blocked
    in another operation meanwhile: so exposed and hidden time together never exceed wall time.
    """

    def __init__(self, inner: Pending, timed: Timed) -> None:
        self._inner = inner
        self._timed = timed
        self._posted = timed.unblocked()
        self.hidden = 0.0
        """Seconds that this transfer has added to the ledger."""
        self._waited = False

    def wait(self) -> None:
        """Return when the transfer is complete."""
        entered = self._timed.unblocked()
        with self._timed.charged():
            self._inner.wait()
        if not self._waited:
            self._waited = True
            self._count(entered)

    def _count(self, entered: float) -> None:
        account = self._timed.account
        start, stop = max(self._posted, account.counted), min(self._posted + self._inner.hidden, entered)
        if stop > start:
            self.hidden = stop - start
            self._timed.ledger.hidden += self.hidden
            account.counted = stop


class _TimedControl:
    """Control words whose waits are charged."""

    def __init__(self, inner: Control, timed: Timed) -> None:
        self._inner = inner
        self._timed = timed

    def send(self, words: tuple[float, ...], to: int) -> None:
        """Send words to one rank; never blocks."""
        with self._timed.charged():
            self._inner.send(words, to)

    def recv(self, source: int = ANY) -> tuple[int, tuple[float, ...]]:
        """Return (source, words) of the earliest message from `source`."""
        with self._timed.charged():
            return self._inner.recv(source)

    def ibroadcast(self, words: tuple[float, ...] | None) -> ControlPending:
        """Post one broadcast from rank 0."""
        with self._timed.charged():
            return _TimedControlPending(self._inner.ibroadcast(words), self._timed)

    def allreduce(self, words: tuple[float, ...]) -> tuple[float, ...]:
        """Return the sums over all ranks."""
        with self._timed.charged():
            return self._inner.allreduce(words)


class _TimedControlPending:
    """A control broadcast whose wait is charged."""

    def __init__(self, inner: ControlPending, timed: Timed) -> None:
        self._inner = inner
        self._timed = timed

    def wait(self) -> tuple[float, ...]:
        """Return the words of rank 0."""
        with self._timed.charged():
            return self._inner.wait()
