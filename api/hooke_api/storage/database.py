"""The database: one engine, and transactions for reading and writing in the thread pool.

SQLite runs in WAL mode with one writer at a time. Its own waiting is a poll with growing pauses, so writers of
this process queue on a lock instead, and take the write lock at BEGIN: a transaction that begins by reading
could otherwise fail when it comes to write, and no waiting would help it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from fastapi import Depends, Request
from sqlalchemy import Connection, create_engine, event, make_url, text
from sqlalchemy.orm import Session

from hooke_api.storage import outbox

BUSY_MILLISECONDS = 10_000
"""How long a writer waits for another process."""


class Database:
    """An engine and its two kinds of transaction; `read()` sees one state and never waits for a writer."""

    def __init__(self, url: str, committed: Callable[[int, bool], None] | None = None) -> None:
        """Open a database; `committed(position, wake)` is called after each commit that announced something."""
        self._committed = committed
        self.url = make_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._writers: AbstractContextManager[Any] = threading.Lock() if self.sqlite else nullcontext()
        if self.sqlite and self.url.database:
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
        self.engine = create_engine(
            self.url, pool_size=10, max_overflow=40, pool_timeout=30, pool_pre_ping=not self.sqlite
        )
        if self.sqlite:
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session in a transaction that is rolled back at the end."""
        with self.engine.connect() as connection, Session(connection, expire_on_commit=False) as session:
            if not self.sqlite:  # every statement of one answer sees the same state, as in SQLite
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Yield a session in a transaction: committed at the end, rolled back by any exception.

        What was announced (`hooke_api.storage.outbox`) is stored with it, and told to others once it is committed.
        """
        with (
            self._writers,
            self.engine.connect().execution_options(hooke_write=True) as connection,
            connection.begin(),
            Session(connection, expire_on_commit=False) as session,
        ):
            yield session
            told = outbox.settle(session)
        if told and self._committed:
            self._committed(*told)

    def migrate(self, folder: Path, revision: str = "head") -> None:
        """Bring the tables to a revision; instances that start together wait for one another."""
        with self.write() as session:
            if not self.sqlite:
                session.execute(text("SELECT pg_advisory_xact_lock(1752132459)"))  # any number of our own
            command.upgrade(alembic_config(folder, session.connection()), revision)

    def pending(self, folder: Path) -> str | None:
        """Return the revision that the tables lack, or null where they are up to date."""
        head = ScriptDirectory.from_config(alembic_config(folder)).get_current_head()
        with self.read() as session:
            current = MigrationContext.configure(session.connection()).get_current_revision()
        return head if current != head else None

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def alembic_config(folder: Path, connection: Connection | None = None) -> Config:
    """Return Alembic's configuration for the migrations in a folder, on a connection that is already open."""
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself: `_begin` does
    for pragma in (
        "journal_mode = WAL",
        f"busy_timeout = {BUSY_MILLISECONDS}",
        "foreign_keys = ON",
        "synchronous = NORMAL",  # in WAL mode safe against kill -9; a power cut may lose the last moments
        "cache_size = -8192",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    write = connection.get_execution_options().get("hooke_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def of(request: Request) -> Database:
    """Return the database of the application that handles a request."""
    database: Database = request.app.state.database
    return database


DatabaseOf = Annotated[Database, Depends(of)]
"""Parameter of an endpoint: `def read(..., database: DatabaseOf)`, then `with database.read() as session:`."""
