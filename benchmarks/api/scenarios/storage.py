"""Bytes of the database per step, while a run is in progress, after its end, and after its compaction."""

from __future__ import annotations

import time

from hooke_api.models import Chunk
from hooke_api.storage.compacting import compact
from hooke_api.storage.database import Database
from hooke_api.storage.objects import FOLDER
from sqlalchemy import func, select, text

from benchmarks.api import bodies
from benchmarks.api.attempts import claimed
from benchmarks.api.figures import Bench, Figure, Measured
from benchmarks.api.server import Server
from benchmarks.api.writing import post

TITLE = "Storage"
RANKS = 2
SETTLE_SECONDS = 12.0
"""After the end of a run, in which the API may rearrange what it stores."""


def measure(bench: Bench) -> Measured:
    """Yield bytes per step of one rank; a step has `VALUES` values and four coordinates."""
    count = bench.size(200_000, 5_000)
    with bench.server() as server:
        [attempt] = claimed(server, 1, RANKS)
        empty = database_bytes(server)
        *requests, last = bodies.whole(attempt, count)
        post(server, [(attempt, requests)])
        live, stored = database_bytes(server), column_bytes(server)
        post(server, [(attempt, [last])])
        time.sleep(SETTLE_SECONDS)
        ended, after = database_bytes(server), column_bytes(server)
        server.stop()
        objects = _compacted(server, attempt.run)
        left = database_bytes(server)
    each = RANKS * count
    sent = sum(len(request) for request in requests)
    yield Figure(f"{count:,} steps of {RANKS} ranks, gzip bodies of ingest", "bytes/step", (sent / each,))
    yield Figure("the same, columns in the database", "bytes/step", (stored / each,))
    yield Figure("the same, whole database, in progress", "bytes/step", ((live - empty) / each,))
    yield Figure("the same, columns after the end", "bytes/step", (after / each,))
    yield Figure("the same, whole database, after the end", "bytes/step", ((ended - empty) / each,))
    yield Figure(
        "the same, whole database, after the end", "bytes/point", ((ended - empty) / each / bodies.VALUES,)
    )
    both = left - empty + objects
    yield Figure("the same, after compaction: database", "bytes/step", ((left - empty) / each,))
    yield Figure("the same, after compaction: object", "bytes/step", (objects / each,))
    yield Figure("the same, after compaction: both", "bytes/point", (both / each / bodies.VALUES,))


def _compacted(server: Server, run: str) -> int:
    """Compact a run by the function that the API's thread calls; return the bytes of its object."""
    database = server.database()
    try:
        assert compact(database, run)
        if not database.sqlite:  # so that the size is that of what is left
            with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("VACUUM FULL"))
    finally:
        database.close()
    return sum(path.stat().st_size for path in (server.home / FOLDER).rglob("*") if path.is_file())


def column_bytes(server: Server) -> int:
    """Return the bytes of the packed columns of all steps."""
    database = server.database()
    try:
        with database.read() as session:
            return session.scalar(select(func.sum(func.length(Chunk.data)))) or 0
    finally:
        database.close()


def database_bytes(server: Server) -> int:
    """Return the size of the database, without its write-ahead log and without free pages."""
    database = server.database()
    try:
        return _of_sqlite(database) if database.sqlite else _of_postgresql(database)
    finally:
        database.close()


def _of_sqlite(database: Database) -> int:
    with database.read() as session:
        pages, free, size = (
            session.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)


def _of_postgresql(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
