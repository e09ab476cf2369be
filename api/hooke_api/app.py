"""The application: `create_app(settings)` puts the parts together and does nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec

from fastapi import FastAPI

from hooke_api import errors, health, log, website
from hooke_api.bus import Bus
from hooke_api.cursors import Cursors
from hooke_api.database import Database
from hooke_api.openapi import document
from hooke_api.scheduler import Scheduler
from hooke_api.schema import ProblemDetails
from hooke_api.security import API, Gate, Sessions
from hooke_api.settings import Settings

ROOMS = (
    "experiments.endpoints",
    "runs.endpoints",
    "metrics.endpoints",
    "comparisons.endpoints",
    "clusters.endpoints",
    "stream",
    "ingest",
    "agents",
)


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application; `app.state` holds settings, database, bus, and `stopping`, set at its end."""
    settings = settings or Settings()
    app = FastAPI(
        title="Hooke",
        description="A laboratory for distributed training algorithms.",
        version=version("hooke-api"),
        lifespan=_lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": ProblemDetails, "description": "A problem: RFC 9457."}},
    )
    app.state.settings = settings
    app.state.bus = Bus(settings.redis_url)
    app.state.database = Database(settings.url, committed=app.state.bus.ping)
    app.state.cursors = Cursors(settings.token)
    app.state.agents = settings.agents  # made now, if it was absent: an agent may be waiting for the file
    app.state.stopping = asyncio.Event()
    app.state.sessions = Sessions(settings)
    errors.install(app)
    for room in ROOMS:
        if find_spec(f"hooke_api.{room}"):
            app.include_router(import_module(f"hooke_api.{room}").router, prefix=API)
    app.include_router(health.router, prefix=API)
    app.include_router(health.router, include_in_schema=False)
    website.install(app, settings)
    app.add_middleware(Gate, settings=settings, sessions=app.state.sessions)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # the way that FastAPI documents
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    log.configure(settings.log_level)
    await asyncio.to_thread(app.state.database.migrate, settings.migrations)
    scheduler = Scheduler(app.state.database, app.state.bus, settings) if settings.schedule else None
    if scheduler:
        scheduler.start()
    try:
        yield
    finally:
        app.state.stopping.set()
        if scheduler:
            await asyncio.to_thread(scheduler.stop)
        app.state.bus.close()
        app.state.database.close()
