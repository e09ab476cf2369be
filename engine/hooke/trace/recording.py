"""Records the timeline of a rank while it runs: a buffer of fixed-size records, and a file.

Nothing is allocated in the loop. The buffer is written to the file off the clock (at evaluations), otherwise
between two steps (phase `idle`), and elsewhere only if it is full. A rank that has used its share of LIMIT bytes,
or whose disk is full, stops recording and notes that in the footer.
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
"""Maximum bytes of records of all ranks of a run: about 100 to 300 bytes per step and rank, 100 MB as JSON."""
DELIVERED_LIMIT = 8 << 20
"""The same for a run whose specification asks for the trace: it is delivered to the API and stored there."""
BUFFER = 64 << 10
"""Maximum bytes of records that a rank keeps in memory."""

_ROOM = 4 * TRANSFER.size
"""Bytes always kept free, for two changes of phase and an operation between them."""
_note_change, _CHANGE_SIZE = CHANGE.pack_into, CHANGE.size
_note_operation, _OPERATION_SIZE = OPERATION.pack_into, OPERATION.size
_OPERATION = {name: i for i, name in enumerate(OPERATIONS)}
_PHASE = {phase: i for i, phase in enumerate(PHASES)}


def clock_of(world: str) -> str:
    """Return an identifier of the clock of this machine, the same for every process that reads it.

    Emulated hosts on one machine share a clock; a container with its own time namespace has a different one.
    """
    if world == "virtual":
        return "virtual"
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/time')}"  # noqa: PTH115 - a link that leads to no path
    except OSError:
        return f"{platform.node()} {os.getpid()}"  # unique: aligned at the barrier


class Trace(Notes):
    """The records of one rank, accessed only by the rank's own thread."""

    def __init__(self, path: Path, about: dict[str, Any], limit: int = LIMIT) -> None:
        """`about`: fields of the header; `limit`: maximum bytes of records of this rank."""
        self._path = path
        self._about = about
        self._left = limit
        self.buffer = bytearray(max(min(BUFFER, limit), 8 * _ROOM))
        self.used = 0
        """Bytes in the buffer."""
        size = len(self.buffer)
        self.due = dict.fromkeys(PHASES, size - _ROOM) | {Phase.EVALUATE: size // 16, Phase.IDLE: size // 2}
        """Fill levels, in bytes, above which the buffer is written at the end of a phase.

        Low where that is cheap.
        """
        self._file: FileIO | None = None
        self._ledger: Ledger | None = None
        self._stopped: Totals | None = None
        self._end: Totals | None = None
        self._why = ""
        self.on = False
        """Whether events are recorded: between the start and the limit."""
        self.peer = NOBODY
        """The other rank of the operation under way; who finds it out later says so here."""

    def begin(self, ledger: Ledger) -> None:
        """Start recording with the ledger. Raises OSError if the file cannot be created."""
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
        """Record the end of a phase."""
        if self.on:
            CHANGE.pack_into(self.buffer, self.used, IS_CHANGE, _PHASE[phase], now)
            self.used += CHANGE.size

    def moved(self, seconds: float, source: Phase, to: Phase) -> None:
        """Record that seconds are moved to another phase."""
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
        """Write the buffer to the file; stop recording if the limit is reached."""
        self._write()
        if self._left < len(self.buffer):
            self._stop("the rank's records have reached their limit")

    def finish(self) -> None:
        """Stop recording at the end of the rank, with the totals of its ledger."""
        if self._file is not None:
            self._end = self._totals()
            self.on = False

    def close(self) -> None:
        """Write the rest of the buffer and, if the rank has finished, the footer; a failed rank writes none."""
        if self._file is None:
            return
        self._write()
        if self._end is not None:
            footer = Footer(end=self._end, stopped=self._stopped, why=self._why)
            with contextlib.suppress(OSError):  # then there is no footer, which the reader reports
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
            self._stop(f"its file could not be written: {error}")  # training continues

    def _stop(self, why: str) -> None:
        if self.on:
            self.on, self._why, self._stopped = False, why, self._totals()

    def _put(self, data: Any) -> None:
        assert self._file is not None  # noqa: S101 - `begin` has opened it
        data = memoryview(data)
        while data:  # an unbuffered write may be short; on a full disk the next one raises
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
    """A ledger that records every change in a trace; a plain `Ledger` has no tracing overhead."""

    def __init__(self, clock: Callable[[], float], trace: Trace) -> None:
        super().__init__(clock)
        self.trace, self._notes = trace, trace

    def begin(self, restored: dict[Phase, float] | None = None, at: float | None = None) -> None:
        """Reset all counts and start the trace."""
        super().begin(restored, at)
        if self.trace is not None:  # not yet set when the constructor of the base class calls this
            self._notes.begin(self)

    def enter(self, phase: Phase) -> Phase:
        """Charge the time since the last change to the current phase, and change to `phase`; return the former.

        Repeats the code of `Ledger.enter` instead of calling it, for speed: a step has a dozen calls.
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
        """Change the phase for an operation, whose own record implies the change."""
        notes = self._notes
        if notes.used > notes.due[self.phase]:
            notes.write()
        return Ledger.enter(self, phase)

    def move(self, seconds: float, source: Phase, to: Phase) -> None:
        """Move seconds already charged to another phase."""
        super().move(seconds, source, to)
        if self.trace is not None and seconds:
            if self.phase is source:  # what has been charged to it so far is a slice
                self._notes.changed(source, self.since)
            self._notes.moved(seconds, source, to)
