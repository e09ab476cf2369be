"""Lines of output in compressed blocks.

A run may write millions of lines. Each line as a row took about 200 bytes more than its text; a block of them
takes less than half of the text. The position of a line is the number of its block times LINES plus its place in
the block, so positions grow in the order of arrival and never change.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LINES = 8192
"""Positions of one block: more than it ever has lines."""
MOST_LINES = 4096
"""Lines of a block."""
WHOLE_BYTES = 64 * 1024
"""Bytes of text from which on a block gets no further lines."""


@dataclass(frozen=True)
class StoredLine:
    """One line of output."""

    rank: int
    stream: str
    unix: float
    """When it was read, seconds since 1970."""
    text: str

    @property
    def bytes(self) -> int:
        """Return the size of its text in UTF-8."""
        return len(self.text.encode())


def pack(lines: Iterable[StoredLine]) -> bytes:
    """Return lines as a compressed block."""
    rows = [[line.rank, line.stream, round(line.unix, 3), line.text] for line in lines]
    return zlib.compress(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode(), 6)


def unpack(data: bytes) -> list[StoredLine]:
    """Return the lines of a block."""
    return [StoredLine(*row) for row in json.loads(zlib.decompress(data))]


def parts(lines: Sequence[StoredLine]) -> list[list[StoredLine]]:
    """Return lines in parts of at most MOST_LINES, and of about WHOLE_BYTES."""
    found: list[list[StoredLine]] = []
    size = WHOLE_BYTES
    for line in lines:
        if size >= WHOLE_BYTES or len(found[-1]) >= MOST_LINES:
            found.append([])
            size = 0
        found[-1].append(line)
        size += line.bytes
    return found
