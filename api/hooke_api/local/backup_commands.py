"""The commands `hooke backup` and `hooke restore`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hooke_api.local.commands import HomeOption

if TYPE_CHECKING:
    from hooke_api.base.settings import Settings
    from hooke_api.local.archive import Manifest

STANDARD = Path("-")
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The back-up; - for standard output or input.")]


def backup(
    file: FileArgument,
    home: HomeOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    without_runs: Annotated[
        bool,
        typer.Option("--without-runs", help="Leave out journals, output and checkpoints of runs in this folder."),
    ] = False,
) -> None:
    """Back up an instance, which may go on working: database, tokens and home folder, to one file."""
    from hooke_api.local.archive import BackupError
    from hooke_api.local.backup import back_up

    if file == STANDARD and sys.stdout.isatty():
        raise BackupError("a back-up is not for a terminal: name a file, or redirect standard output")
    settings = _settings(home)
    made = back_up(settings, None if file == STANDARD else file, force=force, runs=not without_runs)
    _tell("Backed up", made)
    if settings.objects:
        print(f"The objects in {settings.objects} are not in it: keep copies of them, too.", file=sys.stderr)


def restore(file: FileArgument, home: HomeOption = None) -> None:
    """Restore a back-up into an empty home folder and, with HOOKE_DATABASE_URL, an empty database."""
    from hooke_api.local.archive import BackupError
    from hooke_api.local.restoring import restore as restored

    settings = _settings(home)
    if file == STANDARD:
        _tell("Restored", restored(settings, sys.stdin.buffer))
        return
    try:
        source = file.open("rb")
    except OSError as error:
        raise BackupError(f"{file}: {error.strerror}") from None
    with source:
        _tell("Restored", restored(settings, source))


def _settings(home: Path | None) -> Settings:
    from hooke_api.base.settings import Settings

    return Settings(home=home or Path.home() / ".hooke")


def _tell(done: str, manifest: Manifest) -> None:
    """Print what was done to standard error, because the back-up may be on standard output."""
    from hooke.cli.text import size

    total = size(sum(part.bytes for part in manifest.parts))
    print(
        f"{done} a {manifest.database} database at migration {manifest.migration} and {len(manifest.parts) - 1} "
        f"files of the home folder, {total}, as of {manifest.made_at:%Y-%m-%d %H:%M} UTC.",
        file=sys.stderr,
    )
