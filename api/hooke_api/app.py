"""The application: `create_app(settings)` assembles the parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version

import structlog
from fastapi import FastAPI, Request

from hooke_api.base import errors, log, memory
from hooke_api.base.bodies import Bodies
from hooke_api.base.caches import Budget
from hooke_api.base.checked import Checks
from hooke_api.base.cursors import Cursors
from hooke_api.base.door import Door
from hooke_api.base.few import Few
from hooke_api.base.gate import Gate
from hooke_api.base.policy import Operations
from hooke_api.base.rates import Rates
from hooke_api.base.schema import ProblemDetails
from hooke_api.base.security import API, PIECE, Sessions
from hooke_api.base.settings import Settings
from hooke_api.base.workers import Workers
from hooke_api.calibration import endpoints as calibration
from hooke_api.clusters import agents, tokens
from hooke_api.clusters import endpoints as clusters
from hooke_api.comparisons import endpoints as comparisons
from hooke_api.comparisons.headlines import Headlines
from hooke_api.events import stream
from hooke_api.events.bus import Bus
from hooke_api.exchange import endpoints as exchange
from hooke_api.experiments import endpoints as experiments
from hooke_api.experiments.purging import Purger
from hooke_api.ingest import endpoints as ingest
from hooke_api.metrics import endpoints as metrics
from hooke_api.metrics.compactor import Compactor
from hooke_api.metrics.thinner import Thinner
from hooke_api.oidc import endpoints as oidc
from hooke_api.oidc.single_sign_on import SingleSignOn
from hooke_api.people import account, view_endpoints
from hooke_api.people import endpoints as people
from hooke_api.people.accounts import Accounts
from hooke_api.people.passwords import Passwords
from hooke_api.planning import endpoints as planning
from hooke_api.planning.steps import Planner
from hooke_api.projects import endpoints as projects
from hooke_api.runs import endpoints as runs
from hooke_api.runs import fetch_agents, fetch_endpoints
from hooke_api.runs.fetch_keeper import FetchKeeper
from hooke_api.scheduling.scheduler import Scheduler
from hooke_api.storage.database import Database
from hooke_api.storage.fetched import FetchedFiles
from hooke_api.storage.stores import store_of
from hooke_api.timeline import endpoints as timeline
from hooke_api.waiting import endpoints as waiting
from hooke_api.web import health, website
from hooke_api.web.delivery import Delivery
from hooke_api.web.document import document
from hooke_api.webhooks import endpoints as webhooks
from hooke_api.webhooks.sender import Sender

ROOMS = (
    ingest.router,  # routes are tried in turn: first what is asked for most
    stream.router,
    exchange.router,  # before the experiments: "import" is no id
    experiments.router,
    experiments.of_fields,
    planning.router,
    runs.router,
    fetch_endpoints.router,
    metrics.router,
    timeline.router,
    comparisons.router,
    clusters.router,
    waiting.router,
    calibration.router,
    calibration.of_agents,
    account.router,
    oidc.router,
    people.router,
    projects.router,
    view_endpoints.router,
    webhooks.router,
    agents.router,
    fetch_agents.router,
    health.router,
)


OTHER_TOKENS: dict[str, Callable[[Request], object]] = {
    f"{API}/ingest": ingest.check_token,
    f"{API}/agents/hello": tokens.caller,
    f"{API}/agents/token": tokens.caller,
    f"{API}/agents/claim": tokens.caller,
    f"{API}/agents/proof": tokens.caller,
    f"{API}/agents/failed-launch": tokens.caller,
    f"{API}/agents/forgotten": tokens.caller,
    f"{API}/agents/calibration": tokens.caller,
    f"{API}/agents/fetch-begin": tokens.caller,
    PIECE: tokens.caller,
    f"{API}/agents/fetch-end": tokens.caller,
}
"""Paths that need another token than that of users -> the check of it, before the body is read."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application; `app.state` holds settings, database, bus, and the event `stopping`."""
    settings = settings or Settings()
    app = FastAPI(
        title="Hooke",
        description="A laboratory for distributed training algorithms.",
        version=version("hooke-api"),
        lifespan=_lifespan,
        openapi_url=None,  # `website` serves it
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": ProblemDetails, "description": "A problem: RFC 9457."}},
    )
    app.state.settings = settings
    app.state.bus = Bus(settings.broker)
    app.state.database = Database(settings.url, app.state.bus.ping, settings.database_seconds, store_of(settings))
    app.state.fetched = FetchedFiles(settings)
    app.state.caches = Budget(settings.caches_limit)
    app.state.cursors = Cursors(settings.token)
    app.state.agents = settings.agents  # created now if missing: an agent may be waiting for the file
    app.state.stopping = asyncio.Event()
    app.state.sessions = Sessions(settings)
    app.state.accounts = Accounts(app.state.database, app.state.sessions)
    app.state.passwords = Passwords()
    app.state.single_sign_on = single = SingleSignOn(settings)
    operations, rates = Operations(ROOMS, API), Rates(settings)
    provider = single.provider is not None
    app.state.door = Door(app.state.sessions, app.state.accounts, operations, OTHER_TOKENS, rates, provider)
    app.state.workers = Workers(settings.hang_seconds)
    app.state.bodies = Bodies(settings)
    app.state.checks = Checks()
    app.state.bundles = Few(exchange.EXPORTS, "bundles")
    app.state.point_tables = Few(metrics.TABLES, "tables of points")
    app.state.ingesting = ThreadPoolExecutor(ingest.THREADS, "ingest")
    errors.install(app)
    for room in ROOMS:
        app.include_router(room, prefix=API)
    app.include_router(health.router, include_in_schema=False)
    website.install(app, settings)
    app.add_middleware(Delivery)
    gate = {"door": app.state.door, "bodies": app.state.bodies, "checks": app.state.checks}
    app.add_middleware(Gate, settings=settings, **gate)
    app.openapi = lambda: document(app)  # type: ignore[method-assign]  # the way that FastAPI documents
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings: Settings = app.state.settings
    log.configure(settings.log_level)
    await asyncio.to_thread(app.state.database.migrate, settings.migrations)
    workers: Workers = app.state.workers
    if settings.schedule:
        planner = Planner(app.state.database)
        database = app.state.database
        workers.add("purger", lambda: Purger(database, settings))
        workers.add("headlines", lambda: Headlines(database, settings))
        workers.add("thinner", lambda: Thinner(database))
        workers.add("compactor", lambda: Compactor(database, settings))
        workers.add("fetches", lambda: FetchKeeper(database, settings))
        workers.add("webhook sender", lambda: Sender(database, settings))
        workers.add("scheduler", lambda: Scheduler(app.state.database, app.state.bus, settings, plan=planner.look))
    watching = asyncio.create_task(workers.watch(), name="workers")
    asking = asyncio.create_task(app.state.single_sign_on.start(), name="provider")
    trimming = asyncio.create_task(memory.trim_repeatedly(), name="memory")
    for task in (watching, asking, trimming):
        task.add_done_callback(_told)
    try:
        yield
    finally:
        app.state.stopping.set()
        for task in (watching, asking, trimming):
            task.cancel()
        await asyncio.wait((watching, asking, trimming))  # one may have failed
        with ThreadPoolExecutor(1, "ending") as ending:  # others may be waiting for the threads of the loop
            await asyncio.get_running_loop().run_in_executor(ending, workers.stop)
        app.state.ingesting.shutdown(wait=False)
        app.state.checks.close()
        app.state.passwords.close()
        app.state.accounts.close()
        await app.state.door.rates.close()
        app.state.bus.close()
        app.state.fetched.close()
        app.state.database.close()


def _told(task: asyncio.Task[None]) -> None:
    """Log why a task has failed, when it does: nobody else waits for it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        structlog.get_logger("hooke.app").error("a task has failed", task=task.get_name(), exc_info=error)
