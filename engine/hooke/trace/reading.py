"""Reads the trace file of one rank: phases, operations and transfers, in seconds of its clock."""

from __future__ import annotations

import bisect
import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from hooke.errors import JournalError
from hooke.trace.phases import PHASES
from hooke.trace.records import (
    CHANGE,
    IS_CHANGE,
    IS_END,
    IS_MOVE,
    IS_OPERATION,
    IS_TRANSFER,
    MOVE,
    OPERATION,
    SCHEMA,
    TRANSFER,
    Footer,
    Header,
)

_LOOKS = 8
"""Slices that are looked at for each record, on average, to move seconds: those of a wait are the last ones."""


@dataclass(slots=True)
class PhaseSlice:
    """One phase from `began` to `ended`."""

    phase: str
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """A call during which the rank was blocked, with the increase of its counters."""

    name: str
    phase: str
    """Phase it was charged to; only operations charged to `communicate` are the method's traffic."""
    part: int
    peer: int
    began: float
    ended: float
    bytes: int
    """Size of the vector in bytes, also for a receive."""
    payload: int
    wire: int
    messages: int


@dataclass(frozen=True, slots=True)
class TracedTransfer:
    """A background transfer."""

    name: str
    part: int
    peer: int
    posted: float
    completed: float
    """Observed completion; not before `waited_until` if the rank had to wait."""
    waited_from: float
    waited_until: float
    hidden: tuple[tuple[float, float], ...]
    """Intervals in which it overlapped other work of the rank; disjoint between transfers."""
    bytes: int


@dataclass
class RankTrace:
    """The trace of one rank."""

    header: Header
    phases: list[PhaseSlice] = field(default_factory=list)
    operations: list[TracedOperation] = field(default_factory=list)
    transfers: list[TracedTransfer] = field(default_factory=list)
    footer: Footer | None = None
    """None: the rank died before it was written."""

    @property
    def ended(self) -> float:
        """Return the time at which its records end."""
        if self.footer is not None:
            return (self.footer["stopped"] or self.footer["end"])["at"]
        last = [s.ended for s in self.phases[-1:]] + [o.ended for o in self.operations[-1:]]
        return max(last, default=self.header["began"])


def read(path: Path) -> RankTrace:
    """Return the trace of a rank. Raises JournalError for a file that is not a trace or is damaged.

    An incomplete last record, of a rank that died, is ignored.
    """
    return parse(path.read_bytes(), str(path))


def parse(data: bytes, name: str) -> RankTrace:
    """Return the trace of a rank from the content of its file; `name`: what errors call it.

    Raises JournalError as `read` does.
    """
    first, _, records = data.partition(b"\n")
    try:
        header = cast(Header, json.loads(first))
        schema = header["schema"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise JournalError(f"{name} is not a trace of a rank: its first line is {first[:60]!r}") from None
    if schema != SCHEMA:
        raise JournalError(f"{name} has the format {schema!r}; this version reads {SCHEMA!r}")
    if lacking := [key for key, right in _HEADER.items() if not right(header.get(key))]:
        raise JournalError(f"{name} is damaged: its first line has no {lacking[0]!r}, or a wrong one")
    found = RankTrace(header)
    try:
        _Reader(found, name).take(records)
    except (IndexError, OverflowError):
        raise JournalError(f"{name} is damaged: a record has a phase or an operation that is not listed") from None
    return found


def _texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


def _time(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(cast(float, value))


_HEADER: dict[str, Callable[[object], bool]] = {
    "rank": lambda value: type(value) is int,
    "role": lambda value: value in ("worker", "server"),
    "world": lambda value: isinstance(value, str),
    "host": lambda value: isinstance(value, str),
    "clock": lambda value: isinstance(value, str),
    "began": _time,
    "operations": _texts,
    "phases": lambda value: _texts(value) and set(cast(list[str], value)) <= {str(phase) for phase in PHASES},
}
"""What the first line must have for the records to be read."""


class _Reader:
    def __init__(self, into: RankTrace, name: str) -> None:
        self._into = into
        self._name = name
        self._names = into.header["operations"]
        self._phases = into.header["phases"]
        self._since = into.header["began"]
        self._looks = 0

    def take(self, data: bytes) -> None:
        """Read all records. Raises JournalError."""
        place = 0
        self._looks = _LOOKS * (len(data) // CHANGE.size + 10_000)
        kinds: dict[int, tuple[struct.Struct, Callable[..., None]]] = {
            IS_CHANGE: (CHANGE, self._change),
            IS_MOVE: (MOVE, self._move),
            IS_OPERATION: (OPERATION, self._operation),
            IS_TRANSFER: (TRANSFER, self._transfer),
        }
        while place < len(data):
            kind = data[place]
            if kind == IS_END:
                self._end(data[place + 1 :])
                return
            if kind not in kinds:
                raise JournalError(f"{self._name} is damaged: no record begins with {kind}, at byte {place}")
            form, take = kinds[kind]
            if place + form.size > len(data):  # truncated
                return
            take(*form.unpack_from(data, place)[1:])
            place += form.size

    def _change(self, phase: int, now: float) -> None:
        if now > self._since:
            self._into.phases.append(PhaseSlice(self._phases[phase], self._since, now))
        self._since = now

    def _move(self, source: int, to: int, seconds: float) -> None:
        """Move the last seconds of a phase to another one.

        The position of an evaluation within a wait is unknown.
        """
        slices, place = self._into.phases, len(self._into.phases) - 1
        while seconds > 0 and place >= 0:
            self._looks -= 1
            if self._looks < 0:  # as many moves of as much time: a search without end
                raise JournalError(f"{self._name} is damaged: it moves more time than it has")
            last = slices[place]
            if last.phase == self._phases[source]:
                cut = max(last.began, last.ended - seconds)
                seconds -= last.ended - cut
                if cut > last.began:
                    slices.insert(place + 1, PhaseSlice(self._phases[to], cut, last.ended))
                    last.ended = cut
                else:
                    last.phase = self._phases[to]
            place -= 1

    def _operation(self, before: int, phase: int, name: int, part: int, peer: int, *rest: float) -> None:
        began, ended, *counts = rest
        if before != phase:
            self._change(before, began)
            self._change(phase, ended)
        size, payload, wire, messages = map(int, counts)
        self._into.operations.append(
            TracedOperation(
                self._names[name], self._phases[phase], part, peer, began, ended, size, payload, wire, messages
            )
        )

    def _transfer(self, name: int, part: int, peer: int, *rest: float) -> None:
        posted, completed, waited_from, waited_until, hidden_from, hidden_until, size = rest
        what = self._names[name].removeprefix("begin ")
        hidden = tuple(self._unblocked(hidden_from, hidden_until))
        self._into.transfers.append(
            TracedTransfer(what, part, peer, posted, completed, waited_from, waited_until, hidden, int(size))
        )

    def _unblocked(self, began: float, ended: float) -> Iterator[tuple[float, float]]:
        """Yield the intervals between two times in which the rank was in no operation."""
        operations = self._into.operations
        place = bisect.bisect_right(operations, began, key=lambda operation: operation.ended)
        while place < len(operations) and operations[place].began < ended:
            if operations[place].began > began:
                yield began, operations[place].began
            began = operations[place].ended
            place += 1
        if ended > began:
            yield began, ended

    def _end(self, text: bytes) -> None:
        try:
            footer = cast(Footer, json.loads(text))
        except (ValueError, RecursionError):  # truncated
            return
        try:
            last = footer["stopped"] or footer["end"]
            whole = _time(last["at"]) and last["phase"] in self._phases and isinstance(footer["why"], str)
        except (KeyError, TypeError):
            whole = False
        if not whole:
            raise JournalError(f"{self._name} is damaged: its last line is not the end of a trace")
        self._into.footer = footer
        if last["at"] > self._since:
            self._into.phases.append(PhaseSlice(last["phase"], self._since, last["at"]))
