"""Where the wall time of a rank goes: exclusive phases that sum to it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol


class Phase(StrEnum):
    """What a rank is doing; at any moment exactly one."""

    DATA = "data"
    """Picking a batch and moving it to the device."""
    COMPUTE = "compute"
    """Forward and backward."""
    COMMUNICATE = "communicate"
    """Blocked inside the communicator: the exposed part of every transfer."""
    UPDATE = "update"
    """Vector arithmetic of the algorithm, between its calls."""
    EVALUATE = "evaluate"
    """Scoring the center, or waiting while another rank does: off the clock."""
    IDLE = "idle"
    """A server without a request, a worker whose work is done, and the loop's own bookkeeping."""


PHASES: tuple[Phase, ...] = tuple(Phase)
"""Every phase, in the order in which columns and charts show them."""


class Notes(Protocol):
    """What notes operations and transfers for a timeline: `hooke.trace.recording.Trace`."""

    peer: int
    """The other rank of the operation under way; who finds it out later says so here."""

    def operated(
        self,
        what: str,
        part: int,
        before: Phase,
        phase: Phase,
        began: float,
        ended: float,
        x: Any,
        sent: tuple[int, int, int],
    ) -> None:
        """Note the operation that has ended, on x (a tensor or an array): it sent payload, wire bytes, messages.

        It was charged to `phase`, and interrupted `before`.
        """

    def transferred(self, what: str, part: int, peer: int, times: tuple[float, ...], x: Any) -> None:
        """Note a transfer in the background; `times` are the six of its record, in their order."""


class Ledger:
    """Seconds per phase of one rank; `enter` ends one phase and begins the next, so the sum is exact."""

    trace: Notes | None = None
    """Who notes every change (see `hooke.trace.recording.TracedLedger`); a plain ledger has nobody."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.begin()

    def begin(self, restored: dict[Phase, float] | None = None) -> None:
        """Forget everything: called when the step loop is entered, so that set-up is not charged to step 0.

        A restored run goes on from the seconds that its checkpoint had counted.
        """
        self.seconds = restored or dict.fromkeys(PHASES, 0.0)
        self.hidden = 0.0
        self.phase = Phase.UPDATE
        self.since = self.clock()
        self.began = self.since - sum(self.seconds.values())

    def enter(self, phase: Phase) -> Phase:
        """Charge the time since the last change to the current phase; return that phase, to go back to."""
        now = self.clock()
        before = self.phase
        self.seconds[before] += now - self.since
        self.since, self.phase = now, phase
        return before

    interrupt = resume = enter
    """The same before and after an operation, whose record in a trace stands for both changes."""

    def move(self, seconds: float, source: Phase, to: Phase) -> None:
        """Re-label seconds already charged (a wait that turned out to be somebody's evaluation)."""
        self.seconds[source] -= seconds
        self.seconds[to] += seconds

    def wall(self) -> float:
        """Return seconds since `begin`, evaluation included."""
        return self.clock() - self.began

    def train(self) -> float:
        """Return the train clock: wall seconds less evaluation."""
        self.enter(self.phase)
        return self.since - self.began - self.seconds[Phase.EVALUATE]


def communication_fraction(communicate: float, wall: float, evaluate: float) -> float | None:
    """Return which share of its time, evaluation left out, a rank was blocked in communication.

    Seconds in; None where there was no such time. A run's is the mean over its workers.
    """
    return communicate / (wall - evaluate) if wall > evaluate else None
