"""Offers the files of an attempt to the API, part by part: PART_BYTES in a request, and a request a second.

This keeps what it takes from the ranks of the next run on these cores at about 1% of one core. The state
is the number of bytes that the API has acknowledged, so a supervisor that is started again goes on where the last
one stopped.
"""

from __future__ import annotations

from pathlib import Path

from hooke.spec.files import PART_BYTES, SYSTEM, FilePart, packed
from hooke.spec.journal import open_plain

MOST_PARTS = 100
"""Of a request."""


class FileTrack:
    """One file that only grows, and how much of it the API has stored."""

    def __init__(self, name: str, path: Path, *, asks: bool = False) -> None:
        """`asks`: a predecessor may have delivered some of it, so first ask the API what it has stored."""
        self.name = name
        self._path = path
        self._acknowledged: int | None = None if asks else 0

    def part(self, most: int) -> FilePart | None:
        """Return the next bytes, `most` at most; None if there is nothing new."""
        size = self._size()
        if self._acknowledged is None:
            return packed(self.name, 0, b"") if size else None
        if size <= self._acknowledged:
            return None
        try:
            with open_plain(self._path) as file:
                file.seek(self._acknowledged)
                content = file.read(most)
        except OSError:  # removed meanwhile
            return None
        return packed(self.name, self._acknowledged, content) if content else None

    def confirm(self, stored: int) -> None:
        """Go on after the bytes that the API has stored."""
        self._acknowledged = stored

    @property
    def drained(self) -> bool:
        """Return whether all of it is stored."""
        return self._size() <= (self._acknowledged or 0)

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0


class FileTracks:
    """All files of one attempt."""

    def __init__(self, files: dict[str, Path], *, asks: bool) -> None:
        """`files`: name -> path, in the order in which they are sent."""
        self._tracks = {name: FileTrack(name, path, asks=asks) for name, path in files.items()}

    def parts(self, *, ended: bool, most: int = PART_BYTES) -> list[FilePart]:
        """Return the next parts, PART_BYTES or `most` together; traces are sent after the end only."""
        parts: list[FilePart] = []
        left = min(most, PART_BYTES)
        for name, track in self._tracks.items():
            if left <= 0 or len(parts) == MOST_PARTS:
                break
            if (ended or name == SYSTEM) and (part := track.part(left)) is not None:
                parts.append(part)
                left -= part.size
        return parts

    def apply(self, stored: dict[str, int]) -> None:
        """Apply the acknowledgements of a response."""
        for name, size in stored.items():
            if name in self._tracks:
                self._tracks[name].confirm(size)

    @property
    def drained(self) -> bool:
        """Return whether all files are stored as they are now."""
        return all(track.drained for track in self._tracks.values())
