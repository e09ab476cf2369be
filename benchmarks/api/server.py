"""The API as `hooke up` starts it, with its private Redis and its default limits, on a temporary home folder."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil
from hooke_api.local import parts
from hooke_api.local.instance import Instance
from hooke_api.local.keeper import KeptProcess
from hooke_api.storage.database import Database
from hooke_api.storage.objects import FOLDER, FolderStore
from sqlalchemy import create_engine, make_url, text

from benchmarks.api.client import Client

START_SECONDS = 180.0
HOST = "127.0.0.1"


class Server:
    """A running API. `database_url`: of PostgreSQL; None: SQLite in its home folder. `own`: further variables."""

    def __init__(self, home: Path, database_url: str | None, own: Mapping[str, str] | None = None) -> None:
        self._instance = Instance(home)
        self._instance.choose_port(HOST, _drawn_port())
        self.home = home
        self.url = f"http://{HOST}:{self._instance.port}"
        self.database_url = database_url or f"sqlite:///{home / 'hooke.db'}"
        self._redis = _start(parts.redis(self._instance), {})
        self._own = {"HOOKE_LOG_LEVEL": "warning"} | dict(own or {})
        if database_url:
            self._own["HOOKE_DATABASE_URL"] = database_url
        self._api: subprocess.Popen[bytes] | None = None
        self._more: dict[int, subprocess.Popen[bytes]] = {}
        self.joined = 0
        """Number of clusters that have joined; see `benchmarks.api.attempts`."""

    @property
    def token(self) -> str:
        """Return the start-up token."""
        return (self.home / "token").read_text().strip()

    @property
    def agents(self) -> str:
        """Return the token of agents."""
        return (self.home / "agent-token").read_text().strip()

    @property
    def pid(self) -> int:
        """Return the id of the API's process."""
        assert self._api is not None
        return self._api.pid

    def client(self, token: str | None = None) -> Client:
        """Return a client, by default with the start-up token."""
        return Client(self.url, token or self.token)

    def resident(self) -> float:
        """Return the API's resident memory, MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024 / 1e6

    def database(self) -> Database:
        """Open the database of the API, for what no operation tells. The caller closes it."""
        return Database(self.database_url, objects=FolderStore(self.home / FOLDER))

    def start(self) -> None:
        """Start the API, and return when it answers. Raises TimeoutError."""
        self._api = _start(parts.api(self._instance, HOST), self._own)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._api.poll() is None:
            try:
                with Client(self.url) as client:
                    if client.raw("GET", "/livez")[0] == 200:
                        return
            except OSError:
                time.sleep(0.02)
        log = self._instance.logs / "api.log"
        raise TimeoutError(f"the API did not start: {log.read_text(errors='replace')[-2000:]}")

    def another(self) -> int:
        """Start another process of the API on the same port, where `own` lets them share it; return its id."""
        process = _start(parts.api(self._instance, HOST), self._own)
        self._more[process.pid] = process
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and process.poll() is None:
            found = psutil.Process(process.pid).net_connections("tcp")
            if any(each.status == psutil.CONN_LISTEN and each.laddr.port == self._instance.port for each in found):
                return process.pid
            time.sleep(0.05)
        raise TimeoutError("another process of the API did not start")

    def kill(self, pid: int) -> None:
        """Kill one of the processes of the API."""
        process = self._more.pop(pid, None)
        if process is None:
            assert self._api is not None and self._api.pid == pid
            process, self._api = self._api, None
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End the API."""
        for process in self._more.values():
            _end(process)
        self._more.clear()
        if self._api is not None:
            _end(self._api)
            self._api = None

    def restart(self, own: Mapping[str, str] | None = None) -> None:
        """End the API and start it again, with further variables: what it kept in memory is gone."""
        self.stop()
        self._own |= dict(own or {})
        self.start()

    def close(self) -> None:
        """End everything."""
        self.stop()
        _end(self._redis)
        self._instance.close()


@contextmanager
def served(server_url: str | None, own: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Yield a running API on a new folder and database; remove both at the end. `own`: its variables."""
    folder = Path(tempfile.mkdtemp(prefix="hooke-bench-"))
    try:
        with _new_database(server_url) as url:
            server = Server(folder / "home", url, own)
            try:
                server.start()
                yield server
            finally:
                server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _new_database(server_url: str | None) -> Iterator[str | None]:
    """Create a database on a server and yield its URL; drop it at the end. Without a server, yield None."""
    if server_url is None:
        yield None
        return
    name = f"hooke_bench_{uuid.uuid4().hex[:12]}"
    place = make_url(server_url).set(drivername="postgresql+psycopg")
    engine = create_engine(place, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        try:
            yield place.set(database=name).render_as_string(hide_password=False)
        finally:
            with engine.connect() as connection:
                connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        engine.dispose()


def _start(part: KeptProcess, own: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a part as its keeper does, without the user's own settings."""
    kept = ("HOOKE_HOME", "HOOKE_REDIS_URL", "HOOKE_HOST", "HOOKE_PORT")
    environment = {k: v for k, v in part.environment.items() if not k.startswith("HOOKE_") or k in kept}
    with part.log.open("ab") as log:
        return subprocess.Popen(
            part.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment | own
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _drawn_port() -> int:
    """Return a port below those of outgoing connections."""
    return random.SystemRandom().randrange(12_000, 32_000)


def check_environment() -> None:
    """Raise SystemExit if the user's environment names a broker, which the API would then use."""
    if os.environ.get("HOOKE_REDIS_URL"):
        raise SystemExit("benchmarks.api: unset HOOKE_REDIS_URL: each API gets a Redis of its own")
