"""The database: one engine, with read and write transactions in the thread pool.

SQLite runs in WAL mode with one writer at a time. SQLite waits by polling with increasing delays, so writers of
this process queue for turns (`hooke_api.storage.turns`); reads wait for nobody. Writers take the write lock at
BEGIN, because a transaction that begins with a read may otherwise fail at its first write, without waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import Connection, create_engine, event, make_url, text
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from hooke_api.storage import evaluated, outbox, revisions, trail
from hooke_api.storage.objects import ObjectStore
from hooke_api.storage.one_file import OneFile
from hooke_api.storage.steps import STORE
from hooke_api.storage.turns import Turns

if TYPE_CHECKING:
    from alembic.config import Config

SECONDS = 10.0
"""Time that a writer waits for its turn, or any request for a connection, s."""
LOCK_SHARE = 3.0
"""PostgreSQL: how long a writer waits for a row that another transaction has locked, as a multiple of it."""
IDLE_SECONDS = 60.0
"""PostgreSQL ends a transaction that writes and sends nothing for so long, so that what it has locked is free: its
process or host stands still, or is gone without a word."""
ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""After about a minute a connection over TCP counts as lost whose other end is gone without a word."""
BUSY_SHARE = 0.5
"""Share of it that the writer whose turn it is waits for another process that has locked SQLite."""
SQLITE_KIB = 256
"""Pages of SQLite that a connection keeps in memory, KiB. A writer of another connection makes them worthless."""
STATEMENTS = 40
"""Statements that a connection to SQLite keeps prepared: each takes some 10 kB, and 128 by default."""
CONNECTIONS, KEPT, SQLITE_KEPT = 50, 10, 4
"""Connections at a time, and how many of them stay open unused: one to SQLite takes about 1 MB, 0.6 MB of them for
its own copy of the schema, and 0.7 ms to open."""
COMPILED = 200
"""Statements that SQLAlchemy keeps compiled: each takes some 30 kB, and pages ask for about 150."""
_BOUNDED = text(
    "SELECT set_config('lock_timeout', :lock, true),"
    " set_config('idle_in_transaction_session_timeout', :idle, true)"
)
"""Of this transaction; in milliseconds."""
AT_ONCE, WAITING = 24, 32
"""Writers at a time on PostgreSQL (one on SQLite), and others that wait; of the 40 threads that handle requests,
some are left for reading."""


class Database:
    """An engine with two kinds of transaction; `read()` sees a snapshot and never waits for a writer."""

    def __init__(
        self,
        url: str,
        committed: Callable[[int, bool], None] | None = None,
        seconds: float = SECONDS,
        objects: ObjectStore | None = None,
    ) -> None:
        """Open a database; `committed(position, wake)` is called after each commit with announced events.

        `seconds`: how long a writer waits for its turn, or a request for a connection. `objects`: where the steps
        of compacted runs are, which cannot be read without.
        """
        self._committed = committed
        self.objects = objects
        self._info = {STORE: objects, evaluated.KEPT: evaluated.memory()}
        self.url = make_url(url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self.file = OneFile(self.url)
        self._turns = Turns(1, WAITING, seconds) if self.sqlite else Turns(AT_ONCE, WAITING - AT_ONCE, seconds)
        self._busy_seconds = seconds * BUSY_SHARE
        limits = {"lock": seconds * LOCK_SHARE, "idle": IDLE_SECONDS}
        self._limits = {name: str(max(1, round(1000 * limit))) for name, limit in limits.items()}
        if self.sqlite and self.url.database:
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
        reaching: dict[str, Any] = {"cached_statements": STATEMENTS}
        if not self.sqlite:
            told = {name: value for name, value in ALIVE.items() if name not in self.url.query}
            reaching = {"connect_timeout": max(2, round(seconds))} | told
        self.engine = create_engine(
            self.url,
            query_cache_size=COMPILED,
            pool_size=SQLITE_KEPT if self.sqlite else KEPT,
            max_overflow=CONNECTIONS - (SQLITE_KEPT if self.sqlite else KEPT),
            pool_use_lifo=True,  # else each of them is used in turn, and keeps its caches filled
            pool_timeout=seconds,
            pool_pre_ping=not self.sqlite,
            connect_args=reaching,
        )
        if self.sqlite:
            event.listen(self.engine, "connect", self._prepare)
            event.listen(self.engine, "begin", _begin)
        event.listen(self.engine, "handle_error", _away)

    def _prepare(self, connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver does not begin transactions: `_begin` does
        for pragma in (
            "journal_mode = WAL",
            f"busy_timeout = {round(self._busy_seconds * 1000)}",
            "foreign_keys = ON",
            "synchronous = NORMAL",  # in WAL mode safe against kill -9; a power failure may lose the last ones
            f"cache_size = -{SQLITE_KIB}",
        ):
            connection.execute(f"PRAGMA {pragma}")
        self.file.opened()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session in a transaction that is rolled back at the end."""
        self.file.check()
        with (
            self.engine.connect() as connection,
            Session(connection, expire_on_commit=False, info=self._info) as session,
        ):
            if not self.sqlite:  # all statements of a transaction see the same snapshot, as in SQLite
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield session

    @contextmanager
    def write(self, *, bounded: bool = True) -> Iterator[Session]:
        """Yield a session in a transaction: committed at the end, rolled back by any exception.

        Its entry of the audit trail (`hooke_api.storage.trail`) and announced events (`hooke_api.storage.outbox`)
        are stored with it; the events are published after the commit. Waits for locks, and is waited for while it
        stands still, for a bounded time, or OperationalError is raised; `bounded`: False for migrations.
        """
        self.file.check()
        with (
            self._turns.take(),
            self.engine.connect().execution_options(hooke_write=True) as connection,
            connection.begin(),
            Session(connection, expire_on_commit=False, info=self._info) as session,
        ):
            if bounded and not self.sqlite:
                connection.execute(_BOUNDED, self._limits)
            yield session
            trail.settle(session)
            told = outbox.settle(session)
            self.file.check()  # again: it may have waited for its turn for seconds
        if told and self._committed:
            self._committed(*told)

    def migrate(self, folder: Path, revision: str = "head") -> None:
        """Migrate the tables to a revision; concurrent instances wait for each other."""
        if revision == "head" and self.pending(folder) is None:
            return
        from alembic import command  # imported for use alone, as in `hooke_api.storage.revisions`

        with self.write(bounded=False) as session:
            if not self.sqlite:
                session.execute(text("SELECT pg_advisory_xact_lock(1752132459)"))  # an arbitrary number
            command.upgrade(alembic_config(folder, session.connection()), revision)

    def pending(self, folder: Path) -> str | None:
        """Return the revision to which the tables must be migrated, or None if they are up to date."""
        head = revisions.newest(folder)
        with self.read() as session:
            return None if head is not None and revisions.present(session) == head else head or "head"

    def close(self) -> None:
        """Close every connection, those of the store among them."""
        self.engine.dispose()
        if self.objects is not None:
            self.objects.close()


def alembic_config(folder: Path, connection: Connection | None = None) -> Config:
    """Return Alembic's configuration for the migrations in a folder, on an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _begin(connection: Connection) -> None:
    write = connection.get_execution_options().get(evaluated.WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _away(context: ExceptionContext) -> None:
    """Raise what a database that is away raises where it takes no changes, or has ended what stood still.

    PostgreSQL is told to take none by `default_transaction_read_only`, as while its disk is full, or is a replica
    that was not promoted yet.
    """
    original = context.original_exception
    kind = type(original).__name__
    if kind == "IdleInTransactionSessionTimeout":
        context.is_disconnect = True
    if kind in ("ReadOnlySqlTransaction", "IdleInTransactionSessionTimeout"):
        raise OperationalError(context.statement, None, original) from original


async def of(request: Request) -> Database:
    """Return the database of the application that handles a request.

    Asynchronous as every dependency that waits for nothing: others cost a way to a thread and back.
    """
    database: Database = request.app.state.database
    return database


DatabaseOf = Annotated[Database, Depends(of)]
"""Parameter of an endpoint: `def read(..., database: DatabaseOf)`, then `with database.read() as session:`."""
