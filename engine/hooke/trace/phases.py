"""The phases of a rank: exclusive categories of its wall time."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Protocol


class Phase(StrEnum):
    """The activity of a rank; exactly one at any time."""

    DATA = "data"
    """Selecting a batch and moving it to the device."""
    COMPUTE = "compute"
    """Forward and backward."""
    REBUILD = "rebuild"
    """Building the hash tables of a wide output layer."""
    COMMUNICATE = "communicate"
    """Blocked inside the communicator: the exposed part of every transfer."""
    UPDATE = "update"
    """Vector arithmetic of the algorithm, between its calls."""
    EVALUATE = "evaluate"
    """Scoring the center, or waiting while another rank does: off the clock."""
    IDLE = "idle"
    """A server without a request, a worker that has finished, and the loop's own bookkeeping."""


PHASES: tuple[Phase, ...] = tuple(Phase)
"""Every phase, in the order in which columns and charts show them."""


class Notes(Protocol):
    """Records operations and transfers for a timeline; implemented by `hooke.trace.recording.Trace`."""

    peer: int
    """The other rank of the current operation; set later if it is not known at first."""

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
        """Record a completed operation on x (a tensor or an array), which sent payload, wire bytes and messages.

        It was charged to `phase` and interrupted the phase `before`.
        """

    def transferred(self, what: str, part: int, peer: int, times: tuple[float, ...], x: Any) -> None:
        """Record a background transfer; `times` are the six times of the record, in order."""


class Ledger:
    """Seconds per phase of one rank; `enter` ends one phase and begins the next, so the sum is exact."""

    trace: Notes | None = None
    """Recorder of every change (see `hooke.trace.recording.TracedLedger`); None in a plain ledger."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.begin()

    def begin(self, restored: dict[Phase, float] | None = None, at: float | None = None) -> None:
        """Reset all counts; called on entry to the step loop, so that set-up is not charged to step 0.

        A resumed run continues with the seconds of its checkpoint. `at`: when the clock started, if not now; the
        time since then is idle time.
        """
        self.seconds = restored or dict.fromkeys(PHASES, 0.0)
        self.hidden = 0.0
        self.phase = Phase.UPDATE if at is None else Phase.IDLE
        self.since = self.clock() if at is None else at
        self.began = self.since - sum(self.seconds.values())

    def enter(self, phase: Phase) -> Phase:
        """Charge the time since the last change to the current phase, and change to `phase`; return the former."""
        now = self.clock()
        before = self.phase
        self.seconds[before] += now - self.since
        self.since, self.phase = now, phase
        return before

    interrupt = resume = enter
    """`enter` before and after an operation, whose record in a trace implies both changes."""

    def move(self, seconds: float, source: Phase, to: Phase) -> None:
        """Move seconds already charged to another phase (a wait that was for another rank's evaluation)."""
        self.seconds[source] -= seconds
        self.seconds[to] += seconds

    def leave_stop(self, since: float, seconds: float, worked: float = 0.0) -> None:
        """Leave phase evaluate, entered at `since`: the clock stood for `seconds`, the rest is idle time.

        `worked`: seconds after `since` that were charged to other phases.
        """
        self.enter(Phase.IDLE)
        late = self.since - since - worked - seconds
        if late >= 0:
            self.move(late, Phase.EVALUATE, Phase.IDLE)
        else:  # it was counted as idle although the clock stood already
            self.move(-late, Phase.IDLE, Phase.EVALUATE)

    def wall(self) -> float:
        """Return seconds since `begin`, evaluation included."""
        return self.clock() - self.began

    def train(self) -> float:
        """Return the train clock: wall seconds minus evaluation."""
        self.enter(self.phase)
        return self.since - self.began - self.seconds[Phase.EVALUATE]


def communication_fraction(communicate: float, wall: float, evaluate: float) -> float | None:
    """Return communicate / (wall - evaluate) of one rank; all in seconds.

    None if the denominator is not positive. The communication fraction of a run is the mean over its workers.
    """
    return communicate / (wall - evaluate) if wall > evaluate else None
