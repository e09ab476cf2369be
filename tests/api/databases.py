"""Fresh migrated databases of both kinds; PostgreSQL is a private server made from the binaries of the system."""

import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from hooke_api.base.settings import Settings
from hooke_api.storage.database import Database
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.waiting import LIMIT, wait_for

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


@event.listens_for(Pool, "connect")
def reverse_unordered(connection, _record) -> None:
    """Let SQLite return rows in reverse where a query asks for no order: nothing may depend on one."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA reverse_unordered_selects = ON")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """Return a migrated SQLite file: tests copy it, the schema is made by migrating and nothing else.

    Of several workers the first one makes it, for migrating takes longer than most tests.
    """
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "template.db"
    if shared.exists():
        return shared
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{path}")
    database.migrate(MIGRATIONS)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path.replace(shared)


@pytest.fixture(scope="session")
def postgres(program_path):
    """Start a private PostgreSQL (not as root: initdb refuses that), yield its socket folder, stop it."""
    binaries = Path(program_path("postgres")).parent
    folder = Path(tempfile.mkdtemp(prefix="hooke-pg-", dir="/tmp"))
    who = {"user": "nobody"} if os.geteuid() == 0 else {}
    if who:
        shutil.chown(folder, "nobody")
    data = folder / "data"
    init = [binaries / "initdb", "-D", data, "-U", "hooke", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL, cwd="/", **who)
    options = ["-k", folder, "-c", "listen_addresses=", "-c", "max_connections=200"]
    for unsafe in ("fsync", "synchronous_commit", "full_page_writes"):  # nobody reads it after a crash
        options += ["-c", f"{unsafe}=off"]
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [binaries / "postgres", "-D", data, *options], stdout=log, stderr=log, cwd="/", **who
        )
    try:
        wait_for(
            lambda: psycopg.connect(host=str(folder), user="hooke", dbname="postgres").close() is None,
            lambda: f"PostgreSQL: {Path(log.name).read_text()}",
            ignoring=(psycopg.OperationalError,),
        )
        yield folder
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)
        shutil.rmtree(folder)
        Path(log.name).unlink()


def postgres_url(folder: Path, name: str) -> str:
    return f"postgresql+psycopg://hooke@/{name}?host={folder}"


def run_sql(folder: Path, statement: str) -> None:
    with psycopg.connect(host=str(folder), user="hooke", dbname="postgres", autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(scope="session")
def postgres_template(postgres):
    """Return the name of a migrated database that others are made from."""
    run_sql(postgres, "CREATE DATABASE template_hooke")
    database = Database(postgres_url(postgres, "template_hooke"))
    database.migrate(MIGRATIONS)
    database.close()
    return "template_hooke"


KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]


@pytest.fixture(scope="session", params=KINDS)
def kind(request) -> str:
    """Every test that stores anything runs once on each kind of database."""
    return request.param


ONE_KIND = pytest.mark.one_kind
"""For tests of what Python decides: their queries run on both kinds in other tests."""


def on_one_kind(items: list[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Divide collected tests into those that run, and those of ONE_KIND on another kind than the first."""

    def spare(item: pytest.Item) -> bool:
        chosen = getattr(item, "callspec", None)
        other = chosen is not None and chosen.params.get("kind", KINDS[0]) != KINDS[0]
        return other and item.get_closest_marker("one_kind") is not None

    left = [item for item in items if spare(item)]
    return [item for item in items if not spare(item)], left


@contextmanager
def fresh_database(request, kind: str, folder: Path) -> Iterator[str]:
    """Yield the URL of a new migrated database."""
    if kind == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), folder / "hooke.db")
        yield f"sqlite:///{folder / 'hooke.db'}"
        return
    sockets = request.getfixturevalue("postgres")
    name = f"test_{uuid.uuid4().hex}"
    run_sql(sockets, f"CREATE DATABASE {name} TEMPLATE {request.getfixturevalue('postgres_template')}")
    yield postgres_url(sockets, name)
    run_sql(sockets, f"DROP DATABASE {name} WITH (FORCE)")


def make_settings(home: Path, url: str, **changes) -> Settings:
    """Return settings without Redis and without a scheduler thread: tests look at the queue themselves."""
    usual = {"redis_url": f"unix://{home}/absent.sock", "dashboard": home / "dashboard", "port": 0}
    usual |= {"schedule": False, "log_level": "warning"}
    kinds = ("requests", "ingest", "streams", "anonymous")
    usual |= {f"{name}_per_minute": 0 for name in kinds}  # tests are quick; tests/api/test_rates.py sets its own
    return Settings(home=home, database_url=url, **(usual | changes))
