"""The journal of one rank: append-only JSON Lines, authoritative until the API has acknowledged it.

`JournalWriter` collects steps in preallocated columns and writes a block every BLOCK_SECONDS or BLOCK_STEPS;
other records are written at once. `read_new` follows a file that is still being written.
"""

from __future__ import annotations

import base64
import binascii
import errno
import math
import os
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import TypeAdapter, ValidationError

from hooke.errors import JournalError
from hooke.spec.events import ABSENT, STEP_COLUMNS, JournalRecord, Record, Steps

EVERY_RANK_WRITES = 32
"""Maximum number of workers for which every rank writes steps.

Above, only rank 0, the last worker and the server.
"""
BLOCK_SECONDS = 0.25
BLOCK_STEPS = 512
PORTION = 1 << 20
"""Bytes of a journal that are read at a time."""
LONGEST_LINE = 64 << 20
"""Bytes of one record: more is damage. A file with a hole may claim any size, and to read it takes the memory."""
BULK = '{"kind":"steps"'
"""Beginning of the lines with steps, which are nearly all of a journal."""

_NO_JOURNAL = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.ENOTDIR})
"""Errors of a file that is missing, closed, or replaced by users' code, as by a link to itself or a socket."""
_RECORD: TypeAdapter[Any] = TypeAdapter(JournalRecord)
_CODES = {"<i8": "q", "<f8": "d", "<f4": "f", "<i4": "i"}


def pack(column: str, values: list[float]) -> str:
    """Return base64 of the values in the column's dtype; values beyond the range of float32 become infinite."""
    code = _CODES[STEP_COLUMNS[column]]
    try:
        raw = struct.pack(f"<{len(values)}{code}", *values)
    except OverflowError:  # struct raises, whereas array libraries round to infinity
        raw = struct.pack(f"<{len(values)}{code}", *map(_to_float32, values))
    return base64.b64encode(raw).decode("ascii")


def _to_float32(value: float) -> float:
    try:
        struct.pack("<f", value)
    except OverflowError:
        return math.copysign(math.inf, value)
    return value


def unpack(column: str, text: str) -> list[float]:
    """Return the values of a packed column. Raises JournalError for an unknown column or a wrong size."""
    if column not in STEP_COLUMNS:
        raise JournalError(f"no column is called {column!r}")
    code = _CODES[STEP_COLUMNS[column]]
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise JournalError(f"column {column!r} is not base64: {error}") from None
    size = struct.calcsize(f"<{code}")
    if len(raw) % size:
        raise JournalError(f"column {column!r} holds {len(raw)} bytes, not a multiple of {size}")
    return list(struct.unpack(f"<{len(raw) // size}{code}", raw))


def parse(line: str) -> Any:
    """Return the record on one line. Raises JournalError."""
    try:
        return _RECORD.validate_json(line)
    except ValidationError as error:
        raise JournalError(f"not a journal record: {line[:120]!r} ({error.error_count()} faults)") from None


def _absent(name: str, values: list[float]) -> bool:
    """Return whether all values of the column are the default of an absent one."""
    if name not in ABSENT:
        return False
    return all(map(math.isnan, values)) if math.isnan(ABSENT[name]) else all(v == ABSENT[name] for v in values)


class JournalWriter:
    """Writes one rank's journal, without blocking on readers, the network or fsync."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        last, end = None, 0
        for found, offset in _portions(path):
            last, end = found[-1], offset
        self._file = path.open("ab", buffering=0)
        self._file.truncate(end)  # an incomplete write of a killed predecessor
        self._clock = clock
        self._seq = parse(last).seq + 1 if last is not None else 0
        self._columns: dict[str, list[float]] = {name: [] for name in STEP_COLUMNS}
        self._appends = tuple(values.append for values in self._columns.values())
        self._n = 0
        self._flushed = clock()

    def next_seq(self) -> int:
        """Return the next sequence number."""
        self._seq += 1
        return self._seq - 1

    def step(self, row: tuple[float, ...]) -> None:
        """Add one step: values in the order of STEP_COLUMNS."""
        for append, value in zip(self._appends, row, strict=True):
            append(value)
        self._n += 1
        if self._n >= BLOCK_STEPS or self._clock() - self._flushed >= BLOCK_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write the block collected so far, if any."""
        if self._n:
            columns = {
                name: pack(name, values) for name, values in self._columns.items() if not _absent(name, values)
            }
            n, self._n = self._n, 0
            for values in self._columns.values():
                values.clear()
            self._write(Steps(seq=self.next_seq(), n=n, columns=columns))
        self._flushed = self._clock()

    def record(self, make: Callable[[int], Record]) -> None:
        """Flush, then write `make(seq)` at once."""
        self.flush()
        self._write(make(self.next_seq()))

    def _write(self, record: Record) -> None:
        line = memoryview(record.model_dump_json().encode() + b"\n")
        while line:  # an unbuffered write may be short; on a full disk the next one raises
            line = line[self._file.write(line) :]

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        self._file.close()


def open_plain(path: Path) -> BinaryIO:
    """Open a file that users' code may have replaced, for reading.

    Raises PermissionError unless it is a plain file: a named pipe keeps who opens it waiting forever.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "this is not a plain file", str(path))
    return os.fdopen(descriptor, "rb")


def read_new(path: Path, offset: int, most: int = -1) -> tuple[list[str], int]:
    """Return the complete lines after a byte offset, and the offset after them; an unreadable file has none.

    `most` limits the bytes read (-1: to the end), so that a long backlog fits in memory. Lines end at newline
    bytes only, because JSON text may contain other Unicode line separators.
    """
    try:
        with open_plain(path) as file:
            file.seek(offset)
            data = file.read(most)
    except OSError as error:
        if error.errno not in _NO_JOURNAL:
            raise
        return [], offset
    end = data.rfind(b"\n") + 1
    lines = data[:end].decode(errors="replace").split("\n")[:-1]  # damaged bytes: `parse` rejects the line
    return lines, offset + end


def _portions(path: Path) -> Iterator[tuple[list[str], int]]:
    """Yield the complete lines of a journal, some at a time, and the offset after them. Raises JournalError."""
    offset, most = 0, PORTION
    while True:
        found, end = read_new(path, offset, most)
        if found:
            yield found, end
            offset, most = end, PORTION
        elif _size(path) - offset <= most:
            return
        elif most >= LONGEST_LINE:
            raise JournalError(f"{path.name}: a line of more than {LONGEST_LINE:,} bytes")
        else:
            most *= 2


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # missing, or closed
        return 0


def lines(path: Path) -> Iterator[str]:
    """Yield every complete line of a journal, of which a part is in memory at a time. Raises JournalError."""
    for found, _ in _portions(path):
        yield from found


def records(path: Path) -> Iterator[Any]:
    """Yield every complete record of a journal. Raises JournalError."""
    return map(parse, lines(path))
