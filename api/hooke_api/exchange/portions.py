"""Lines that are read from the database at once, and sent as slowly as somebody reads them.

While they are read, they take a connection of the database, of which there are some dozens, and what others write
meanwhile cannot be tidied away. A client may take hours for a bundle, and open as many as it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

IN_MEMORY = 1 << 20
"""Bytes of a portion that are kept in memory; more are in a temporary file."""


def portion(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines after all of them have been read; each ends with a line break, and has no other."""
    with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
        for line in lines:  # `writelines` would keep all of them in memory
            file.write(line)
        file.seek(0)
        yield from file
