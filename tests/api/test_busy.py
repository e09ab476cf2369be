"""A database that is locked, away, or full: what waits, what does not, and that work goes on by itself."""

import inspect
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from hooke_api.app import create_app
from hooke_api.base.errors import TooLarge, Unavailable
from hooke_api.base.settings import Settings
from hooke_api.base.workers import Repeating, Workers
from hooke_api.ingest import received
from hooke_api.storage.turns import Turns
from hooke_api.web import health

from tests.api.conftest import serve
from tests.api.databases import fresh_database, make_settings, run_sql
from tests.api.hands import ALONE, HELLO, SPEC
from tests.api.test_experiments import problem
from tests.waiting import LIMIT, free_port, wait_for


def test_turns_are_taken_in_order_and_only_some_may_wait():
    turns, order, threads = Turns(1, 3, LIMIT), [], []

    def write(number):
        with turns.take():
            order.append(number)

    with turns.take():
        for number in range(3):
            threads.append(threading.Thread(target=write, args=(number,)))
            threads[-1].start()
            wait_for(lambda: len(turns._queue) == len(threads), "the next in the queue")
        with pytest.raises(Unavailable, match="3 requests wait"), turns.take():
            pass
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2]
    with turns.take():  # and the turn has come back
        pass


def test_whoever_waits_too_long_gives_up_its_place():
    turns = Turns(1, 1, 0.05)
    with turns.take():
        for _ in range(2):
            with pytest.raises(Unavailable, match="busy with other writers"), turns.take():
                pass
    with turns.take():
        pass


def test_an_error_in_a_turn_ends_it():
    turns = Turns(1, 0, 0.05)
    for _ in range(2):
        with pytest.raises(KeyError), turns.take():
            raise KeyError


@contextmanager
def served(url, home, **changes):
    """Yield a running API with a cluster, and a client of it."""
    app = create_app(make_settings(home, url, **changes))
    running = serve(app)
    agent = {"authorization": f"Bearer {app.state.settings.agents}"}
    httpx.post(f"{running.url}/api/v1/agents/hello", json=HELLO, headers=agent).raise_for_status()
    headers = {"authorization": f"Bearer {app.state.settings.token}"}
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=f"{running.url}/api/v1", headers=headers, timeout=LIMIT, limits=limits) as client:
        yield app, client
    running.stop()


@contextmanager
def locked(path):
    """Hold SQLite's lock for writers, as another process does."""
    with closing(sqlite3.connect(path, timeout=LIMIT, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def unavailable(answer: httpx.Response) -> None:
    assert problem(answer, 503)["type"] == "/problems/unavailable"
    assert int(answer.headers["retry-after"]) >= 1


def test_a_lock_on_sqlite_delays_no_reader_and_is_told_to_writers(tmp_path, sqlite_template):
    shutil.copy(sqlite_template, tmp_path / "hooke.db")
    with served(f"sqlite:///{tmp_path / 'hooke.db'}", tmp_path, database_seconds=0.4) as (_, client):
        with locked(tmp_path / "hooke.db"):
            unavailable(client.post("/experiments", json=SPEC | ALONE))
            assert client.get("/experiments").json()["items"] == []
        assert client.post("/experiments", json=SPEC | ALONE).status_code == 201


def test_while_writers_wait_others_are_answered(tmp_path, sqlite_template):
    """More requests than there are threads want to write; lists, and whether the process lives, are still told."""
    shutil.copy(sqlite_template, tmp_path / "hooke.db")
    url = f"sqlite:///{tmp_path / 'hooke.db'}"
    with served(url, tmp_path, database_seconds=LIMIT) as (app, client), ThreadPoolExecutor(60) as pool:
        with locked(tmp_path / "hooke.db"):
            asked = [pool.submit(client.post, "/runs/run_x/cancel") for _ in range(60)]
            wait_for(lambda: sum(each.done() for each in asked) >= 20, "the refusal of those too many")
            assert {each.result().status_code for each in asked if each.done()} == {503}
            assert client.get("/experiments").status_code == 200
            assert client.get("/livez").json() == {"live": True}
            assert len(app.state.database._turns._queue) == 32
        statuses = [each.result().status_code for each in asked]
    assert statuses.count(404) == 33  # no run has this id; they had their turn
    assert inspect.iscoroutinefunction(health.livez), "it must need no thread"


@pytest.mark.needs("postgres")
def test_postgresql_away_is_told_and_over_when_it_is_back(request, tmp_path):
    with fresh_database(request, "postgres", tmp_path) as url:
        name, folder = url.partition("@/")[2].partition("?")[0], request.getfixturevalue("postgres")
        with served(url, tmp_path) as (_, client):
            assert client.get("/experiments").status_code == 200
            run_sql(folder, f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            run_sql(folder, ended)
            unavailable(client.get("/experiments"))
            unavailable(client.post("/experiments", json=SPEC | ALONE))
            unavailable(client.post("/ingest", content=b"{}"))
            assert client.get("/livez").status_code == 200
            assert "the database does not respond" in " ".join(client.get("/readyz").json()["reasons"])
            run_sql(folder, f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            assert client.post("/experiments", json=SPEC | ALONE).status_code == 201
            for setting, status in (("on", 503), ("off", 201)):  # services do that while their disk is full
                run_sql(folder, f"ALTER DATABASE {name} SET default_transaction_read_only = {setting}")
                run_sql(folder, ended)
                assert len(client.get("/experiments").json()["items"]) == 1
                answer = client.post("/experiments", json=SPEC | ALONE)
                assert answer.status_code == status, answer.text


class Mortal(threading.Thread):
    """A worker that ends when it is told."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.told, self.trouble = threading.Event(), None

    def run(self) -> None:
        self.told.wait(LIMIT)

    def stop(self) -> None:
        self.told.set()
        self.join(LIMIT)

    def fault(self) -> str | None:
        return self.trouble

    def overdue(self) -> float:
        return 0.0


def test_a_thread_that_has_ended_is_seen_and_started_again():
    made: list[Mortal] = []

    def make() -> Mortal:
        made.append(Mortal())
        return made[-1]

    found = Workers()
    found.add("scheduler", make)
    assert found.reasons() == []
    made[0].trouble = "no space"
    assert found.reasons() == ["the scheduler does not work: no space"]
    made[0].stop()
    assert found.reasons() == ["the scheduler does not work: its thread has ended"]
    found.look()
    assert (len(made), found.reasons()) == (2, [])
    found.stop()
    assert not made[1].is_alive()


class Looking(Repeating):
    """Looks every hour, and fails while there is trouble."""

    def __init__(self) -> None:
        super().__init__("looker", 3600)
        self.trouble, self.looks, self.closed = "no space", 0, False

    def look(self) -> None:
        self.looks += 1
        if self.trouble:
            raise OSError(self.trouble)

    def close(self) -> None:
        self.closed = True


def test_a_look_that_fails_is_told_and_repeated_soon():
    worker = Looking()
    worker.start()
    wait_for(worker.fault, "the first look")
    said = "its last look failed: the operating system refuses something; the log of the server says more"
    assert worker.fault() == said
    worker.trouble = ""
    wait_for(lambda: worker.fault() is None, "another look, long before the hour is over")
    assert worker.looks >= 2
    worker.stop()
    assert worker.closed and not worker.is_alive()


class Hanging(Repeating):
    """Looks as long as it is kept."""

    def __init__(self) -> None:
        super().__init__("hanging", 0.05)
        self.free = threading.Event()

    def look(self) -> None:
        self.free.wait(LIMIT)


def test_a_look_that_does_not_end_is_told_as_long_as_it_lasts():
    found, worker = Workers(0.2), Hanging()
    found.add("hanging", lambda: worker)
    wait_for(found.reasons, "the limit")
    said = "the hanging does not work: it has given no sign of life for 0 s; the log of the server says more"
    assert found.reasons() == [said]
    worker.free.set()
    wait_for(lambda: found.reasons() == [], "its end")
    found.stop()


def test_a_body_that_takes_too_long_to_read_is_refused():
    body = json.dumps({"run": "run_a", "attempt": 1, "ranks": [{"rank": 0, "records": [{}] * 50}]}).encode()
    with pytest.raises(TooLarge, match="takes too long to read"):
        received.read(body, seconds=-1.0)


@pytest.fixture
def small_disk(tmp_path):
    """Yield a folder on a disk of 24 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(path: Path) -> None:
    """Fill the disk to the last byte."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue


def test_a_disk_that_soon_takes_no_more_files_is_told(small_disk):
    settings = Settings(home=small_disk, disk_warning=0)
    assert health.disk_warnings(settings) == []
    found = os.statvfs(small_disk)
    used = found.f_files - found.f_ffree
    subprocess.run(["mount", "-o", f"remount,nr_inodes={used + 20}", small_disk], check=True)
    (told,) = health.disk_warnings(settings)
    assert told.startswith("the disk of the database takes 20 more files, fewer than 1000: ")


def test_a_full_disk_ends_nothing_and_work_goes_on_when_there_is_space(small_disk, sqlite_template):
    shutil.copy(sqlite_template, small_disk / "hooke.db")
    names = {"home": small_disk, "port": (port := free_port()), "redis_url": f"unix://{small_disk}/absent.sock"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
    environment = kept | {f"HOOKE_{name.upper()}": str(value) for name, value in names.items()}
    url = f"http://127.0.0.1:{port}"
    with (small_disk / "api.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "hooke_api"], env=environment, stdout=log, stderr=log)

    def reasons() -> str | None:
        try:
            return " ".join(httpx.get(f"{url}/readyz").json()["reasons"])
        except httpx.TransportError:
            return None

    try:
        wait_for(lambda: reasons() is not None, "the API")
        headers = {"authorization": f"Bearer {(small_disk / 'token').read_text().strip()}"}
        agent = {"authorization": f"Bearer {(small_disk / 'agent-token').read_text().strip()}"}
        with httpx.Client(base_url=f"{url}/api/v1", headers=headers, timeout=LIMIT) as client:
            client.post("/agents/hello", json=HELLO, headers=agent).raise_for_status()
            assert "scheduler" not in (reasons() or "")
            fill(small_disk / "ballast")
            text = SPEC | ALONE
            wait_for(lambda: client.post("/experiments", json=text).status_code == 503, "the end of the space")
            wait_for(lambda: "the scheduler does not work" in (reasons() or ""), "the scheduler's trouble")
            unavailable(client.post("/experiments", json=text))
            assert client.get("/livez").status_code == 200
            assert client.get("/clusters").status_code == 200
            time.sleep(1)  # passes of the scheduler, each of which wants to write
            (small_disk / "ballast").unlink()
            wait_for(lambda: "scheduler" not in (reasons() or "scheduler"), "the scheduler, by itself")
            client.post("/agents/hello", json=HELLO, headers=agent).raise_for_status()
            client.post("/experiments", json=SPEC | ALONE).raise_for_status()
            runs = lambda: [run["state"] for run in client.get("/runs").json()["items"]]  # noqa: E731
            wait_for(lambda: "dispatched" in runs(), "work")
    finally:
        process.kill()
        process.wait(LIMIT)
