"""Decodes and validates an ingest request as a whole before anything is stored."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hooke.errors import Fault
from hooke.spec.events import ABSENT, Checkpointed, Done, Dropped, Evaluation, Ingest, Start, Steps
from hooke.spec.pointers import pointer
from hooke.trace.phases import PHASES
from pydantic import ValidationError

from hooke_api.base.errors import Invalid, Malformed, TooLarge
from hooke_api.storage.blocks import BlockError, Column, decode

MAY_BE_NAN = frozenset({"loss", "staleness"})
"""Step columns that may contain NaN: a server has no loss, and a diverged run a NaN loss."""


@dataclass(frozen=True)
class StepBlock:
    """A journal block of steps, unpacked."""

    seq: int
    n: int
    columns: dict[str, Column]


Item = StepBlock | Start | Evaluation | Done | Checkpointed | Dropped


@dataclass(frozen=True)
class Received:
    """One ingest request; for each rank its records in order of seq."""

    ingest: Ingest
    ranks: list[tuple[int, list[Item]]]


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the decompressed body. Raises TooLarge as soon as it exceeds the limit."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise Malformed(f"Content-Encoding {encoding!r}: send gzip, or no encoding")
    machine = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        data = machine.decompress(body, limit + 1)
    except zlib.error as error:
        raise Malformed(f"the body is not gzip: {error}") from None
    if len(data) > limit:
        raise TooLarge(f"the body inflates to more than {limit} bytes")
    if not machine.eof:
        raise Malformed("the gzip body is cut short")
    return data


def read(body: bytes) -> Received:
    """Return the request of a JSON body. Raises Malformed, or Invalid with all faults."""
    try:
        ingest = Ingest.model_validate_json(body)
    except ValidationError as error:
        faults = [Fault(pointer=_place(item["loc"]), message=item["msg"]) for item in error.errors()[:100]]
        if error.errors()[0]["type"] == "json_invalid":
            raise Malformed("the body is not JSON", faults) from None
        raise Invalid("the request does not fit its schema", faults) from None
    faults = []
    ranks = []
    for i, part in enumerate(ingest.ranks):
        items: list[Item] = []
        for j, record in enumerate(part.records):
            place = ("ranks", i, "records", j)
            if isinstance(record, Steps):
                try:
                    items.append(StepBlock(record.seq, record.n, _checked(decode(record.n, record.columns))))
                except BlockError as error:
                    faults.append(Fault(pointer=pointer(*place, "columns", error.column), message=str(error)))
            else:
                items.append(record)
                faults += _faults(record, place)
        ranks.append((part.rank, items))
    faults += _report_faults(ingest)
    if faults:
        raise Invalid("the records cannot be read", faults[:100])
    return Received(ingest, ranks)


def _place(loc: tuple[int | str, ...]) -> str:
    # pydantic adds the branch of a tagged union after the record's index; it is not part of the document
    kinds = {"start", "steps", "evaluation", "done", "checkpoint", "dropped"}
    return pointer(*(part for k, part in enumerate(loc) if not (part in kinds and isinstance(loc[k - 1], int))))


def _checked(columns: dict[str, Column]) -> dict[str, Column]:
    for name, values in columns.items():
        if values.dtype.kind == "f" and name not in MAY_BE_NAN and not np.isfinite(values).all():
            raise BlockError(name, "holds NaN or infinity; only loss and staleness may")
        if values.dtype.kind == "i" and values.min() < min(0, ABSENT.get(name, 0)):
            raise BlockError(name, "holds a negative number")
    return columns


def _faults(record: Any, place: tuple[object, ...]) -> Iterator[Fault]:
    if isinstance(record, Start):
        values: Mapping[str, float] = {"unix": record.unix, "monotonic": record.monotonic}
    elif isinstance(record, Evaluation):
        values = {"clock": record.clock, "wall": record.wall, "seconds": record.seconds}
    elif isinstance(record, Done):
        values = {"clock": record.clock, "wall": record.wall, "hidden": record.hidden}
        known = {phase.value for phase in PHASES}
        if set(record.phases) != known:
            yield Fault(pointer=pointer(*place, "phases"), message=f"needs exactly: {', '.join(sorted(known))}")
        if record.lost_mass is not None:
            values |= {"lost_mass": record.lost_mass}
        for staleness, exchanges in record.staleness.items():
            if staleness < 0 or exchanges < 0:
                yield Fault(pointer=pointer(*place, "staleness", staleness), message="holds a negative number")
        for name, seconds in record.phases.items():
            if not math.isfinite(seconds):
                yield Fault(pointer=pointer(*place, "phases", name), message="not a finite number")
    else:
        return
    for name, value in values.items():
        if not math.isfinite(value):
            yield Fault(pointer=pointer(*place, name), message="not a finite number")


def _report_faults(ingest: Ingest) -> Iterator[Fault]:
    stamped = [(("reports", i), r.unix) for i, r in enumerate(ingest.reports)]
    stamped += [(("logs", i), line.unix) for i, line in enumerate(ingest.logs)]
    for place, unix in stamped:
        if not 0 <= unix < 2**33:  # also false for NaN
            yield Fault(pointer=pointer(*place, "unix"), message="not seconds since 1970")
