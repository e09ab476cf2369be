"""Decodes and validates an ingest request before anything is stored.

The decompressed body is bounded, its values are counted before objects are made (`hooke_api.base.shape`), and
records are validated one after the other, so that a request costs a bounded amount of time and memory, whatever it
holds. A record that cannot be stored is set aside under its number: it must not keep back those after it.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hooke.errors import Fault, JournalError
from hooke.spec.events import Ingest, JournalRecord, LogLine, RankRecords, StateReport, Steps
from hooke.spec.files import FilePart, compressed
from hooke.spec.pointers import pointer
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from hooke_api.base.errors import Invalid, Malformed, TooLarge
from hooke_api.base.shape import INGEST, check_shape
from hooke_api.ingest.records import Item, Refused, RefusedLine, RefusedReport, StepBlock, faults_of, unpacked

MOST_ITEMS = 10_000
"""Maximum number of records and log lines of a request; supervisors send 5,000."""
READ_SECONDS = 10.0
"""Time in which a request must be read; a supervisor sends less at a time after this, s."""
_MOST_FAULTS = 100
_RECORD: TypeAdapter[Any] = TypeAdapter(JournalRecord)
_KINDS = frozenset({"start", "steps", "evaluation", "done", "checkpoint", "dropped"})

T = TypeVar("T")
D = TypeVar("D", LogLine, StateReport)


@dataclass(frozen=True)
class Received:
    """One ingest request; for each rank its records in order of seq."""

    ingest: Ingest
    """Without its records, log lines, reports and parts of files."""
    ranks: list[tuple[int, list[Item]]] = field(default_factory=list)
    logs: list[LogLine | RefusedLine] = field(default_factory=list)
    reports: list[StateReport | RefusedReport] = field(default_factory=list)
    files: list[tuple[FilePart, bytes]] = field(default_factory=list)
    """With their compressed bytes; empty of a part that only asks."""


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


def read(body: bytes, seconds: float = READ_SECONDS) -> Received:
    """Return the request of a JSON body.

    Raises Malformed; TooLarge for too many values, or after `seconds`; Invalid with the faults of
    what has no number of its own and so cannot be set aside.
    """
    check_shape(body, INGEST)
    try:
        document = from_json(body, cache_strings="keys")
    except ValueError as error:
        raise Malformed(f"the body is not JSON: {str(error)[:200]}") from None
    del body
    if not isinstance(document, dict):
        raise Invalid("the request does not fit its schema", [Fault("", "not an object")])
    return _Reader(document, time.monotonic() + seconds).received()


class _Reader:
    """Validates one document, part by part."""

    def __init__(self, document: dict[str, Any], until: float) -> None:
        self._document = document
        self._until = until
        self._items = 0
        self._faults: list[Fault] = []

    def received(self) -> Received:
        """Return the request. Raises Invalid, TooLarge."""
        parts, lines, reports = (self._list(name) for name in ("ranks", "logs", "reports"))
        head = {name: value for name, value in self._document.items() if name not in ("ranks", "logs", "reports")}
        ingest = self._validated(lambda: Ingest.model_validate(head))
        told = [self._report(i, report) for i, report in enumerate(reports)]  # all, each at its place
        ranks = [part for i, found in enumerate(parts) if (part := self._rank(i, found)) is not None]
        logs = [line for i, found in enumerate(lines) if (line := self._line(i, found)) is not None]
        files = [found for i, part in enumerate(ingest.files if ingest else ()) if (found := self._part(i, part))]
        if self._faults or ingest is None:
            raise Invalid("the request does not fit its schema", self._faults[:_MOST_FAULTS])
        return Received(ingest.model_copy(update={"files": []}), ranks, logs, told, files)

    def _part(self, i: int, part: FilePart) -> tuple[FilePart, bytes] | None:
        try:
            return part.model_copy(update={"data": ""}), compressed(part) if part.size else b""
        except JournalError as error:
            self._fault(Fault(pointer("files", i, "data"), str(error)))
            return None

    def _list(self, name: str) -> list[Any]:
        found = self._document.get(name, [])
        if isinstance(found, list):
            return found
        self._fault(Fault(pointer(name), "not a list"))
        return []

    def _fault(self, *found: Fault) -> None:
        self._faults += found
        if len(self._faults) >= _MOST_FAULTS:
            raise Invalid(f"the request has {_MOST_FAULTS} faults, or more", self._faults[:_MOST_FAULTS])

    def _validated(self, make: Callable[[], T], *place: object) -> T | None:
        """Return what `make` returns; note its faults otherwise."""
        try:
            return make()
        except ValidationError as error:
            self._fault(*_told(error, *place))
            return None

    def _count(self) -> None:
        self._items += 1
        if self._items > MOST_ITEMS:
            raise TooLarge(f"the request has more than {MOST_ITEMS} records and lines: send fewer at a time")
        if time.monotonic() > self._until:
            raise TooLarge("the request takes too long to read: send fewer records at a time")

    def _rank(self, i: int, part: Any) -> tuple[int, list[Item]] | None:
        self._count()
        found = part.get("records") if isinstance(part, dict) else None
        records = found if isinstance(found, list) else []
        plain = part | {"records": []} if isinstance(found, list) else part
        head = self._validated(lambda: RankRecords.model_validate(plain), "ranks", i)
        items = [self._record(record, "ranks", i, "records", j) for j, record in enumerate(records)]
        return None if head is None else (head.rank, [item for item in items if item is not None])

    def _record(self, record: Any, *place: object) -> Item | None:
        self._count()
        try:
            found = _RECORD.validate_python(record)
        except ValidationError as error:
            return self._aside(Refused, record, list(_told(error)), *place)
        faults = list(faults_of(found))
        if not faults and isinstance(found, Steps):
            unpacking = unpacked(found)
            if isinstance(unpacking, StepBlock):
                return unpacking
            faults = [unpacking]
        return self._aside(Refused, record, faults, *place) if faults else found

    def _line(self, i: int, line: Any) -> LogLine | RefusedLine | None:
        self._count()
        try:
            found = LogLine.model_validate(line)
        except ValidationError as error:
            return self._aside(RefusedLine, line, list(_told(error)), "logs", i)
        return _dated(found)

    def _aside(
        self, kind: Callable[[int, Fault], T], record: Any, faults: list[Fault], *place: object
    ) -> T | None:
        """Return what takes the place of a record with faults; one without a number cannot be set aside."""
        seq = record.get("seq") if isinstance(record, dict) else None
        if type(seq) is int and 0 <= seq < 2**63:
            return kind(seq, faults[0])
        self._fault(*(Fault(pointer(*place) + fault.pointer, fault.message) for fault in faults[:_MOST_FAULTS]))
        return None

    def _report(self, i: int, report: Any) -> StateReport | RefusedReport:
        self._count()
        try:
            return _dated(StateReport.model_validate(report))
        except ValidationError as error:
            return RefusedReport(i, next(_told(error, "reports", i)))


def _dated(found: D) -> D:
    """Return it with the present time where its own cannot be: a wrong clock must not keep back what it says."""
    if 0 <= found.unix < 2**33:  # also false for NaN
        return found
    return found.model_copy(update={"unix": time.time()})


def _told(error: ValidationError, *place: object) -> Iterator[Fault]:
    if error.error_count() > _MOST_FAULTS:  # a list of them would be large
        yield Fault(pointer(*place), f"has {error.error_count()} faults")
        return
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        # pydantic puts the branch of the union of records before the place in it; it is not part of the document
        inside = item["loc"][1:] if item["loc"] and item["loc"][0] in _KINDS else item["loc"]
        yield Fault(pointer(*place, *inside), item["msg"])
