"""Restoration of a backup into an empty home folder and an empty database, and of its configuration."""

from __future__ import annotations

import grp
import os
import shutil
import tempfile
from contextlib import suppress
from functools import partial
from importlib.metadata import version as installed
from pathlib import Path
from typing import IO

from alembic.script import ScriptDirectory
from alembic.util import CommandError
from packaging.version import InvalidVersion, Version

from hooke_api.base.settings import Settings
from hooke_api.local import archive, dumps
from hooke_api.local.archive import CONFIGURATION, DATABASE, HOME, BackupError, Manifest, Part, system_errors
from hooke_api.storage.database import alembic_config
from hooke_api.storage.objects import FOLDER, ObjectError
from hooke_api.storage.stores import store_of


def restore(settings: Settings, source: IO[bytes]) -> Manifest:
    """Restore a backup into an empty home folder and an empty database; return its manifest.

    Its objects go where the settings say, into a folder or a bucket. Its configuration is left out. Raises
    BackupError; then home folder and database are as before.
    """
    home = settings.home.expanduser().absolute()
    with system_errors():
        existed = home.exists()
        if existed and next(home.iterdir(), None) is not None:
            raise BackupError(f"{home} is not empty: move it away, or name another folder with --home")
        dumps.check_empty(settings.url)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        staging = Path(tempfile.mkdtemp(prefix=".hooke-restore-", dir=home))
        try:
            manifest = archive.unpack(
                source, partial(_check, settings), staging, lambda part: not _is_configuration(part)
            )
            if settings.objects:
                _put_objects(settings, staging / HOME / FOLDER)
            dumps.load(settings.url, staging / DATABASE)
            files = staging / HOME
            for path in sorted(files.iterdir()) if files.is_dir() else ():
                path.rename(home / path.name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if not existed:
                with suppress(OSError):  # what was restored is in it
                    home.rmdir()
    return manifest


def restore_configuration(settings: Settings, source: IO[bytes], folder: Path) -> Manifest:
    """Restore the configuration of a backup, and nothing else of it, into a folder that is empty or not there.

    Raises BackupError; then the folder is as before.
    """
    folder = folder.expanduser().absolute()
    with system_errors():
        existed = folder.exists()
        if existed and next(folder.iterdir(), None) is not None:
            raise BackupError(f"{folder} is not empty: move its files away, or name another folder")
        folder.mkdir(parents=True, exist_ok=True, mode=0o750)
        staging = Path(tempfile.mkdtemp(prefix=".hooke-restore-", dir=folder))
        try:
            manifest = archive.unpack(source, partial(_check_version, settings), staging, _is_configuration)
            parts = [part for part in manifest.parts if _is_configuration(part)]
            if not parts:
                raise BackupError("the backup holds no configuration: it was made without HOOKE_CONFIGURATION")
            _give_groups(staging, parts, folder)
            for path in sorted((staging / CONFIGURATION).iterdir()):
                path.rename(folder / path.name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            if not existed:
                with suppress(OSError):
                    folder.rmdir()
    return manifest


def _is_configuration(part: Part) -> bool:
    return part.name.startswith(CONFIGURATION)


def _give_groups(staging: Path, parts: list[Part], folder: Path) -> None:
    """Give files the groups that they had, and folders the group and the permissions of the folder of all."""
    about = folder.stat()
    for path in (staging / CONFIGURATION).rglob("*"):
        if path.is_dir():
            os.chown(path, -1, about.st_gid)
            path.chmod(about.st_mode & 0o777)
    for part in parts:
        if part.group is None:
            continue
        try:
            number = grp.getgrnam(part.group).gr_gid
        except KeyError:
            why = f"{part.name} belongs to the group {part.group!r}, which does not exist here: create it first"
            raise BackupError(why) from None
        path = staging / part.name
        if path.stat().st_gid != number:
            os.chown(path, -1, number)


def _put_objects(settings: Settings, folder: Path) -> None:
    """Move objects from a folder to the bucket of an instance; those that it has already are left alone.

    None is removed again after an error: another instance may use the bucket. Raises BackupError.
    """
    store = store_of(settings)
    try:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            key, size = path.relative_to(folder).as_posix(), path.stat().st_size
            there = store.size(key)
            if there is None:
                with path.open("rb") as content:
                    store.put(key, content)
            elif there != size:
                raise BackupError(
                    f"{store.name} has another object {key}: of {there} bytes, in the backup of {size}: "
                    "name another bucket or prefix in HOOKE_OBJECTS"
                )
    except ObjectError as error:
        raise BackupError(str(error)) from error
    finally:
        store.close()
    shutil.rmtree(folder, ignore_errors=True)


def _check(settings: Settings, manifest: Manifest) -> None:
    """Raise BackupError if this installation, or the database that it is to use, is not the right one."""
    _check_version(settings, manifest)
    if DATABASE not in {part.name for part in manifest.parts}:
        raise BackupError("the backup holds no database")
    if manifest.database != dumps.kind_of(settings.url):
        remedy = {
            "postgresql": "set HOOKE_DATABASE_URL to an empty database of PostgreSQL",
            "sqlite": "unset HOOKE_DATABASE_URL",
        }[manifest.database]
        raise BackupError(f"the backup holds a database of {manifest.database}: {remedy}")


def _check_version(settings: Settings, manifest: Manifest) -> None:
    """Raise BackupError if this version does not know the backup."""
    here = installed("hooke-api")
    try:
        newer = Version(manifest.version) > Version(here)
    except InvalidVersion:
        raise BackupError(f"the backup was made by {manifest.version!r}, which is not a version") from None
    scripts = ScriptDirectory.from_config(alembic_config(settings.migrations))
    with suppress(CommandError):
        if not newer and scripts.get_revision(manifest.migration) is not None:
            return
    raise BackupError(
        f"the backup was made by version {manifest.version} with migration {manifest.migration}; this is version "
        f"{here}, which does not know it: install that version or a newer one"
    )
