"""Charges the time inside communicator operations to the ledger, and records it for a trace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from hooke.comm.arrays import Array
from hooke.comm.base import Comm, Pending, Vector
from hooke.comm.wrappers.touched_sums import Supports
from hooke.comm.wrappers.wrapper import Wrapper
from hooke.trace.phases import Ledger, Phase
from hooke.trace.records import NOBODY


class Owed(Protocol):
    """A background transfer that has been waited for while the train clock stood (see `Charged.standing`)."""

    due: float
    """Train clock at which it would have been complete otherwise; in seconds."""
    again: bool
    """Whether the method waits for it again, at the time at which it would have otherwise."""

    def wait(self) -> None:
        """Return when the train clock has reached `due`."""

    def resume(self, seconds: float) -> None:
        """Let the transfer be under way for `seconds` more: the train clock runs again."""


@dataclass
class Account:
    """State shared by the communicators of one rank, so that hidden time is counted once."""

    counted: float = float("-inf")
    """Time up to which hidden time has been counted."""
    pending: int = 0
    """Number of background transfers that have not been waited for."""
    blocked: list[tuple[float, float]] = field(default_factory=list)
    """Intervals (start, end) in which the rank was in an operation, since the oldest pending transfer began."""
    parts: int = 0
    """Number of communicators created by `split`."""
    phase: Phase = Phase.COMMUNICATE
    """What operations are charged to."""
    supports: Supports | None = None
    """Rows that the rank's vectors consist of, where only those are summed."""
    stood: tuple[float, float] | None = None
    """Time and train clock at which the clock was stopped; None while it runs."""
    worked: Callable[[], float] | None = None
    """In virtual time: returns the seconds that the rank itself has worked in waits for transfers so far."""
    works_until: float | None = None
    """Until when the rank itself works in the current wait; None: it has not been told."""
    owed: list[Owed] = field(default_factory=list)
    """Transfers that were not complete when the clock was stopped."""
    settle: Callable[[], None] | None = None
    """Waits until a device has done what was begun: an operation is not charged for it; None: no device."""

    @property
    def simulated(self) -> bool:
        """Return whether times are virtual: then those of transfers are exact."""
        return self.worked is not None

    def count(self, posted: float, completed: float) -> float:
        """Return the hidden seconds of a completed transfer that have not been counted yet."""
        start, self.counted = max(posted, self.counted), max(completed, self.counted)
        exposed = sum(max(0.0, min(ended, completed) - max(began, start)) for began, ended in self.blocked)
        self.pending -= 1
        self.blocked = [span for span in self.blocked if span[1] > self.counted] if self.pending else []
        return max(0.0, completed - start - exposed)


def changed(x: Vector | None) -> None:
    """Tell PyTorch that an operation may write to a tensor, as its own operations do: they count its versions."""
    if hasattr(x, "_version"):
        sys.modules["torch"].autograd.graph.increment_version(x)


class Charged(Wrapper):
    """Base of `Timed` and of its windows and transfers: the ledger, and the charging of one operation."""

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
        """0: all ranks; else the number of the `split` that created it, whose ranks are the peers."""
        self.residuals: dict[str, Array] = {} if residuals is None else residuals
        """Residuals of error feedback, by a name that is the same in a resumed run."""
        self.ledger = ledger
        self.trace = ledger.trace
        self.account = Account() if account is None else account

    @contextmanager
    def under(self, phase: Phase) -> Iterator[None]:
        """Charge operations in the body, of all parts, to another phase; for example, idle without a request."""
        before, self.account.phase = self.account.phase, phase
        try:
            yield
        finally:
            self.account.phase = before

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Wait in the body for transfers while the train clock stands: charged to evaluate, and owed.

        What a transfer still needs then, it needs again after `owe`: the rank waits for it in the next operation
        on a vector or in a further `wait` for it, unless the train clock has passed that time by then. Evaluations
        therefore neither delay a method nor complete its transfers for it. In virtual time one that the method
        waits for again (`complete`) does not hold up the rank's next operation: its messages take the links of the
        rank, so that the next ones begin after it, as they would have. All ranks must have stopped. Operations on
        vectors that begin in the body are on the clock.
        """
        self.account.stood = self.ledger.clock(), self.ledger.train()
        try:
            with self.under(Phase.EVALUATE):
                self.pay()
                yield
        finally:
            self.account.stood = None

    def complete(self, left: Iterable[Pending] | None) -> None:
        """Wait for transfers that a method leaves under way: it waits for them again when it needs them."""
        waited = set[int]()
        for pending in tuple(left or ()):
            pending.wait()
            waited.add(id(pending))
        for owed in self.account.owed:
            owed.again = owed.again or id(owed) in waited

    def owe(self) -> None:
        """Let transfers that were waited for while the clock stood be under way again: it runs."""
        now = self.ledger.train()
        self.account.owed = [owed for owed in self.account.owed if owed.due > now]
        for owed in self.account.owed:
            owed.resume(owed.due - now)
        later = [owed.due - now for owed in self.account.owed if owed.again]
        if later and self.account.simulated:
            self.inner.occupy(max(later))

    def pay(self, also_later: bool = True) -> None:
        """Wait for the transfers that are owed; `also_later`: for those that the method waits for again, too."""
        for owed in tuple(self.account.owed):
            if also_later or not owed.again:
                owed.wait()

    @contextmanager
    def charged(self, what: str, peer: int = NOBODY, x: Vector | None = None) -> Iterator[None]:
        """Charge the body, one operation, to the phase of operations.

        For the trace: its name (one of `hooke.trace.records.OPERATIONS`), the other rank, and the vector.
        """
        ledger, trace, traffic = self.ledger, self.trace, self.traffic
        if self.account.settle is not None:
            self.account.settle()
        if self.account.owed and x is not None and self.account.phase is Phase.COMMUNICATE:
            self.pay(also_later=not self.account.simulated)
        phase = Phase.COMMUNICATE if self.account.stood and x is not None else self.account.phase
        before = ledger.interrupt(phase)
        entered = ledger.since
        if trace is not None:
            trace.peer = peer
            payload, wire, messages = traffic.payload, traffic.wire, traffic.messages
        try:
            yield
        finally:
            changed(x)
            began = entered
            if self.account.stood is not None:
                phase, began = ledger.phase, self._worked(what, before, entered)
            ledger.resume(before)
            if self.account.pending:  # otherwise no transfer can be hidden
                self.account.blocked.append((entered, ledger.since))
            if trace is not None:
                sent = traffic.payload - payload, traffic.wire - wire, traffic.messages - messages
                trace.operated(what, self.part, before, phase, began, ledger.since, x, sent)

    def works(self, until: float | None) -> None:
        """Charge the current wait, which the clock stands for, to communicate: up to a time, or all of it."""
        if until is None:
            self.ledger.phase = Phase.COMMUNICATE
        elif until > self.ledger.since:
            self.account.works_until = until

    def _worked(self, what: str, before: Phase, entered: float) -> float:
        """End the part of an operation in which the rank itself works, if `works` has told; return its end."""
        ledger, until = self.ledger, self.account.works_until
        self.account.works_until = None
        if until is None:
            return entered
        ledger.seconds[Phase.COMMUNICATE] += until - ledger.since
        ledger.since = until
        if self.trace is not None:
            self.trace.operated(what, self.part, before, Phase.COMMUNICATE, entered, until, None, (0, 0, 0))
        return until

    def found(self, peer: int) -> None:
        """Record the other rank of the current operation in the trace, once it is known."""
        if self.trace is not None:
            self.trace.peer = peer
