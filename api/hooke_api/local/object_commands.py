"""The command `hooke objects`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hooke_api.local.commands import HomeOption

if TYPE_CHECKING:
    from hooke_api.models import CompactedRun
    from hooke_api.storage.database import Database


def objects(
    home: HomeOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="In a folder: look at names and sizes alone, read nothing.")
    ] = False,
    expand: Annotated[
        bool, typer.Option("--expand", help="Move all steps back to the database; stop the API first.")
    ] = False,
) -> None:
    """Check the objects with the steps of compacted runs, or move the steps back to the database."""
    from hooke.errors import ArgumentError

    from hooke_api.base.read_settings import read_settings
    from hooke_api.storage.database import Database
    from hooke_api.storage.stores import store_of

    settings = read_settings(home=home or Path.home() / ".hooke")
    own = settings.home / "hooke.db"
    if not settings.database_url and not own.is_file():
        raise ArgumentError(f"there is no database {own}: --home names the folder of the instance")
    database = Database(settings.url, objects=store_of(settings))
    try:
        if database.pending(settings.migrations) is not None:
            raise ArgumentError(
                "the tables of the database are not those of this version: start the API once, which migrates them"
            )
        known = _known(database)
        if expand:
            _expand(database, known)
        elif not _check(database, known, quick):
            raise typer.Exit(1)
    finally:
        database.close()


def _known(database: Database) -> list[CompactedRun]:
    from sqlalchemy import select

    from hooke_api.models import CompactedRun

    with database.read() as session:
        return list(session.scalars(select(CompactedRun).order_by(CompactedRun.run_id)))


def _check(database: Database, known: list[CompactedRun], quick: bool) -> bool:
    """Print what is wrong with objects, and a summary; return whether nothing is."""
    from hooke.cli.text import size

    from hooke_api.storage import compacting

    faults = 0
    for each in known:
        if why := compacting.check(database, each, quick):
            faults += 1
            print(f"run {each.run_id}, object {each.key}: {why}")
    steps, raw, stored = (sum(getattr(each, name) for each in known) for name in ("steps", "raw", "size"))
    store = database.objects.name if database.objects is not None else ""
    print(f"{len(known):,} objects in {store}: {steps:,} steps, {size(raw)} as rows, {size(stored)} as objects")
    if faults:
        print(f"{faults:,} of them are missing or damaged: restore them from a backup under the same names")
    return not faults


def _expand(database: Database, known: list[CompactedRun]) -> None:
    from datetime import timedelta

    from hooke_api.storage import compacting

    for each in known:
        compacting.expand(database, each.run_id)
    while compacting.sweep(database, timedelta(0)):
        pass
    print(f"The steps of {len(known):,} runs are in the database again.")
