"""Back-up of an instance to one file: its database, its tokens, objects, and the files of its home folder."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version as installed
from pathlib import Path

from pydantic import ValidationError

from hooke_api.base.settings import Settings
from hooke_api.local import archive, dumps
from hooke_api.local.archive import DATABASE, HOME, BackupError, Manifest, Part, system_errors
from hooke_api.storage.objects import FOLDER

PASSING = frozenset({"up.lock", "up.json", "agent.lock"})
"""Files of the home folder that belong to the processes of the moment."""
FOLDERS = ("jobs", "runs")
"""Folders of the home folder with the agent's part of runs: journals, output, checkpoints, tokens."""


def back_up(settings: Settings, target: Path | None, *, force: bool = False, runs: bool = True) -> Manifest:
    """Write a back-up of an instance, which may go on working, to a new file; None: to standard output.

    `force`: an existing file is replaced, at the end and at once. `runs`: with the folders FOLDERS. Raises
    BackupError; then no file is there, or the former one.
    """
    home = settings.home.expanduser().absolute()
    if target is not None:
        target = target.absolute()
        if target.is_relative_to(home):
            raise BackupError(f"{target} is in the folder that is backed up: name a file elsewhere")
        if not force and target.exists():
            raise BackupError(f"{target} exists: name another file, or replace it with --force")
    place = _spool_place(home, target)
    with system_errors(), tempfile.TemporaryDirectory(prefix=".hooke-backup-", dir=place) as name:
        spool = Path(name)
        files = _Spool(spool)
        # files first: what a marker says is delivered is then in the database, which is copied later
        for path in _files(settings, home, runs):
            files.copy(_name(home, path), path)
        for own, secret in _given_secrets(settings):
            files.write(f"{HOME}{own}", f"{secret}\n")
        database = files.place()
        revision = dumps.dump(settings.url, database)
        # objects last: those that the copied database names stay for hours, whatever happens to their runs
        files.hold(_objects(home), home)
        files.keep(DATABASE, database)
        manifest = Manifest(
            version=installed("hooke-api"),
            migration=revision,
            database=dumps.kind_of(settings.url),
            made_at=datetime.now(UTC),
            parts=list(files.parts.values()),
        )
        if target is None:
            archive.write(sys.stdout.buffer, manifest, files.places)
        else:
            _publish(spool / "archive", target, manifest, files, force)
    return manifest


def _spool_place(home: Path, target: Path | None) -> Path:
    if target is not None:
        return target.parent
    if not home.is_dir():
        raise BackupError(f"there is no folder {home}: --home names the folder of the instance")
    return home


def _publish(draft: Path, target: Path, manifest: Manifest, files: _Spool, force: bool) -> None:
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        archive.write(file, manifest, files.places)
        file.flush()
        os.fsync(file.fileno())
    if force:
        draft.replace(target)
    else:
        try:
            os.link(draft, target)  # fails, unlike rename, if there is one now
        except FileExistsError:
            raise BackupError(f"{target} exists now: name another file, or replace it with --force") from None
        except OSError:  # a file system without links
            draft.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class _Spool:
    """Copies of the parts as they are at one moment: files of runs grow and go while they are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0
        self.parts: dict[str, Part] = {}
        self.places: dict[str, Path] = {}

    def place(self) -> Path:
        """Return where the content of a part may be written."""
        self._made += 1
        return self._folder / f"part-{self._made}"

    def copy(self, name: str, path: Path) -> None:
        """Add a copy of a file; one that has gone meanwhile is left out. Raises BackupError for an odd name."""
        place = self.place()
        try:
            with path.open("rb") as source, place.open("wb") as target:
                mode = stat.S_IMODE(os.fstat(source.fileno()).st_mode) & 0o777
                size, digest = archive.copied(source, target)
        except FileNotFoundError:
            return
        try:
            self.parts[name] = Part(name=name, bytes=size, sha256=digest, mode=mode)
        except ValidationError:
            raise BackupError(f"{str(path)!r} cannot be the name of a file in a back-up: rename it") from None
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
                self.copy(_name(home, path), path)
            else:
                held.append((path, place))
        for path, place in held:
            self.keep(_name(home, path), place)

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


def _files(settings: Settings, home: Path, runs: bool) -> Iterator[Path]:
    """Return the files of the home folder that a back-up holds; no links, and no names that begin with a dot."""
    own: set[str] = set()
    if dumps.kind_of(settings.url) == "sqlite":
        own = {f"{dumps.sqlite_file(settings.url).name}{end}" for end in ("", "-wal", "-shm", "-journal")}
    for path in sorted(home.iterdir()) if home.is_dir() else ():
        if path.name in PASSING or path.name in own or path.name.startswith("."):
            continue
        if path.is_file() and not path.is_symlink():
            yield path
        elif runs and path.name in FOLDERS and path.is_dir():
            yield from _below(path)


def _name(home: Path, path: Path) -> str:
    return f"{HOME}{path.relative_to(home).as_posix()}"


def _objects(home: Path) -> Iterator[Path]:
    """Return the objects in the home folder, without what is being written."""
    for path in _below(home / FOLDER):
        if not path.name.startswith("."):
            yield path


def _below(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place, name)
            if stat.S_ISREG(_mode(path)):
                yield path


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return 0


def _given_secrets(settings: Settings) -> Iterator[tuple[str, str]]:
    """Return the tokens that the server takes from elsewhere than the home folder, with their names there."""
    if settings.start_token or settings.token_file:
        yield "token", settings.token
    if settings.agent_token or settings.agent_token_file:
        yield "agent-token", settings.agents
