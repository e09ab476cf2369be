"""Files of attempts in bundles: the traces of ranks and the samples of the system, in their parts."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from hooke.errors import JournalError
from hooke.spec.files import FilePart, compressed
from sqlalchemy import select

from hooke_api.exchange.manifest import BundleError
from hooke_api.exchange.portions import portion
from hooke_api.exchange.records import RUN, line_of, parsed, run_of
from hooke_api.models import StoredFilePart
from hooke_api.storage.database import Database

MOST_BYTES = 64 << 20
"""Bytes of the files of an attempt, before compression."""
MOST_FILES = 100_000
_FIELDS = {RUN, "attempt", "name", "start", "size", "data"}


def file_lines(database: Database, runs: Mapping[str, int]) -> Iterator[bytes]:
    """Yield the parts of the files of all attempts, as far as they have no gap. `runs`: id -> number."""
    for run, number in runs.items():
        yield from portion(_of_run(database, run, number))


def _of_run(database: Database, run: str, number: int) -> Iterator[bytes]:
    table = StoredFilePart
    order = (table.attempt, table.name, table.first)
    with database.read() as session:
        query = select(table).where(table.run_id == run).order_by(*order)
        ends: dict[tuple[int, str], int] = {}
        for row in session.scalars(query.execution_options(yield_per=8)):
            file = row.attempt, row.name
            if not row.data or row.first != ends.get(file, 0):  # beyond the server's limit
                continue
            ends[file] = row.first + row.size
            told = {RUN: number, "attempt": row.attempt, "name": row.name, "start": row.first}
            yield line_of(told | {"size": row.size, "data": base64.b64encode(row.data).decode()})


class FileRows:
    """Makes rows of the lines: each part is unpacked once, and continues its file, so a reader may unpack it."""

    def __init__(self, runs: Mapping[int, str]) -> None:
        """`runs`: the id of each run here, by number."""
        self._runs = runs
        self._ends: dict[tuple[str, int, str], int] = {}
        self._sizes: dict[tuple[str, int], int] = {}

    def row(self, line: bytes) -> dict[str, Any]:
        """Return the row of a part. Raises BundleError, or ValidationError for a field that is wrong."""
        record = parsed(line)
        if not isinstance(record, dict) or record.keys() != _FIELDS:
            raise BundleError("it is not a part of a file")
        run, attempt = run_of(record.pop(RUN), self._runs), record.pop("attempt")
        if type(attempt) is not int or not 1 <= attempt < 2**31:
            raise BundleError("'attempt' is not the number of an attempt")
        part = FilePart.model_validate(record)
        try:
            data = compressed(part)
        except JournalError as error:
            raise BundleError(str(error)) from None
        self._count((run, attempt), part)
        return {
            "run_id": run,
            "attempt": attempt,
            "name": part.name,
            "first": part.start,
            "size": part.size,
            "data": data,
        }

    def _count(self, of: tuple[str, int], part: FilePart) -> None:
        file = (*of, part.name)
        if not part.size or part.start != self._ends.get(file, 0):
            raise BundleError(f"{part.name!r} does not go on at byte {part.start}")
        self._ends[file] = part.start + part.size
        self._sizes[of] = self._sizes.get(of, 0) + part.size
        if self._sizes[of] > MOST_BYTES or len(self._ends) > MOST_FILES:
            raise BundleError(
                f"the files of an attempt have more than {MOST_BYTES} bytes, or there are more than {MOST_FILES}"
            )
