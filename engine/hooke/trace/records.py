"""The format of a trace file.

A trace is `trace.<rank>.bin` in the run's folder: a line of JSON (`Header`), records, and after the last one
another line of JSON (`Footer`). Times are seconds of the rank's own clock. The first byte of a record is its type:

    CHANGE     end of a phase: phase and time; it began at the end of the previous one
    MOVE       seconds already recorded belong to another phase: from, to, seconds
    OPERATION  a call of the communicator, during which the rank was blocked; it implies two changes of phase,
               unless it was charged to the current phase
    TRANSFER   a background transfer, recorded when it has been waited for
    END        the footer follows
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TypedDict

SCHEMA = "hooke.trace/2"
NOBODY = -1
"""The peer of an operation with all ranks, or with any rank."""

OPERATIONS = (
    "barrier", "broadcast", "all-reduce", "reduce", "send", "receive", "split",
    "begin all-reduce", "begin send", "begin receive", "wait for all-reduce", "wait for send", "wait for receive",
    "make window", "window get", "window accumulate", "window add", "window put", "close window",
    "begin window exchange", "wait for window exchange",
    "make counter", "counter take", "close counter",
    "words send", "words receive", "words broadcast", "words wait", "words all-reduce",
    "gather", "all-gather", "begin all-gather", "wait for all-gather",
)  # fmt: skip
"""Operations of the communicator; a record contains the position in this list."""

CHANGE = struct.Struct("<BBd")
"""Record, phase, seconds."""
MOVE = struct.Struct("<BBBd")
"""Record, phase, phase, seconds."""
OPERATION = struct.Struct("<BBBHHidd4q")
"""Record, interrupted phase, charged phase, operation, part, peer, start, end, bytes of the vector, payload,
wire, messages."""
TRANSFER = struct.Struct("<BHHiddddddq")
"""Record, operation that began it, part, peer, posted, completed, waited from, waited until, hidden from, hidden
until (except while the rank was in an operation), bytes of the vector."""
IS_CHANGE, IS_MOVE, IS_OPERATION, IS_TRANSFER, IS_END = range(1, 6)


class Header(TypedDict):
    """The first line."""

    schema: str
    rank: int
    ranks: int
    role: str
    world: str
    host: str
    clock: str
    """Identifier of the clock; ranks with the same value read the same clock."""
    began: float
    """Time after the start barrier."""
    restored: dict[str, float]
    """Seconds per phase taken over from a checkpoint; not in the records."""
    operations: list[str]
    phases: list[str]


class Totals(TypedDict):
    """The state of a rank's ledger at one time."""

    at: float
    phase: str
    """The current phase."""
    phases: dict[str, float]
    hidden: float


class Footer(TypedDict):
    """The last line."""

    end: Totals
    stopped: Totals | None
    """State of the ledger where the records end early; None if they do not."""
    why: str
    """Why the records end early."""


def file_of(folder: Path, rank: int) -> Path:
    """Return the path of a rank's trace."""
    return folder / f"trace.{rank}.bin"
