"""Journal records as they are stored: steps unpacked, and those set aside that cannot be stored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.errors import Fault
from hooke.spec.events import ABSENT, Checkpointed, Done, Dropped, Evaluation, Start, Steps
from hooke.spec.pointers import pointer
from hooke.trace.phases import PHASES
from pydantic import BaseModel

from hooke_api.storage.blocks import BlockError, Column, decode

MAY_BE_NAN = frozenset({"loss", "staleness"})
"""Step columns that may contain NaN: a server has no loss, and a diverged run a NaN loss."""
_INT32 = frozenset({"pid", "worker"})
"""Fields that the tables hold in 32 bits; all others in 64."""


@dataclass(frozen=True)
class StepBlock:
    """A journal block of steps, unpacked."""

    seq: int
    n: int
    columns: dict[str, Column]


@dataclass(frozen=True)
class Refused:
    """A record that cannot be stored: its number is acknowledged, and its first fault is shown."""

    seq: int
    fault: Fault


@dataclass(frozen=True)
class RefusedLine:
    """The same of a log line."""

    seq: int
    fault: Fault


@dataclass(frozen=True)
class RefusedReport:
    """The same of a report of a state, whose number is its place among those of its attempt."""

    seq: int
    fault: Fault


Item = StepBlock | Start | Evaluation | Done | Checkpointed | Dropped | Refused


def unpacked(record: Steps) -> StepBlock | Fault:
    """Return the columns of a block, or its fault."""
    try:
        return StepBlock(record.seq, record.n, _checked(decode(record.n, record.columns)))
    except BlockError as error:
        return Fault(pointer("columns", error.column), str(error))


def _checked(columns: dict[str, Column]) -> dict[str, Column]:
    for name, values in columns.items():
        if values.dtype.kind == "f" and name not in MAY_BE_NAN and not np.isfinite(values).all():
            raise BlockError(name, "holds NaN or infinity; only loss and staleness may")
        if values.dtype.kind == "i" and values.min() < min(0, ABSENT.get(name, 0)):
            raise BlockError(name, "holds a negative number")
    return columns


def faults_of(record: BaseModel) -> Iterator[Fault]:
    """Return the faults of a record of the right form: numbers that cannot be, or that no table holds."""
    yield from _sizes(record)
    values: Mapping[str, float] = {}
    if isinstance(record, Start):
        values = {"unix": record.unix, "monotonic": record.monotonic}
    elif isinstance(record, Evaluation):
        values = {"clock": record.clock, "wall": record.wall, "seconds": record.seconds}
    elif isinstance(record, Done):
        values = {"clock": record.clock, "wall": record.wall, "hidden": record.hidden}
        if record.lost_mass is not None:
            values = {**values, "lost_mass": record.lost_mass}
        yield from _faults_of_done(record)
    for name, value in values.items():
        if not math.isfinite(value):
            yield Fault(pointer(name), "not a finite number")


def _faults_of_done(record: Done) -> Iterator[Fault]:
    known = {phase.value for phase in PHASES}
    if set(record.phases) != known:
        yield Fault(pointer("phases"), f"needs exactly: {', '.join(sorted(known))}")
    for staleness, exchanges in record.staleness.items():
        if staleness < 0 or exchanges < 0:
            yield Fault(pointer("staleness", staleness), "holds a negative number")
    for name, seconds in record.phases.items():
        if not math.isfinite(seconds):
            yield Fault(pointer("phases", name), "not a finite number")


def _sizes(record: BaseModel) -> Iterator[Fault]:
    fields: dict[str, Any] = dict(record)
    for name, value in fields.items():
        most = 2**31 if name in _INT32 else 2**63
        if isinstance(value, int) and not -most <= value < most:
            yield Fault(pointer(name), "the number is too large")
