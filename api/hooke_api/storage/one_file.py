"""The file of an SQLite database: the one that a process has opened, as long as it uses it.

A file that was moved, removed or restored over goes on to be written by the connections that have it open: what is
acknowledged then is gone with the process. New connections would make an empty one in its place.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import URL
from sqlalchemy.exc import OperationalError


class OneFile:
    """Compares the file at a path with the one that was opened first. May be used from several threads."""

    def __init__(self, url: URL) -> None:
        own = url.get_backend_name() == "sqlite" and url.database != ":memory:"
        self._path = Path(url.database) if own and url.database else None
        self._known: tuple[int, int] | None = None
        """Its device and its number there: a file of a snapshot has the same number, on another device."""

    def fault(self) -> str | None:
        """Return why there can be no such file at its path, or None."""
        if self._path is not None and self._path.exists() and not self._path.is_file():
            return f"{self._path} is not a file: the database is to be there; move away what is, and put it back"
        return None

    def opened(self) -> None:
        """Note which file was opened, the first time; raise OperationalError if it is another one now."""
        if self._path is not None and self._known is None:
            self._known = _which(self._path)
        self.check()

    def check(self) -> None:
        """Raise OperationalError, as where the database is away, unless the file is still in its place."""
        if self._path is None or self._known is None:
            return
        try:
            there = _which(self._path) == self._known
        except OSError:
            there = False
        if not there:
            why = "its file was moved, removed or replaced: stop the server, put the file back, and start"
            raise OperationalError(None, None, sqlite3.OperationalError(why))


def _which(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
