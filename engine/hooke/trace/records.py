"""What the file of a trace holds.

A trace is `trace.<rank>.bin` in the run's folder: a line of JSON (`Header`), records, and behind the last one a
line of JSON again (`Footer`). Times are seconds of the rank's own clock. A record's first byte says what it is:

    CHANGE     a phase has ended: which, and when; it began where the one before ended
    MOVE       seconds already noted belong to another phase: from, to, how many
    OPERATION  a call of the communicator, during which the rank was blocked; it stands for two changes of phase,
               unless it was charged to the phase that was going on
    TRANSFER   what went on in the background, noted when it has been waited for
    END        the footer follows
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TypedDict

SCHEMA = "hooke.trace/2"
NOBODY = -1
"""The peer of an operation that concerns all ranks, or anybody."""

OPERATIONS = (
    "barrier", "broadcast", "all-reduce", "reduce", "send", "receive", "split",
    "begin all-reduce", "begin send", "begin receive", "wait for all-reduce", "wait for send", "wait for receive",
    "make window", "window get", "window accumulate", "window add", "window put", "close window",
    "begin window exchange", "wait for window exchange",
    "make counter", "counter take", "close counter",
    "words send", "words receive", "words broadcast", "words wait", "words all-reduce",
)  # fmt: skip
"""What a rank may be doing inside the communicator; a record holds the position in this list."""

CHANGE = struct.Struct("<BBd")
"""Record, phase, seconds."""
MOVE = struct.Struct("<BBBd")
"""Record, phase, phase, how many seconds."""
OPERATION = struct.Struct("<BBBHHidd4q")
"""Record, phase interrupted, phase charged, operation, part, peer, began, ended, bytes of the vector, payload,
wire, messages."""
TRANSFER = struct.Struct("<BHHiddddddq")
"""Record, operation that began it, part, peer, posted, completed, waited from, waited until, hidden from, hidden
until (except while the rank was in an operation), bytes of the vector."""
IS_CHANGE, IS_MOVE, IS_OPERATION, IS_TRANSFER, IS_END = range(1, 6)


class Header(TypedDict):
    """What the first line says."""

    schema: str
    rank: int
    ranks: int
    role: str
    world: str
    host: str
    clock: str
    """Ranks that say the same read the same clock."""
    began: float
    """Behind the barrier that all ranks leave together."""
    restored: dict[str, float]
    """Seconds per phase that a restart has taken over; not in the records."""
    operations: list[str]
    phases: list[str]


class Totals(TypedDict):
    """What a rank's ledger says at a moment."""

    at: float
    phase: str
    """The one that is going on."""
    phases: dict[str, float]
    hidden: float


class Footer(TypedDict):
    """What the last line says."""

    end: Totals
    stopped: Totals | None
    """Where the records end early; None: they do not."""
    why: str
    """Why they do."""


def file_of(folder: Path, rank: int) -> Path:
    """Return where the records of a rank lie."""
    return folder / f"trace.{rank}.bin"
