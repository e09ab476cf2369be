"""The endpoints of bundles and reports."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from socket import gethostname
from typing import IO, Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import HTMLResponse, StreamingResponse

from hooke_api.base.access import ActorOf
from hooke_api.base.errors import TooLarge, TooSlow, Unavailable
from hooke_api.base.few import Few
from hooke_api.base.names import ProjectName
from hooke_api.base.reach import DEFAULT_NAME
from hooke_api.base.settings import Settings
from hooke_api.exchange.importing import import_bundle
from hooke_api.exchange.report.gathering import gathered
from hooke_api.exchange.report.page import page, policy
from hooke_api.exchange.writing import bundle_of
from hooke_api.experiments.schemas import ExperimentView
from hooke_api.metrics.endpoints import Store
from hooke_api.storage.database import DatabaseOf
from hooke_api.waiting.endpoints import silence_of

router = APIRouter(prefix="/experiments", tags=["experiments"])

EXPORTS = 8
"""Bundles that are sent at a time by a process: each has a temporary file with the steps of a run."""
AT_ONCE = 4
"""Bundles that are received at a time: each is a file of up to `import_limit` bytes."""
HERE = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


class BundleAnswer(StreamingResponse):
    """A bundle in parts."""

    media_type = "application/zip"


@router.get("/{experiment_id}/bundle", operation_id="export_bundle", response_class=BundleAnswer)
def export_bundle(
    experiment_id: str,
    request: Request,
    database: DatabaseOf,
    logs: Annotated[bool, Query(description="Include the output of its runs.")] = False,
    traces: Annotated[bool, Query(description="Include traces of ranks, and samples of the system.")] = False,
) -> BundleAnswer:
    """Return an experiment that has ended as one file, which another Hooke can import; 409 before its end."""
    few: Few = request.app.state.bundles
    parts = few.sent(partial(bundle_of, database, experiment_id, _server(request), logs, traces))
    name = f'attachment; filename="hooke-{experiment_id}.zip"'
    return BundleAnswer(parts, headers={"content-disposition": name})


@router.get("/{experiment_id}/report.html", operation_id="read_report", response_class=HTMLResponse)
def read_report(experiment_id: str, request: Request, database: DatabaseOf, store: Store) -> HTMLResponse:
    """Return an experiment as one HTML document without scripts, which opens without a network and prints well."""
    told = gathered(database, store, experiment_id, silence_of(request))
    name = f'inline; filename="hooke-{experiment_id}.html"'
    headers = {"content-disposition": name, "content-security-policy": f"{policy()}; frame-ancestors 'none'"}
    return HTMLResponse(page(told), headers=headers)


def _server(request: Request) -> str:
    """Return the name of this server: that of its address, or of its machine if only that reaches it."""
    settings: Settings = request.app.state.settings
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    if settings.public_url is not None:
        host = urlsplit(str(settings.public_url)).hostname or host
    return gethostname()[:255] if host in HERE or not host else host[:255]


@router.post(
    "/import",
    operation_id="import_experiment",
    status_code=201,
    responses={200: {"model": ExperimentView, "description": "It had been imported before."}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_experiment(
    request: Request,
    actor: ActorOf,
    database: DatabaseOf,
    response: Response,
    project: Annotated[ProjectName, Query(description="The project that it is put into.")] = DEFAULT_NAME,
) -> ExperimentView:
    """Store the experiment of a bundle, with new ids: all of it, or nothing.

    Its runs stay as they are: none is scheduled, tried again or continued. A bundle of a measurement that was
    imported into the project before is answered with that experiment, and 200.
    """
    with tempfile.TemporaryFile() as file, _among_few(request):
        await _receive(request, file)
        await request.app.state.door.admit_still(request)
        made = await asyncio.to_thread(import_bundle, database, file, actor.name, silence_of(request), project)
    response.status_code = 201 if made.new else 200
    response.headers["location"] = f"/api/v1/experiments/{made.view.id}"
    return made.view


@contextmanager
def _among_few(request: Request) -> Iterator[None]:
    state = request.app.state
    if (count := getattr(state, "imports", 0)) >= AT_ONCE:
        raise Unavailable(f"{count} bundles are being imported: try again later", seconds=10)
    state.imports = count + 1
    try:
        yield
    finally:
        state.imports -= 1


async def _receive(request: Request, file: IO[bytes]) -> None:
    """Write the body to a file. Raises TooLarge and TooSlow beyond the limits of the settings."""
    settings: Settings = request.app.state.settings
    size = 0
    try:
        async with asyncio.timeout(settings.import_seconds):
            async for part in request.stream():
                size += len(part)
                if size > settings.import_limit:
                    raise TooLarge(f"the bundle has more than {settings.import_limit} bytes")
                file.write(part)
        file.flush()
    except TimeoutError:
        raise TooSlow(f"the bundle did not arrive within {settings.import_seconds:g} s") from None
    except OSError as error:
        raise Unavailable(f"the bundle cannot be kept here: {error.strerror}", seconds=60) from None
