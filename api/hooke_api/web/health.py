"""Health and version endpoints."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import make_url

from hooke_api.base.rates import Rates
from hooke_api.base.schema import View
from hooke_api.base.settings import Settings
from hooke_api.base.workers import Workers
from hooke_api.oidc.single_sign_on import SingleSignOn
from hooke_api.storage.database import DatabaseOf

router = APIRouter(tags=["health"])

LEAST_FILES = 1000
"""Files that the disk of the database must take, else there is a warning."""


class Live(View):
    """The process responds."""

    live: bool
    """Always true."""


class Ready(View):
    """Whether requests can be served, with reasons if not."""

    ready: bool
    """Whether database, Redis and scheduler work."""
    reasons: list[str]
    """What does not work, in words; empty: all does."""
    warnings: list[str]
    """What will keep it from working if nothing is done, such as a disk that fills up."""


class Version(View):
    """The versions of this server."""

    version: str
    """Version of the API."""
    engine: str
    """Version of the engine."""


@router.get("/livez", operation_id="livez")
async def livez() -> Live:
    """Report that the process responds; checks nothing else and waits for nothing: it runs on the event loop."""
    return Live(live=True)


@router.get("/readyz", operation_id="readyz", responses={503: {"model": Ready}})
def readyz(request: Request, response: Response, database: DatabaseOf) -> Ready:
    """Report whether database (with all migrations), Redis and scheduler work; 503 with reasons if not."""
    workers: Workers = request.app.state.workers
    reasons = [*filter(None, (_database(request, database), _redis(request))), *workers.reasons()]
    response.status_code = 503 if reasons else 200
    single: SingleSignOn = request.app.state.single_sign_on
    objects = database.objects.warnings() if database.objects is not None else []
    rates: Rates = request.app.state.door.rates
    warnings = [*disk_warnings(request.app.state.settings), *single.warnings(), *objects, *rates.warnings()]
    return Ready(ready=not reasons, reasons=reasons, warnings=warnings)


def disk_warnings(settings: Settings) -> list[str]:
    """Return sentences if the disk of the database (without SQLite: of the home folder) fills up."""
    file = make_url(settings.url)
    local = file.get_backend_name() == "sqlite" and file.database
    folder = Path(file.database or "").parent if local else settings.home
    try:
        free, found = shutil.disk_usage(folder).free, os.statvfs(folder)
    except OSError:
        return []
    what, told = "the database" if local else "the home folder", []
    if free < settings.disk_warning:
        told.append(
            f"the disk of {what} has {free / 2**30:.2f} GiB free, less than {settings.disk_warning / 2**30:g} "
            "GiB: delete experiments or free space; on a full disk nothing can be stored"
        )
    if found.f_files and found.f_favail < LEAST_FILES:  # without a number: as many as there is space for
        told.append(
            f"the disk of {what} takes {found.f_favail} more files, fewer than {LEAST_FILES}: remove files "
            "(df -i); without inodes nothing can be stored, whatever space is free"
        )
    return told


def _database(request: Request, database: DatabaseOf) -> str | None:
    from sqlalchemy.exc import SQLAlchemyError

    try:
        missing = database.pending(request.app.state.settings.migrations)
    except SQLAlchemyError as error:
        return f"the database does not respond: {type(error).__name__}"
    return f"the database lacks migrations up to {missing}" if missing else None


def _redis(request: Request) -> str | None:
    bus: Any = request.app.state.bus
    why = bus.answers()
    return f"redis does not respond: {why}" if why else None


@router.get("/version", operation_id="version")
def version() -> Version:
    """Return the versions of the API and of the engine."""
    return Version(version=installed("hooke-api"), engine=installed("hooke"))
