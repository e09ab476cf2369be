"""Where time inside the communicator is charged, and `connect`, which composes the wrappers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hooke.comm.arrays import Array
from hooke.comm.base import Comm, Control, Counter, Message, Pending, Vector, Window
from hooke.comm.packed import Packed
from hooke.comm.staged import Staged, Staging
from hooke.comm.timed_pending import TimedControl, TimedPending
from hooke.comm.timed_window import TimedCounter, TimedWindow
from hooke.comm.wire import Wire
from hooke.comm.wrapper import Wrapper
from hooke.phases import Ledger, Phase
from hooke.spec import Communication
from hooke.trace.records import NOBODY
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
    """What the communicators of one rank know together, so that a moment counts as hidden once."""

    counted: float = float("-inf")
    """Until when hidden time is counted."""
    pending: int = 0
    """Transfers in the background that have not been waited for."""
    blocked: list[tuple[float, float]] = field(default_factory=list)
    """When the rank was in an operation, from until when, since the oldest of them began."""
    parts: int = 0
    """How many communicators `split` has made."""

    def count(self, posted: float, completed: float) -> float:
        """Return the seconds of a transfer, waited for now, that are hidden and not yet counted."""
        start, self.counted = max(posted, self.counted), max(completed, self.counted)
        exposed = sum(max(0.0, min(ended, completed) - max(began, start)) for began, ended in self.blocked)
        self.pending -= 1
        self.blocked = [span for span in self.blocked if span[1] > self.counted] if self.pending else []
        return max(0.0, completed - start - exposed)


class Timed(Wrapper):
    """Charges the time inside every operation to `ledger`: communicate, or what `under` says.

    Traffic is counted by the world itself: payload is what this rank asked to send (|W| for an all-reduce, a
    send, the root of a broadcast and all others of a reduce; nothing for a receive, nor for a rank alone),
    wire and messages are what the schedule made it send. Barriers and control words are not traffic.

    Where the ledger has a trace, every operation and background transfer is noted in it.
    """

    def __init__(
        self,
        inner: Comm,
        ledger: Ledger,
        account: Account | None = None,
        residuals: dict[str, Array] | None = None,
        part: int = 0,
    ) -> None:
        super().__init__(inner)
        self.part = part
        """0: all ranks; else the number of the `split` that made it, and peers are ranks of that part."""
        self.residuals: dict[str, Array] = {} if residuals is None else residuals
        """What error feedback has to make up for, by a name that a restarted run gives it again."""
        self.ledger = ledger
        self.trace = ledger.trace
        self.account = Account() if account is None else account
        self._phase = Phase.COMMUNICATE
        self.control: Control = TimedControl(inner.control, self)

    @contextmanager
    def under(self, phase: Phase) -> Iterator[None]:
        """Charge operations in the body to another phase: waiting without a request is idle, say."""
        before, self._phase = self._phase, phase
        try:
            yield
        finally:
            self._phase = before

    @contextmanager
    def charged(self, what: str, peer: int = NOBODY, x: Vector | None = None) -> Iterator[None]:
        """Charge the body, one operation, to the phase of operations.

        For the trace: its name (one of `hooke.trace.records.OPERATIONS`), the other rank, and the vector.
        """
        ledger, trace, traffic = self.ledger, self.trace, self.traffic
        before = ledger.interrupt(self._phase)
        entered = ledger.since
        if trace is not None:
            trace.peer = peer
            payload, wire, messages = traffic.payload, traffic.wire, traffic.messages
        try:
            yield
        finally:
            ledger.resume(before)
            if self.account.pending:  # else nothing can have been hidden meanwhile
                self.account.blocked.append((entered, ledger.since))
            if trace is not None:
                sent = traffic.payload - payload, traffic.wire - wire, traffic.messages - messages
                trace.operated(what, self.part, before, self._phase, entered, ledger.since, x, sent)

    def found(self, peer: int) -> None:
        """Tell the trace who the other rank of the operation under way turned out to be."""
        if self.trace is not None:
            self.trace.peer = peer

    def barrier(self) -> None:
        """Return when every rank has entered."""
        with self.charged("barrier"):
            self.inner.barrier()

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x everywhere by the root's."""
        with self.charged("broadcast", root, x):
            self.inner.broadcast(x, root)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x everywhere by the sum over ranks."""
        with self.charged("all-reduce", x=x):
            self.inner.allreduce(x)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin the same in the background."""
        with self.charged("begin all-reduce", x=x):
            pending = self.inner.iallreduce(x, into)
        return TimedPending(pending, self, "all-reduce", NOBODY, x)

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Leave the sum over ranks in the root's x."""
        with self.charged("reduce", root, x):
            self.inner.reduce(x, root)

    def send(self, x: Vector, to: int, tag: int = 0) -> None:
        """Send x; return when it may be overwritten."""
        with self.charged("send", to, x):
            self.inner.send(x, to, tag)

    def isend(self, x: Vector, to: int, tag: int = 0) -> Pending:
        """Begin to send x."""
        with self.charged("begin send", to, x):
            pending = self.inner.isend(x, to, tag)
        return TimedPending(pending, self, "send", to, x)

    def recv(self, into: Vector, source: int, tag: int = 0) -> Message:
        """Receive into the vector."""
        with self.charged("receive", source, into):
            message = self.inner.recv(into, source, tag)
            self.found(message.source)
            return message

    def irecv(self, into: Vector, source: int, tag: int = 0) -> Pending:
        """Begin to receive."""
        with self.charged("begin receive", source, into):
            pending = self.inner.irecv(into, source, tag)
        return TimedPending(pending, self, "receive", source, into)

    def split(self, color: int, key: int = 0) -> Timed:
        """Return the part's communicator, charged to the same ledger."""
        with self.charged("split"):
            self.account.parts += 1
            part = self.inner.split(color, key)
            return Timed(part, self.ledger, self.account, self.residuals, self.account.parts)

    def without_feedback(self) -> Timed:
        """Return the same ranks, charged to the same ledger, by a wire that keeps no residual."""
        inner = self.inner.without_feedback() if isinstance(self.inner, Wrapper) else self.inner
        return Timed(inner, self.ledger, self.account, self.residuals, self.part)

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's vector, whose operations are charged."""
        with self.charged("make window", owner, initial):
            return TimedWindow(self.inner.window(initial, owner), self, owner)

    def counter(self) -> Counter:
        """Return a counter at 0, whose operations are charged."""
        with self.charged("make counter"):
            return TimedCounter(self.inner.counter(), self)
