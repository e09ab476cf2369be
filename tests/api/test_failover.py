"""PostgreSQL fails over: the primary dies, its synchronous replica is promoted; nothing acknowledged is lost."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest
from hooke_api.storage.database import Database

from tests.api.databases import MIGRATIONS, run_sql
from tests.api.hands import ALONE, SPEC
from tests.api.test_busy import served
from tests.waiting import LIMIT, wait_for

pytestmark = pytest.mark.needs("postgres")
WHO = {"user": "nobody"} if os.geteuid() == 0 else {}
"""initdb refuses to run as root."""


class Server:
    """One PostgreSQL server in a folder, with its socket there."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self.folder = binaries, folder
        self.process: subprocess.Popen[bytes] | None = None

    def command(self, name: str, *arguments: object) -> None:
        subprocess.run(
            [self._binaries / name, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL, cwd="/", **WHO
        )

    def start(self, **settings: str) -> None:
        options = [
            f"{name}={value}" for name, value in {"listen_addresses": "", "fsync": "off", **settings}.items()
        ]
        flags = [part for option in options for part in ("-c", option)]
        with (self.folder / "log").open("wb") as log:
            command = [self._binaries / "postgres", "-D", self.folder / "data", "-k", self.folder, *flags]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **WHO)
        wait_for(lambda: self.ask("SELECT 1"), (self.folder / "log").read_text, ignoring=(psycopg.Error,))

    def ask(self, query: str) -> list[tuple[object, ...]]:
        with psycopg.connect(host=str(self.folder), user="hooke", dbname="postgres") as connection:
            return connection.execute(query).fetchall()

    def tell(self, statement: str) -> None:
        run_sql(self.folder, statement)

    def end(self, number: int = signal.SIGINT) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(LIMIT)


@pytest.fixture
def pair(program_path):
    """Yield (primary, replica): a commit on the primary waits until the replica has it."""
    binaries = Path(program_path("postgres")).resolve().parent
    with ExitStack() as stack:
        servers = []
        for _ in range(2):
            folder = Path(tempfile.mkdtemp(prefix="hooke-pg-", dir="/tmp"))
            stack.callback(shutil.rmtree, folder)
            if WHO:
                shutil.chown(folder, "nobody")
            servers.append(Server(binaries, folder))
            stack.callback(servers[-1].end)
        primary, replica = servers
        data = primary.folder / "data"
        primary.command("initdb", "-D", data, "-U", "hooke", "-A", "trust", "-E", "UTF8", "--no-sync")
        primary.start()
        source = f"host={primary.folder} user=hooke dbname=postgres"
        primary.command(
            "pg_basebackup", "-D", replica.folder / "data", "-R", "-X", "stream", "-c", "fast", "-d", source
        )
        replica.start()
        primary.tell("ALTER SYSTEM SET synchronous_standby_names = '*'")  # of the primary alone
        primary.tell("SELECT pg_reload_conf()")
        states = "SELECT sync_state FROM pg_stat_replication"
        wait_for(lambda: primary.ask(states) == [("sync",)], "the replica")
        yield primary, replica


def submitted(client: httpx.Client, name: str) -> str | None:
    """Return the id of a new experiment; None if the server says that it cannot at present."""
    try:
        answer = client.post("/experiments", json=SPEC | ALONE | {"name": name})
    except httpx.TransportError:
        return None
    if answer.status_code == 503:
        assert "retry-after" in answer.headers
        return None
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_what_was_acknowledged_survives_a_failover(pair, tmp_path):
    primary, replica = pair
    url = f"postgresql+psycopg://hooke@/postgres?host={primary.folder}&host={replica.folder}"
    url += "&target_session_attrs=read-write"
    database = Database(url)
    database.migrate(MIGRATIONS)
    database.close()
    with served(url, tmp_path) as (_, client):
        acknowledged, over = [], threading.Event()

        def write() -> None:
            while not over.is_set():
                if (made := submitted(client, f"number {len(acknowledged)}")) is not None:
                    acknowledged.append(made)

        writer = threading.Thread(target=write)
        writer.start()
        wait_for(lambda: len(acknowledged) >= 5, "some experiments")
        primary.end(signal.SIGQUIT)  # at once, as in a crash
        replica.tell("SELECT pg_promote()")
        promoted, before = time.monotonic(), len(acknowledged)
        wait_for(lambda: len(acknowledged) >= before + 5, "further ones")
        assert time.monotonic() - promoted < LIMIT / 2
        over.set()
        writer.join(LIMIT)
        stored = {str(row[0]) for row in replica.ask("SELECT id FROM experiments")}
        assert set(acknowledged) <= stored
        numbers = [row[0] for row in replica.ask("SELECT number FROM experiments ORDER BY number")]
        assert len(numbers) == len(set(numbers))
        ready = str(client.base_url.copy_with(path="/readyz"))

        def others() -> list[str]:
            """Return what does not work beside Redis, which this server has not."""
            return [why for why in httpx.get(ready).json()["reasons"] if not why.startswith("redis")]

        wait_for(lambda: not others(), lambda: str(others()))
