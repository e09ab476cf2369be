"""Copies of what goes into a backup, as it is at one moment: files of runs grow and go while they are read."""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from hooke_api.local import archive
from hooke_api.local.archive import HOME, BackupError, Part
from hooke_api.local.dumps import Known
from hooke_api.storage.objects import FOLDER, MissingObject, ObjectStore


class Spool:
    """The parts of a backup that is being made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self.parts: dict[str, Part] = {}
        self.places: dict[str, Path] = {}

    def place(self) -> Path:
        """Return where the content of a part may be written."""
        self._made += 1
        return self._folder / f"part-{self._made}"

    def copy(self, name: str, path: Path, *, group: bool = False) -> None:
        """Add a copy of a file, `group`: with the name of its group; one that has gone meanwhile is left out.

        Raises BackupError for an odd name.
        """
        place = self.place()
        try:
            with path.open("rb") as source, place.open("wb") as target:
                about = os.fstat(source.fileno())
                size, digest = archive.copied(source, target)
        except FileNotFoundError:
            return
        mode, owners = stat.S_IMODE(about.st_mode) & 0o777, _group(about.st_gid) if group else None
        try:
            self.parts[name] = Part(name=name, bytes=size, sha256=digest, mode=mode, group=owners)
        except ValidationError:
            raise BackupError(f"{str(path)!r} cannot be the name of a file in a backup: rename it") from None
        self.places[name] = place

    def hold(self, paths: Iterable[Path], home: Path) -> None:
        """Add files that never change, by links where that is possible: at first all links, then checksums."""
        held: list[tuple[Path, Path]] = []
        for path in paths:
            place = self.place()
            try:
                os.link(path, place)
            except FileNotFoundError:
                continue
            except OSError:  # another file system, or one without links
                self.copy(name_of(home, path), path)
            else:
                held.append((path, place))
        for path, place in held:
            self.keep(name_of(home, path), place)

    def fetch(self, store: ObjectStore, known: Iterable[Known]) -> list[str]:
        """Add objects of a store that is no folder; return what is wrong with those that cannot be had.

        Raises ObjectError if the store does not answer.
        """
        faults = []
        for key, size, sha256 in known:
            place = self.place()
            try:
                with store.open(key) as source, place.open("wb") as target:
                    found = archive.copied(source, target)
            except MissingObject:
                faults.append(f"{key}: it is missing")
                continue
            if found != (size, sha256):
                faults.append(f"{key}: it is not what was written")
                continue
            self.keep(f"{HOME}{FOLDER}/{key}", place)
        return faults

    def write(self, name: str, text: str) -> None:
        """Add a text, instead of a file of that name."""
        place = self.place()
        place.write_text(text)
        self.keep(name, place)

    def keep(self, name: str, place: Path) -> None:
        """Add what was written at a `place()`, for its owner only."""
        with place.open("rb") as source:
            size, digest = archive.copied(source, None)
        self.parts[name] = Part(name=name, bytes=size, sha256=digest, mode=0o600)
        self.places[name] = place


def name_of(home: Path, path: Path) -> str:
    """Return the name of the part with a file of the home folder."""
    return f"{HOME}{path.relative_to(home).as_posix()}"


def _group(number: int) -> str | None:
    """Return the name of a group; None: it has none."""
    with suppress(KeyError):
        return grp.getgrgid(number).gr_name
    return None
