"""A running API on a migrated database, SQLite and PostgreSQL alike, and hands to play agent and supervisor."""

import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from hooke_api.__main__ import GRACE_SECONDS, Server
from hooke_api.app import create_app
from hooke_api.base.settings import Settings
from hooke_api.models import DEFAULT_PROJECT, Base, NumberSequence
from hooke_api.people.passwords import Passwords
from hooke_api.storage.database import Database
from hooke_api.web.connections import limited
from sqlalchemy import exists, select

from tests.api.databases import (  # fixtures count where they are imported
    fresh_database,
    kind,
    make_settings,
    on_one_kind,
    postgres,
    postgres_template,
    postgres_url,
    run_sql,
    sqlite_template,
)
from tests.api.hands import SPEC, OrderLine, Service, Supervisor, done, lines, scored, start, steps
from tests.waiting import LIMIT, wait_for

__all__ = [
    "SPEC",
    "OrderLine",
    "Service",
    "Supervisor",
    "done",
    "kind",
    "lines",
    "postgres",
    "postgres_template",
    "postgres_url",
    "run_sql",
    "scored",
    "sqlite_template",
    "start",
    "steps",
]


ENDS_SECONDS = 30.0
"""How long a server may take to end, s; as a process of its own it has less (`hooke_api.__main__`)."""


def pytest_collection_modifyitems(config, items):
    items[:], left = on_one_kind(items)
    config.hook.pytest_deselected(items=left)


@pytest.fixture
def settings(request, kind, tmp_path) -> Iterator[Settings]:
    """Return settings with a database of their own."""
    with fresh_database(request, kind, tmp_path) as url:
        yield make_settings(tmp_path, url)


@pytest.fixture
def database(settings) -> Iterator[Database]:
    """Return the migrated database, without a server."""
    database = Database(settings.url)
    yield database
    database.close()


@dataclass
class Running:
    """A server in a thread of this process."""

    server: uvicorn.Server
    thread: threading.Thread
    url: str

    def stop(self) -> None:
        self.server.handle_exit(signal.SIGTERM, None)  # as the product ends: streams first, then requests
        self.thread.join(ENDS_SECONDS)
        assert not self.thread.is_alive(), f"the server did not stop:\n{places_of_threads()}"


def places_of_threads() -> str:
    """Return where each thread of this process is."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sys._current_frames().items()
    return "\n".join(f"{names.get(ident)}:\n{''.join(traceback.format_stack(frame))}" for ident, frame in frames)


def serve(app: FastAPI, port: int = 0, host: str = "127.0.0.1") -> Running:
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="critical",
        access_log=False,
        http=limited(app.state.settings),
        ws="none",
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config, app.state.stopping)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started or not thread.is_alive(), "the server")
    assert thread.is_alive(), "the server did not start"
    bound = server.servers[0].sockets[0].getsockname()[1]
    return Running(server, thread, f"http://127.0.0.1:{bound}")


@pytest.fixture(scope="session")
def server(request, kind, tmp_path_factory) -> Iterator[tuple[FastAPI, Settings, Running]]:
    """Start one API for all tests of a kind of database: `service` empties the tables between them."""
    home = tmp_path_factory.mktemp(f"home-{kind}")
    with fresh_database(request, kind, home) as url:
        settings = make_settings(home, url)
        app = create_app(settings)
        app.state.passwords = Passwords(memory_kib=8, passes=1)  # a test of the real ones makes its own
        running = serve(app)
        yield app, settings, running
        running.stop()


KEPT = ("projects", "counters", "audit_trail")
"""Tables with rows of the migrations, and one of which nobody can delete."""
EMPTIED = [table for table in reversed(Base.metadata.sorted_tables) if table.name not in KEPT]
USED = select(*(exists().select_from(table).label(table.name) for table in EMPTIED))
"""One query whether each has a row: most tests write few of them."""


def empty(database: Database) -> None:
    """Bring the tables back to what migrating left."""
    with database.write() as session:
        used = session.execute(USED).one()
        for table, filled in zip(EMPTIED, used, strict=True):
            if filled:
                session.execute(table.delete())
        projects = Base.metadata.tables["projects"]
        session.execute(projects.delete().where(projects.c.id != DEFAULT_PROJECT))
        session.execute(NumberSequence.__table__.update().values(value=0))


@pytest.fixture
def service(server, kind) -> Iterator[Service]:
    """Return a running API with empty tables, reached over real HTTP."""
    app, settings, running = server
    assert settings.url.startswith(kind), "a server that was made for tests of the other kind of database"
    url = running.url
    empty(app.state.database)
    headers = {"authorization": f"Bearer {settings.token}"}
    with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=LIMIT) as client:
        made = Service(app, settings, url, client, running.server.server_state.tasks)
        yield made
        for opened in (made.agent, made.sender, *made.opened):
            opened.close()
