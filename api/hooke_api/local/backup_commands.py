"""The commands `hooke backup` and `hooke restore`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from hooke_api.local.commands import HomeOption

if TYPE_CHECKING:
    from hooke_api.base.settings import Settings
    from hooke_api.local.archive import Manifest

STANDARD = Path("-")
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The backup; - for standard output or input.")]


def backup(
    file: FileArgument,
    home: HomeOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    without_runs: Annotated[
        bool,
        typer.Option("--without-runs", help="Leave out journals, output and checkpoints of runs in this folder."),
    ] = False,
    without_bucket: Annotated[
        bool, typer.Option("--without-bucket", help="Leave out objects that are in a bucket (HOOKE_OBJECTS).")
    ] = False,
    without_configuration: Annotated[
        bool, typer.Option("--without-configuration", help="Leave out the files of HOOKE_CONFIGURATION.")
    ] = False,
) -> None:
    """Back up an instance, which may go on working: database, tokens, objects, home folder and configuration."""
    from hooke_api.local.archive import BackupError
    from hooke_api.local.backup import Chosen, back_up

    if file == STANDARD and sys.stdout.isatty():
        raise BackupError("a backup cannot be written to a terminal: name a file, or redirect standard output")
    settings = _settings(home)
    chosen = Chosen(not without_runs, not without_bucket, not without_configuration)
    made = back_up(settings, None if file == STANDARD else file, force=force, chosen=chosen)
    _tell("Backed up", made.manifest)
    if settings.objects and without_bucket:
        print(f"The objects in {settings.objects} are not in it: keep copies of them, too.", file=sys.stderr)
    if files := _of_configuration(made.manifest):
        print(f"It also holds {files} files of {settings.configuration}.", file=sys.stderr)
    for fault in made.faults:
        print(f"An object is not in it, {fault}.", file=sys.stderr)


def restore(
    file: FileArgument,
    home: HomeOption = None,
    configuration: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Restore the configuration alone, into this empty folder."),
    ] = None,
) -> None:
    """Restore a backup into an empty home folder and, with HOOKE_DATABASE_URL, an empty database."""
    from hooke_api.local.archive import BackupError

    settings = _settings(home)
    if file == STANDARD:
        _restore(settings, sys.stdin.buffer, configuration)
        return
    try:
        source = file.open("rb")
    except OSError as error:
        raise BackupError(f"{file}: {error.strerror}") from None
    with source:
        _restore(settings, source, configuration)


def _restore(settings: Settings, source: IO[bytes], configuration: Path | None) -> None:
    from hooke_api.local.restoring import restore, restore_configuration

    if configuration is None:
        found = restore(settings, source)
        _tell("Restored", found)
        if files := _of_configuration(found):
            print(f"Left out: {files} files of the configuration (--configuration FOLDER).", file=sys.stderr)
        return
    made = restore_configuration(settings, source, configuration)
    print(
        f"Restored the configuration in {configuration}, as of {made.made_at:%Y-%m-%d %H:%M} UTC; next, with it: "
        "the database and the home folder, by `hooke restore` without --configuration.",
        file=sys.stderr,
    )


def _settings(home: Path | None) -> Settings:
    from hooke_api.base.read_settings import read_settings

    return read_settings(home=home or Path.home() / ".hooke")


def _of_configuration(manifest: Manifest) -> int:
    """Return the number of files of the configuration in a backup."""
    from hooke_api.local.archive import CONFIGURATION

    return sum(part.name.startswith(CONFIGURATION) for part in manifest.parts)


def _tell(done: str, manifest: Manifest) -> None:
    """Print what was done to standard error, because the backup may be on standard output."""
    from hooke.cli.text import size

    from hooke_api.local.archive import HOME

    total = size(sum(part.bytes for part in manifest.parts))
    of_home = sum(part.name.startswith(HOME) for part in manifest.parts)
    print(
        f"{done} a {manifest.database} database at migration {manifest.migration} and {of_home} files of the home "
        f"folder, {total}, as of {manifest.made_at:%Y-%m-%d %H:%M} UTC.",
        file=sys.stderr,
    )
