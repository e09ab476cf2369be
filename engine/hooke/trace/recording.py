"""What a rank notes for its timeline while it runs: records in one buffer, and a file behind it.

Nothing is allocated in the loop. The buffer is written where that is off the clock (at evaluations), else between
two steps, which the phase `idle` is for, and only if it is full anywhere else. A rank whose records would take
more than its share of LIMIT bytes notes no more of them, and says so in the footer; so does one whose disk is
full.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

from typing_extensions import override

from hooke.trace.phases import PHASES, Ledger, Notes, Phase
from hooke.trace.records import (
    CHANGE,
    IS_CHANGE,
    IS_END,
    IS_MOVE,
    IS_OPERATION,
    IS_TRANSFER,
    MOVE,
    NOBODY,
    OPERATION,
    OPERATIONS,
    SCHEMA,
    TRANSFER,
    Footer,
    Totals,
)

LIMIT = 32 << 20
"""Bytes of records of all ranks of a run: some 100 to 300 bytes per step and rank, and 100 MB as JSON."""
BUFFER = 64 << 10
"""Bytes of records that a rank keeps in memory, at most."""

_ROOM = 4 * TRANSFER.size
"""Bytes that are always free: what two changes of phase, and an operation between them, may note."""
_note_change, _CHANGE_SIZE = CHANGE.pack_into, CHANGE.size
_note_operation, _OPERATION_SIZE = OPERATION.pack_into, OPERATION.size
_OPERATION = {name: i for i, name in enumerate(OPERATIONS)}
_PHASE = {phase: i for i, phase in enumerate(PHASES)}


def clock_of(world: str) -> str:
    """Return a name of the clock that ranks read on this machine, the same for every process that reads it.

    Emulated hosts on one machine have one clock; a container with a time namespace of its own has another.
    """
    if world == "virtual":
        return "virtual"
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/time')}"  # noqa: PTH115 - a link that leads to no path
    except OSError:
        return f"{platform.node()} {os.getpid()}"  # nobody else's, then: aligned at the barrier


class Trace(Notes):
    """The records of one rank. Only the thread of that rank touches it."""

    def __init__(self, path: Path, about: dict[str, Any], limit: int = LIMIT) -> None:
        """`about`: what the header says of the rank; `limit`: bytes of records that this rank may write."""
        self._path = path
        self._about = about
        self._left = limit
        self.buffer = bytearray(max(min(BUFFER, limit), 8 * _ROOM))
        self.used = 0
        """Bytes in the buffer."""
        size = len(self.buffer)
        self.due = dict.fromkeys(PHASES, size - _ROOM) | {Phase.EVALUATE: size // 16, Phase.IDLE: size // 2}
        """More bytes than these are written at the end of a phase: few where that is in place."""
        self._file: FileIO | None = None
        self._ledger: Ledger | None = None
        self._stopped: Totals | None = None
        self._end: Totals | None = None
        self._why = ""
        self.on = False
        """Whether notes are taken: not before the start, nor once the limit is reached."""
        self.peer = NOBODY
        """The other rank of the operation under way; who finds it out later says so here."""

    def begin(self, ledger: Ledger) -> None:
        """Begin where the ledger does; raises OSError where the file cannot be made."""
        self._ledger = ledger
        self._file = self._path.open("wb", buffering=0)
        header = self._about | {
            "schema": SCHEMA,
            "clock": clock_of(self._about["world"]),
            "began": ledger.since,
            "restored": _by_name(ledger.seconds),
            "operations": list(OPERATIONS),
            "phases": [str(phase) for phase in PHASES],
        }
        self._put(json.dumps(header).encode() + b"\n")
        self.on = True

    def changed(self, phase: Phase, now: float) -> None:
        """Note that a phase has ended."""
        if self.on:
            CHANGE.pack_into(self.buffer, self.used, IS_CHANGE, _PHASE[phase], now)
            self.used += CHANGE.size

    def moved(self, seconds: float, source: Phase, to: Phase) -> None:
        """Note that seconds are given to another phase."""
        if self.on:
            self._make_room()
            MOVE.pack_into(self.buffer, self.used, IS_MOVE, _PHASE[source], _PHASE[to], seconds)
            self.used += MOVE.size

    @override
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
        if self.on:
            _note_operation(
                self.buffer, self.used, IS_OPERATION, _PHASE[before], _PHASE[phase], _OPERATION[what], part,
                self.peer, began, ended, 0 if x is None else x.nbytes, *sent,
            )  # fmt: skip
            self.used += _OPERATION_SIZE

    @override
    def transferred(self, what: str, part: int, peer: int, times: tuple[float, ...], x: Any) -> None:
        if self.on:
            self._make_room()
            TRANSFER.pack_into(self.buffer, self.used, IS_TRANSFER, _OPERATION[what], part, peer, *times, x.nbytes)
            self.used += TRANSFER.size

    def write(self) -> None:
        """Write the buffer; take no more notes if that was the last for which there is room."""
        self._write()
        if self._left < len(self.buffer):
            self._stop("the rank's records have reached their limit")

    def finish(self) -> None:
        """Take no more notes: the rank is done, and its ledger says its totals."""
        if self._file is not None:
            self._end = self._totals()
            self.on = False

    def close(self) -> None:
        """Write the rest, and how it ended if the rank has finished: one that failed leaves no footer."""
        if self._file is None:
            return
        self._write()
        if self._end is not None:
            footer = Footer(end=self._end, stopped=self._stopped, why=self._why)
            with contextlib.suppress(OSError):  # then there is no footer, as who reads the file will say
                self._put(bytes([IS_END]) + json.dumps(footer).encode() + b"\n")
        self.on = False
        self._file.close()
        self._file = None

    def _make_room(self) -> None:
        if self.used > len(self.buffer) - _ROOM:
            self._write()

    def _write(self) -> None:
        size, self.used = self.used, 0
        self._left -= size
        try:
            self._put(memoryview(self.buffer)[:size])
        except OSError as error:
            self._stop(f"its file could not be written: {error}")  # training goes on

    def _stop(self, why: str) -> None:
        if self.on:
            self.on, self._why, self._stopped = False, why, self._totals()

    def _put(self, data: Any) -> None:
        assert self._file is not None  # noqa: S101 - `begin` has opened it
        data = memoryview(data)
        while data:  # an unbuffered write may be short; on a full disk the next one says so
            data = data[self._file.write(data) :]

    def _totals(self) -> Totals:
        ledger = self._ledger
        assert ledger is not None  # noqa: S101 - `begin` has set it
        return Totals(
            at=ledger.since, phase=str(ledger.phase), phases=_by_name(ledger.seconds), hidden=ledger.hidden
        )


def _by_name(seconds: dict[Phase, float]) -> dict[str, float]:
    return {str(phase): value for phase, value in seconds.items()}


class TracedLedger(Ledger):
    """A ledger that notes every change in a trace; a `Ledger` knows of none, and pays for none."""

    def __init__(self, clock: Callable[[], float], trace: Trace) -> None:
        super().__init__(clock)
        self.trace, self._notes = trace, trace

    def begin(self, restored: dict[Phase, float] | None = None) -> None:
        """Forget everything, and begin the trace."""
        super().begin(restored)
        if self.trace is not None:  # not yet when the base class begins
            self._notes.begin(self)

    def enter(self, phase: Phase) -> Phase:
        """Charge the time since the last change to the current phase; return that phase, to go back to.

        As `Ledger.enter`, which is repeated here and not called: a step has a dozen of them.
        """
        notes, before = self._notes, self.phase
        if notes.used > notes.due[before]:  # before the clock is read: charged to the phase that ends
            notes.write()
        now = self.clock()
        self.seconds[before] += now - self.since
        self.since, self.phase = now, phase
        if before is not phase and notes.on:
            _note_change(notes.buffer, notes.used, IS_CHANGE, _PHASE[before], now)
            notes.used += _CHANGE_SIZE
        return before

    def interrupt(self, phase: Phase) -> Phase:
        """Change the phase for an operation, whose record will say so."""
        notes = self._notes
        if notes.used > notes.due[self.phase]:
            notes.write()
        return Ledger.enter(self, phase)

    def move(self, seconds: float, source: Phase, to: Phase) -> None:
        """Re-label seconds already charged."""
        super().move(seconds, source, to)
        if self.trace is not None and seconds:
            if self.phase is source:  # what has been charged to it so far is a slice
                self._notes.changed(source, self.since)
            self._notes.moved(seconds, source, to)
