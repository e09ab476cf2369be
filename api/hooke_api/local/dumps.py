"""Databases as files: a copy of SQLite while others write to it, an archive of PostgreSQL by pg_dump."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, make_url

from hooke_api.local.archive import BackupError

Kind = Literal["sqlite", "postgresql"]
_REVISION = "SELECT version_num FROM alembic_version"
_TABLES = "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
_BUSY_SECONDS = 30.0
_OBJECTS = "SELECT key, size, sha256 FROM compacted_runs ORDER BY key"
_WHOLE = ["--no-owner", "--no-privileges"]


class Known(NamedTuple):
    """An object that a database names: its name in the store, bytes, and SHA-256."""

    key: str
    size: int
    sha256: str


class Dumped(NamedTuple):
    """What was dumped."""

    revision: str
    objects: list[Known]
    """Those with the steps of its compacted runs, as of the same moment."""


def kind_of(url: str) -> Kind:
    """Return which kind of database a URL names. Raises BackupError for another one."""
    name = make_url(url).get_backend_name()
    if name == "sqlite" and make_url(url).database not in (None, "", ":memory:"):
        return "sqlite"
    if name == "postgresql":
        return "postgresql"
    raise BackupError(f"a database of {name!r} in HOOKE_DATABASE_URL cannot be backed up")


def sqlite_file(url: str) -> Path:
    """Return the file of an SQLite database."""
    return Path(make_url(url).database or "")


def dump(url: str, target: Path) -> Dumped:
    """Write one consistent state of a database to a new file, while others write to it.

    Raises BackupError.
    """
    with _told(url):
        if kind_of(url) == "sqlite":
            return _dump_sqlite(sqlite_file(url), target)
        return _dump_postgres(url, target)


def check_empty(url: str) -> None:
    """Raise BackupError unless a database can be loaded there: no file of SQLite yet, no tables in PostgreSQL."""
    if kind_of(url) == "sqlite":
        if sqlite_file(url).exists():
            raise BackupError(f"{sqlite_file(url)} exists: nothing is restored over a database")
        return
    with _told(url), _connected(url) as connection:
        tables = _one(connection.execute(_TABLES).fetchone())
    if tables:
        raise BackupError(
            f"the database {make_url(url).database!r} has {tables} tables: restore into an empty one (createdb)"
        )


def load(url: str, source: Path) -> None:
    """Load what `dump` has written into an empty database: all of it or nothing. Raises BackupError, OSError."""
    if kind_of(url) == "postgresql":
        options = ["--exit-on-error", "--single-transaction", *_WHOLE, f"--dbname={_address(url)}", str(source)]
        _call("pg_restore", options, url)
        return
    target = sqlite_file(url)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.move(source, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _dump_sqlite(path: Path, target: Path) -> Dumped:
    """Copy in one step, in one read transaction: in WAL mode writers go on meanwhile."""
    if not path.is_file():
        raise BackupError(f"there is no database {path}: --home names the folder of the instance")
    address = f"file:{quote(str(path.absolute()))}?mode=rw"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS)) as live,
        closing(sqlite3.connect(target)) as copy,
    ):
        live.backup(copy)
        revision = str(_one(copy.execute(_REVISION).fetchone()))
        there = copy.execute("SELECT name FROM sqlite_master WHERE name = 'compacted_runs'").fetchone()
        return Dumped(revision, [Known(*row) for row in copy.execute(_OBJECTS)] if there else [])


def _dump_postgres(url: str, target: Path) -> Dumped:
    """Have pg_dump write the state in which the revision was read."""
    with _connected(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        revision = str(_one(connection.execute(_REVISION).fetchone()))
        snapshot = _one(connection.execute("SELECT pg_export_snapshot()").fetchone())
        options = ["--format=custom", "--compress=0", *_WHOLE, f"--snapshot={snapshot}", f"--file={target}"]
        _call("pg_dump", [*options, f"--dbname={_address(url)}"], url)
        there = _one(connection.execute("SELECT to_regclass('compacted_runs')").fetchone())
        objects = [Known(*row) for row in connection.execute(_OBJECTS).fetchall()] if there else []
    return Dumped(revision, objects)


def _one(row: tuple[Any, ...] | None) -> Any:
    if row is None:
        raise BackupError("the database has no revision: it is not one of Hooke")
    return row[0]


def _connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(_address(url), password=make_url(url).password, connect_timeout=10)


def _address(url: str) -> str:
    """Return the connection string of a URL for libpq, without the password: others could read it in /proc."""
    parts: URL = make_url(url)
    words = parts.translate_connect_args(username="user", database="dbname") | dict(parts.query)
    words.pop("password", None)
    return make_conninfo(**{name: ",".join(v) if isinstance(v, tuple) else v for name, v in words.items()})


def _call(program: str, options: list[str], url: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise BackupError(
            f"{program} is not installed: install the client programs of PostgreSQL (Debian: postgresql-client), "
            "of the server's version or newer"
        )
    password = make_url(url).password
    environment = os.environ | ({"PGPASSWORD": password} if password else {})
    done = subprocess.run([found, *options], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BackupError(f"{program} failed: {done.stderr.strip()[-2000:] or f'status {done.returncode}'}")


@contextmanager
def _told(url: str) -> Iterator[None]:
    shown = make_url(url).render_as_string()  # without the password
    try:
        yield
    except (sqlite3.Error, psycopg.Error) as error:
        raise BackupError(f"the database {shown} cannot be read: {error}") from error
