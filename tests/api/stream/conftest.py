"""A real Uvicorn, a real Redis and a migrated database for the stream."""

import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hooke_api.__main__ import make_server
from hooke_api.base.settings import Settings
from hooke_api.storage.outbox import announce

from tests.conftest import find_program
from tests.waiting import LIMIT, wait_for

TOKEN = "t" * 43
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


class RedisServer:
    """A private Redis on a unix socket, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            find_program("redis") or "redis-server",
            "--port",
            "0",
            "--unixsocket",
            str(self.socket),
            "--save",
            "",
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.socket.parent)
        wait_for(self.socket.exists, "redis listens")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self.socket.unlink(missing_ok=True)


class Api:
    """The application behind a real server in a thread of this process."""

    def __init__(self, settings: Settings) -> None:
        self.server = make_server(settings)
        self.state = self.server.config.app.state
        self._thread = threading.Thread(target=self.server.run)
        self._thread.start()
        wait_for(lambda: self.server.started, "uvicorn listens")
        port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/api/v1/events"

    def announce(self, kind: str = "run", run: str = "run_a", experiment: str = "exp_a", **data: object) -> None:
        """Commit one event in a transaction of its own."""
        with self.state.database.write() as session:
            announce(session, kind, {"id": run, **data}, experiment_id=experiment, run_id=run)

    def announce_many(self, count: int) -> None:
        """Commit events of three experiments in turn, in one transaction."""
        with self.state.database.write() as session:
            for i in range(count):
                run, experiment = f"run_{i % 3}", f"exp_{i % 3}"
                announce(session, "run", {"id": run, "i": i}, experiment_id=experiment, run_id=run)

    def stop(self) -> None:
        """End the server as a signal does."""
        if self._thread.is_alive():
            self.server.handle_exit(15, None)
        self._thread.join(LIMIT)
        assert not self._thread.is_alive(), "the server does not end"


class Listener:
    """An event stream read in a thread: what an EventSource would have received."""

    def __init__(self, url: str, headers: dict[str, str] | None = None, **query: object) -> None:
        self.events: list[tuple[int, str, dict]] = []
        self.last_id: str | None = None
        self.comments = 0
        self.heartbeats: list[int] = []
        self.opened = threading.Event()
        self.closed = threading.Event()
        self.response_headers: httpx.Headers | None = None
        self._arguments = (url, {**HEADERS, **(headers or {})}, query)
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.opened.wait(LIMIT), "the stream did not open"

    def _run(self) -> None:
        url, headers, query = self._arguments
        try:
            with httpx.stream("GET", url, headers=headers, params=query, timeout=LIMIT) as response:
                assert response.status_code == 200, response.read()
                self.response_headers = response.headers
                self._socket = response.extensions["network_stream"].get_extra_info("socket")
                self._parse(response.iter_lines())
        except httpx.TransportError:
            if not self._leave.is_set():
                raise
        finally:
            self.closed.set()

    def _parse(self, lines: Iterator[str]) -> None:
        kind, data = "", None
        for line in lines:
            if line == "":  # as the standard says: the id counts even where there is no data
                if kind == "heartbeat":
                    self.heartbeats.append(int(self.last_id or -1))
                elif data is not None:
                    self.events.append((int(self.last_id or -1), kind, json.loads(data)))
                kind, data = "", None
                self.opened.set()
            elif line.startswith(":"):
                self.comments += 1
            elif line.startswith("id: "):
                self.last_id = line[4:]
            elif line.startswith("event: "):
                kind = line[7:]
            elif line.startswith("data: "):
                data = line[6:]

    @property
    def ids(self) -> list[int]:
        return [position for position, _, _ in self.events]

    def kill(self) -> None:
        """Break the connection without a word."""
        self._leave.set()
        if not self.closed.is_set():
            self._socket.shutdown(2)
        self._thread.join(LIMIT)

    def close(self) -> None:
        self.kill()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a short path: unix sockets allow 108 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="hk-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def redis_server(short_folder: Path) -> Iterator[RedisServer]:
    server = RedisServer(short_folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def database_url(tmp_path: Path, sqlite_template: Path) -> str:
    """SQLite alone, unless a test asks for both: the stream's own work is the same on either."""
    shutil.copy(sqlite_template, tmp_path / "hooke.db")
    return f"sqlite:///{tmp_path / 'hooke.db'}"


@pytest.fixture
def settings(tmp_path: Path, database_url: str, redis_server: RedisServer) -> Settings:
    return Settings(
        home=tmp_path,
        port=0,
        database_url=database_url,
        redis_url=redis_server.url,
        HOOKE_TOKEN=TOKEN,
        log_level="error",
        schedule=False,
    )


@pytest.fixture
def api(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    """Return a server that would wait very long for a stream that does not end."""
    monkeypatch.setattr("hooke_api.__main__.GRACE_SECONDS", 10 * LIMIT)
    running = Api(settings)
    yield running
    running.stop()


@pytest.fixture
def listen(api: Api) -> Iterator[object]:
    """Return a function that opens a stream; all are closed at the end."""
    opened: list[Listener] = []

    def open_stream(headers: dict[str, str] | None = None, **query: object) -> Listener:
        opened.append(Listener(api.url, headers, **query))
        return opened[-1]

    yield open_stream
    for listener in opened:
        listener.close()
