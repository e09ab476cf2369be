"""Backup of an instance to one file: database, tokens, objects, files of its home folder and configuration."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version as installed
from pathlib import Path

from hooke.cluster.places import described

from hooke_api.base.settings import Settings
from hooke_api.local import archive, dumps
from hooke_api.local.archive import CONFIGURATION, DATABASE, HOME, BackupError, Manifest, system_errors
from hooke_api.local.dumps import Known
from hooke_api.local.spool import Spool, name_of
from hooke_api.storage.objects import FOLDER, ObjectError
from hooke_api.storage.stores import store_of

PASSING = frozenset({"up.lock", "up.json", "agent.lock"})
"""Files of the home folder that belong to the processes of the moment."""
FOLDERS = ("jobs", "runs")
"""Folders of the home folder with the agent's part of runs: journals, output, checkpoints, tokens."""


@dataclass(frozen=True)
class Chosen:
    """What of an instance goes into a backup, besides database, tokens and the files of its home folder."""

    runs: bool = True
    """The folders FOLDERS."""
    bucket: bool = True
    """Objects that are in a bucket; those in a folder always do."""
    configuration: bool = True
    """The files of HOOKE_CONFIGURATION."""


EVERYTHING = Chosen()


@dataclass(frozen=True)
class BackedUp:
    """A backup that was made."""

    manifest: Manifest
    faults: list[str]
    """Objects that are not in it, because they are missing or damaged, with the reason."""


def back_up(
    settings: Settings, target: Path | None, *, force: bool = False, chosen: Chosen = EVERYTHING
) -> BackedUp:
    """Write a backup of an instance, which may go on working, to a new file; None: to standard output.

    `force`: an existing file is replaced, at the end and at once. Raises BackupError; then no file is there, or
    the former one.
    """
    home = settings.home.expanduser().absolute()
    if target is not None:
        target = target.absolute()
        if target.is_relative_to(home):
            raise BackupError(f"{target} is in the folder that is backed up: name a file elsewhere")
        if not force and target.exists():
            raise BackupError(f"{target} exists: name another file, or replace it with --force")
    place = _spool_place(home, target)
    with _full(place, target), tempfile.TemporaryDirectory(prefix=".hooke-backup-", dir=place) as name:
        spool = Path(name)
        files = Spool(spool)
        # files first: what a marker says is delivered is then in the database, which is copied later
        for path in _files(settings, home, chosen.runs):
            files.copy(name_of(home, path), path)
        for own, secret in _given_secrets(settings):
            files.write(f"{HOME}{own}", f"{secret}\n")
        if chosen.configuration and settings.configuration is not None:
            _add_configuration(files, settings.configuration)
        database = files.place()
        dumped = dumps.dump(settings.url, database)
        # objects last: those that the copied database names stay for hours, whatever happens to their runs
        faults = _add_objects(files, settings, home, dumped.objects if chosen.bucket else [])
        files.keep(DATABASE, database)
        manifest = Manifest(
            version=installed("hooke-api"),
            migration=dumped.revision,
            database=dumps.kind_of(settings.url),
            made_at=datetime.now(UTC),
            parts=list(files.parts.values()),
        )
        if target is None:
            archive.write(sys.stdout.buffer, manifest, files.places)
        else:
            _publish(spool / "archive", target, manifest, files, force)
    return BackedUp(manifest, faults)


def _add_objects(files: Spool, settings: Settings, home: Path, known: list[Known]) -> list[str]:
    """Add the objects of an instance, of a bucket those that are known; return what is wrong with others."""
    if not settings.objects:
        files.hold(_objects(home), home)
        return []
    store = store_of(settings)
    try:
        return files.fetch(store, known)
    except ObjectError as error:
        raise BackupError(f"{error}; without the objects of the bucket: --without-bucket") from error
    finally:
        store.close()


def _add_configuration(files: Spool, folder: Path) -> None:
    """Add the files of the configuration, and what links in it lead to: all of them, or raise BackupError."""

    def refuse(error: OSError) -> None:
        raise error

    try:
        for place, _, names in os.walk(folder.expanduser().absolute(), onerror=refuse):
            for path in (Path(place, name) for name in sorted(names)):
                if path.is_file():
                    name = path.relative_to(folder.expanduser().absolute()).as_posix()
                    files.copy(f"{CONFIGURATION}{name}", path, group=True)
    except OSError as error:
        raise BackupError(
            f"HOOKE_CONFIGURATION={folder}: {described(error)}: a backup holds all of it or, with "
            "--without-configuration, nothing of it"
        ) from error


def _full(place: Path, target: Path | None) -> AbstractContextManager[None]:
    """Raise errors of the system as `system_errors` does, with what has to fit where."""
    fits = f"the backup and an uncompressed copy of its parts have to fit on the disk of {place}"
    if target is None:
        fits = f"the parts have to fit on the disk of {place}, and the backup where standard output leads"
    return system_errors(f"{fits}: free some space there, or name a file on another disk")


def _spool_place(home: Path, target: Path | None) -> Path:
    if target is not None:
        return target.parent
    if not home.is_dir():
        raise BackupError(f"there is no folder {home}: --home names the folder of the instance")
    return home


def _publish(draft: Path, target: Path, manifest: Manifest, files: Spool, force: bool) -> None:
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


def _files(settings: Settings, home: Path, runs: bool) -> Iterator[Path]:
    """Return the files of the home folder that a backup holds; no links, and no names that begin with a dot."""
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
