"""Restoration of a back-up into an empty home folder and an empty database."""

from __future__ import annotations

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
from hooke_api.local.archive import DATABASE, HOME, BackupError, Manifest, system_errors
from hooke_api.storage.database import alembic_config


def restore(settings: Settings, source: IO[bytes]) -> Manifest:
    """Restore a back-up into an empty home folder and an empty database; return its manifest.

    Raises BackupError; then home folder and database are as before.
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
            manifest = archive.unpack(source, partial(_check, settings), staging)
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


def _check(settings: Settings, manifest: Manifest) -> None:
    """Raise BackupError if this installation, or the database that it is to use, is not the right one."""
    here = installed("hooke-api")
    try:
        newer = Version(manifest.version) > Version(here)
    except InvalidVersion:
        raise BackupError(f"the back-up was made by {manifest.version!r}, which is no version") from None
    scripts = ScriptDirectory.from_config(alembic_config(settings.migrations))
    with suppress(CommandError):
        if not newer and scripts.get_revision(manifest.migration) is not None:
            _check_kind(settings, manifest)
            return
    raise BackupError(
        f"the back-up was made by version {manifest.version} with migration {manifest.migration}; this is version "
        f"{here}, which does not know it: install that version or a newer one"
    )


def _check_kind(settings: Settings, manifest: Manifest) -> None:
    if DATABASE not in {part.name for part in manifest.parts}:
        raise BackupError("the back-up holds no database")
    if manifest.database != dumps.kind_of(settings.url):
        remedy = {
            "postgresql": "set HOOKE_DATABASE_URL to an empty database of PostgreSQL",
            "sqlite": "unset HOOKE_DATABASE_URL",
        }[manifest.database]
        raise BackupError(f"the back-up holds a database of {manifest.database}: {remedy}")
