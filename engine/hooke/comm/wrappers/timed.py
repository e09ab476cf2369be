"""`Timed`, which charges the time inside the communicator, and `connect`, which composes the wrappers."""

from __future__ import annotations

from hooke.comm.arrays import Array
from hooke.comm.base import Comm, Content, Control, Counter, Message, Pending, Slice, Vector, Window
from hooke.comm.compressors import compressor
from hooke.comm.virtual.communicator import VirtualComm
from hooke.comm.wrappers.charge import Account, Charged, changed
from hooke.comm.wrappers.compressed import Coding, Compressed
from hooke.comm.wrappers.packed import Packed
from hooke.comm.wrappers.staged import Staged, Staging
from hooke.comm.wrappers.timed_pending import TimedControl, TimedPending
from hooke.comm.wrappers.timed_window import TimedCounter, TimedWindow
from hooke.comm.wrappers.touched_sums import Supports, TouchedSums
from hooke.comm.wrappers.wire import Wire
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.spec.communication import Communication
from hooke.trace.phases import Ledger
from hooke.trace.records import NOBODY


def connect(
    comm: Comm,
    communication: Communication,
    layout: tuple[Slice, ...],
    ledger: Ledger,
    staging: Staging | None = None,
    seed: int = 0,
) -> Timed:
    """Return `Timed(Wire(Packed(comm)))`, the communicator of algorithms; wrapped in `Staged` on a device.

    With a compressed wire it is `Timed(Packed(Compressed(comm)))`: layers or buckets are compressed one by one.
    Where only touched rows are summed, `TouchedSums` is around what `Timed` contains.
    `seed` is that of random rounding.

    The collective of `communication` is chosen when the world is created: `MpiComm(collective)`,
    `run_virtual(..., collective)`. `residuals` of the result holds the residuals of error feedback by name; a
    resumed run restores them with `residuals[name] = array`.
    """
    residuals: dict[str, Array] = {}
    wire, inner = communication.wire, comm
    if wire == "int8" or wire == "sign" or wire == "top-k":  # noqa: PLR1714 - mypy narrows only this form
        coding = Coding(compressor(wire, communication.wire_share), communication.error_feedback, seed)
        inner = Compressed(inner, coding, residuals)
    inner = Packed(inner, communication.packing, layout, communication.bucket_bytes)
    if wire == "bf16" or wire == "fp16":  # noqa: PLR1714
        inner = Wire(inner, wire, communication.error_feedback, residuals)
    if staging is not None:
        inner = Staged(inner, staging)
    supports = Supports() if communication.rows == "touched" else None
    if supports is not None:
        inner = TouchedSums(inner, supports, layout, collective=communication.collective)
    worked = comm.worked if isinstance(comm, VirtualComm) else None
    account = Account(supports=supports, worked=worked, settle=None if staging is None else staging.settle)
    return Timed(inner, ledger, account, residuals)


class Timed(Charged):
    """Charges the time inside every operation to `ledger`: to communicate, or to the phase set by `under`.

    Traffic is counted by the world: payload is what this rank requested to send (|W| for an all-reduce, a send,
    the root of a broadcast and the other ranks of a reduce; nothing for a receive or a single rank), wire and
    messages are what the schedule made it send. Barriers and control words are not counted.

    If the ledger has a trace, every operation and background transfer is recorded in it.
    """

    def __init__(
        self,
        inner: Comm,
        ledger: Ledger,
        account: Account | None = None,
        residuals: dict[str, Array] | None = None,
        part: int = 0,
    ) -> None:
        super().__init__(inner, ledger, account, residuals, part)
        self.control: Control = TimedControl(inner.control, self)

    def barrier(self) -> None:
        """Return when every rank has entered."""
        with self.charged("barrier"):
            self.inner.barrier()

    def broadcast(self, x: Vector, root: int = 0) -> None:
        """Overwrite x on every rank with that of the root."""
        with self.charged("broadcast", root, x):
            self.inner.broadcast(x, root)

    def allreduce(self, x: Vector) -> None:
        """Overwrite x on every rank with the sum over ranks."""
        with self.charged("all-reduce", x=x):
            self.inner.allreduce(x)
        if self.account.supports is not None:
            self.account.supports.settle(x)

    def iallreduce(self, x: Vector, into: Vector | None = None) -> Pending:
        """Begin an all-reduce in the background."""
        with self.charged("begin all-reduce", x=x):
            changed(into)
            pending = self.inner.iallreduce(x, into)
        return TimedPending(pending, self, "all-reduce", NOBODY, x)

    def reduce(self, x: Vector, root: int = 0) -> None:
        """Overwrite the root's x with the sum over ranks."""
        with self.charged("reduce", root, x):
            self.inner.reduce(x, root)

    def gather(self, x: Vector, root: int = 0) -> None:
        """Collect the blocks of all ranks on the root."""
        with self.charged("gather", root, x):
            self.inner.gather(x, root)

    def allgather(self, x: Vector) -> None:
        """Collect the blocks of all ranks on every rank."""
        with self.charged("all-gather", x=x):
            self.inner.allgather(x)

    def iallgather(self, x: Vector) -> Pending:
        """Begin an all-gather in the background."""
        with self.charged("begin all-gather", x=x):
            pending = self.inner.iallgather(x)
        return TimedPending(pending, self, "all-gather", NOBODY, x)

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
        """Return a communicator of the same ranks and ledger whose wire type keeps no residual."""
        inner = self.inner.without_feedback() if isinstance(self.inner, Wrapper) else self.inner
        return Timed(inner, self.ledger, self.account, self.residuals, self.part)

    def in_full(self) -> Timed:
        """Return the same ranks, charged to the same ledger, by a wire that rounds nothing."""
        inner = self.inner.in_full() if isinstance(self.inner, Wrapper) else self.inner
        return Timed(inner, self.ledger, self.account, self.residuals, self.part)

    def sending(self, content: Content) -> Timed:
        """Return the same ranks, charged to the same ledger, for vectors of this content."""
        inner = self.inner.sending(content) if isinstance(self.inner, Wrapper) else self.inner
        return Timed(inner, self.ledger, self.account, self.residuals, self.part)

    def window(self, initial: Vector, owner: int = 0) -> Window:
        """Return a window on a copy of the owner's vector, whose operations are charged."""
        with self.charged("make window", owner, initial):
            return TimedWindow(self.inner.window(initial, owner), self, owner)

    def counter(self) -> Counter:
        """Return a counter at 0, whose operations are charged."""
        with self.charged("make counter"):
            return TimedCounter(self.inner.counter(), self)
