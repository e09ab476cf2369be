"""How the time inside one operation of a communicator is charged to the ledger, and noted for a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hooke.comm.arrays import Array
from hooke.comm.base import Comm, Vector
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.trace.phases import Ledger, Phase
from hooke.trace.records import NOBODY


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
    phase: Phase = Phase.COMMUNICATE
    """What operations are charged to."""

    def count(self, posted: float, completed: float) -> float:
        """Return the seconds of a transfer, waited for now, that are hidden and not yet counted."""
        start, self.counted = max(posted, self.counted), max(completed, self.counted)
        exposed = sum(max(0.0, min(ended, completed) - max(began, start)) for began, ended in self.blocked)
        self.pending -= 1
        self.blocked = [span for span in self.blocked if span[1] > self.counted] if self.pending else []
        return max(0.0, completed - start - exposed)


class Charged(Wrapper):
    """What `Timed` and its windows and transfers share: the ledger, and how one operation is charged to it."""

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

    @contextmanager
    def under(self, phase: Phase) -> Iterator[None]:
        """Charge the body's operations, of all parts, to another phase: waiting without a request is idle."""
        before, self.account.phase = self.account.phase, phase
        try:
            yield
        finally:
            self.account.phase = before

    @contextmanager
    def charged(self, what: str, peer: int = NOBODY, x: Vector | None = None) -> Iterator[None]:
        """Charge the body, one operation, to the phase of operations.

        For the trace: its name (one of `hooke.trace.records.OPERATIONS`), the other rank, and the vector.
        """
        ledger, trace, traffic = self.ledger, self.trace, self.traffic
        before = ledger.interrupt(self.account.phase)
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
                trace.operated(what, self.part, before, self.account.phase, entered, ledger.since, x, sent)

    def found(self, peer: int) -> None:
        """Tell the trace who the other rank of the operation under way turned out to be."""
        if self.trace is not None:
            self.trace.peer = peer
