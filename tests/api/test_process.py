"""The API as a process of its own, with a real Redis: starting, orders, streams, Ctrl-C, kill -9."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
import redis
from hooke.cluster import broker
from hooke.spec.orders import BrokerOrder, ClaimedOrder, LaunchOrder, Work
from hooke_api.base.security import digest
from hooke_api.scheduling.attempt_tokens import PREFIX

from tests.api.hands import HELLO, SPEC, Supervisor, start, steps
from tests.api.test_ingest import rank
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = pytest.mark.needs("redis")


@pytest.fixture
def socket(program_path):
    """Start a private Redis; yield the path of its socket."""
    with tempfile.TemporaryDirectory(prefix="hooke-redis-", dir="/tmp") as folder:  # 108 bytes at most
        path = Path(folder) / "redis.sock"
        options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", folder]
        process = subprocess.Popen([program_path("redis"), *options], stdout=subprocess.DEVNULL)
        client = redis.Redis(unix_socket_path=str(path))
        until(lambda: path.exists() and client.ping(), "Redis")
        client.close()
        yield path
        process.terminate()
        process.wait(LIMIT)


@pytest.fixture(autouse=True)
def migrated(tmp_path, sqlite_template) -> None:
    """Spare each of these processes another one that migrates."""
    shutil.copy(sqlite_template, tmp_path / "hooke.db")


def until(condition, what):
    return wait_for(condition, what, ignoring=(httpx.TransportError, redis.RedisError, OSError))


LED_UNTIL = "SELECT until FROM leaders WHERE name = 'scheduler'"


class Process:
    """`python -m hooke_api` and a client."""

    def __init__(self, home: Path, socket: Path, **settings: str) -> None:
        self.port = free_port()
        names = {"home": home, "redis_url": f"unix://{socket}", "port": self.port} | settings
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
        self.environment = inherited | {f"HOOKE_{name.upper()}": str(value) for name, value in names.items()}
        self.home, self.url = home, f"http://127.0.0.1:{self.port}"
        self.spawn()

    def spawn(self) -> None:
        with (self.home / "api.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hooke_api"], env=self.environment, stdout=log, stderr=log
            )
        until(lambda: httpx.get(f"{self.url}/readyz").status_code == 200, "the API")
        self.token = (self.home / "token").read_text().strip()
        self.agent_token = (self.home / "agent-token").read_text().strip()
        self.client = httpx.Client(
            base_url=f"{self.url}/api/v1", headers={"authorization": f"Bearer {self.token}"}, timeout=LIMIT
        )

    def sql(self, statement: str) -> list[tuple]:
        """Run a statement on the database; return its rows."""
        with closing(sqlite3.connect(self.home / "hooke.db", timeout=LIMIT)) as connection, connection:
            return connection.execute(statement).fetchall()

    def wait_for_looks(self, count: int) -> None:
        """Wait until the scheduler has looked so often at the queue: who leads says until when, at each look."""
        for _ in range(count):
            before = self.sql(LED_UNTIL)
            until(lambda before=before: self.sql(LED_UNTIL) != before, "a look of the scheduler")

    @property
    def log(self) -> str:
        return (self.home / "api.log").read_text()

    def hello(self) -> None:
        """Be the agent of the cluster for a while: of whom nothing is heard for 40 s, nothing is asked."""
        assert self.agent("hello", HELLO).status_code == 200

    def agent(self, what: str, body: dict) -> httpx.Response:
        """Send a request as the agent of the cluster."""
        headers = {"authorization": f"Bearer {self.agent_token}"}
        return httpx.post(f"{self.url}/api/v1/agents/{what}", json=body, headers=headers, timeout=LIMIT)

    def claim(self, message: tuple[str, list]) -> Work:
        """Return what the order in a message is about."""
        task, (document,) = message
        order = BrokerOrder.model_validate(document)
        answer = self.agent("claim", {"order": order.id, "agent": order.agent})
        assert answer.status_code == 200, answer.text
        work = ClaimedOrder.model_validate_json(answer.content).work
        assert task == broker.TASKS[work.kind]
        return work

    def end(self, number: int) -> int:
        self.client.close()
        self.process.send_signal(number)
        return self.process.wait(LIMIT)


@contextmanager
def running(home, socket, **settings):
    process = Process(home, socket, **settings)
    try:
        yield process
    finally:
        process.client.close()
        process.process.kill()
        process.process.wait()


def messages(socket: Path, queue: str) -> list[tuple[str, list]]:
    """Return task name and arguments of every message on a Celery queue, newest first."""
    import base64

    with redis.Redis(unix_socket_path=str(socket)) as client:
        found = [json.loads(raw) for raw in client.lrange(queue, 0, -1)]
    return [(m["headers"]["task"], json.loads(base64.b64decode(m["body"]))[0]) for m in found]


def sent(socket: Path, kind: str) -> list[tuple[str, list]]:
    """Return the orders of a kind on the queue of the cluster, newest first."""
    return [message for message in messages(socket, "cluster.local") if message[0] == broker.TASKS[kind]]


def supervisor_of(process: Process, order: LaunchOrder) -> Supervisor:
    class Reach:
        url = process.url
        sender = process.client

    return Supervisor(Reach, order)


def test_a_submitted_run_becomes_a_celery_message_at_once(tmp_path, socket):
    with running(tmp_path, socket, schedule_seconds="1000") as process:  # woken, not by the clock
        process.hello()
        experiment = process.client.post("/experiments", json=SPEC).json()
        until(lambda: messages(socket, "cluster.local"), "the order")
        (message,) = messages(socket, "cluster.local")
        assert message[0] == "hooke.cluster.launch"
        order = process.claim(message).attempts[0]
        assert order.token.startswith(PREFIX)
        assert (digest(order.token),) in process.sql("SELECT token_sha256 FROM attempt_tokens")
        run = process.client.get(f"/runs/{order.run}").json()
        assert (run["state"], run["experiment_id"], run["spec"]) == ("dispatched", experiment["id"], order.spec)
        supervisor_of(process, order).report("starting", "running")
        process.client.post(f"/runs/{order.run}/cancel")
        until(lambda: len(messages(socket, "cluster.local")) == 2, "the nudge")
        told = process.claim(sent(socket, "cancel")[0])
        assert (told.run, told.attempt) == (order.run, 1)


def test_ctrl_c_ends_at_once_with_an_open_stream(tmp_path, socket):
    with running(tmp_path, socket) as process, process.client.stream("GET", "/events?after=0") as stream:
        assert stream.status_code == 200
        first = stream.iter_lines()
        assert next(first)
        process.process.send_signal(signal.SIGINT)
        assert process.process.wait(LIMIT) == 0, "an end that hangs is cut off with status 1"
        assert "Traceback" not in process.log


_HANGS = """
import threading
from hooke_api.__main__ import make_server
from hooke_api.events.bus import Bus
from hooke_api.base.settings import Settings

def close(self):
    lock = threading.Lock()
    with lock, lock:
        pass

Bus.close = close
make_server(Settings(), 4.0).run()  # a loaded machine takes a second to come to `close`
"""


def test_an_end_that_hangs_is_cut_off_and_says_where(tmp_path, socket):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
    environment |= {
        "HOOKE_HOME": str(tmp_path),
        "HOOKE_REDIS_URL": f"unix://{socket}",
        "HOOKE_PORT": str(free_port()),
    }
    with (tmp_path / "log").open("w+") as log:
        process = subprocess.Popen([sys.executable, "-c", _HANGS], env=environment, stdout=log, stderr=log)
        until(lambda: "startup complete" in (tmp_path / "log").read_text(), "the API")
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 1
    assert "in close" in (tmp_path / "log").read_text()


def test_kill_9_loses_nothing_and_starts_nothing_twice(tmp_path, socket):
    """A minute away is a lease gone by: what counts is that the API gives everybody time to be heard again."""
    long = {"lease_seconds": "1000", "leader_seconds": "1", "probe_seconds": "1", "resend_seconds": "1000"}
    with running(tmp_path, socket, **long) as process:
        process.hello()
        process.client.post("/experiments", json=SPEC)
        until(lambda: messages(socket, "cluster.local"), "the order")
        order = process.claim(messages(socket, "cluster.local")[0]).attempts[0]
        supervisor = supervisor_of(process, order)
        supervisor.report("starting", "running")
        supervisor.send(rank(0, start(), steps(1)))
        process.end(signal.SIGKILL)
        process.sql("UPDATE attempts SET leased_until = '2001-01-01 00:00:00.000000'")
        process.environment["HOOKE_RESEND_SECONDS"] = "1"  # not before: what nobody has begun is sent again
        process.spawn()
        process.wait_for_looks(3)
        again = supervisor_of(process, order)
        again.reports = supervisor.reports
        assert again.send(rank(0, start(), steps(1), steps(2, first=5))).acknowledged == {0: 2}
        process.wait_for_looks(3)
        run = process.client.get(f"/runs/{order.run}").json()
        assert (run["state"], run["attempt"], run["samples"]) == ("running", 1, 512)
        assert [t["state"] for t in run["history"]] == ["queued", "dispatched", "starting", "running"]
        launched = [task for task, _ in messages(socket, "cluster.local") if task == "hooke.cluster.launch"]
        assert len(launched) == 1
        # and now silence, with the API there: lost, asked for, and never started again by itself
        assert process.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        process.sql("UPDATE attempts SET leased_until = '2001-01-01 00:00:00.000000'")
        process.environment["HOOKE_LEASE_SECONDS"] = "1"
        process.spawn()
        until(lambda: process.client.get(f"/runs/{order.run}").json()["state"] == "lost", "lost")
        query = f"SELECT id FROM agent_orders WHERE kind = 'probe' AND subject = '{order.run}.1'"

        def probes():
            process.hello()  # again and again, as an agent does: three starts of an API may have taken long
            return [message for message in sent(socket, "probe") if (message[1][0]["id"],) in process.sql(query)]

        told = process.claim(until(probes, "the probe")[0])
        assert (told.run, told.attempt) == (order.run, 1)
        assert process.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        assert "Traceback" not in process.log


def test_the_token_is_in_no_log(tmp_path, socket):
    with running(tmp_path, socket, log_level="debug") as process:
        assert httpx.get(f"{process.url}/login", params={"token": process.token}).status_code == 303
        process.client.get("/experiments")
        process.end(signal.SIGINT)
        assert process.token not in process.log


def test_orders_expire_by_the_clock_of_redis(socket):
    """Those that an absent agent does not take; each further order to the cluster renews the time."""
    orders = broker.Orders(broker.make_app(f"unix://{socket}"))
    order = BrokerOrder(id="ord_" + 32 * "0", agent=None, made=1.0)
    with redis.Redis(unix_socket_path=str(socket)) as client:
        for count in (1, 2):
            orders.send("absent", "probe", order)
            assert client.llen("cluster.absent") == count
            assert 0 < client.ttl("cluster.absent") <= broker.EXPIRY_SECONDS
            client.expire("cluster.absent", 5)
        orders.send("other", "cancel", order)
        client.pexpire("cluster.absent", 1)
        until(lambda: not client.exists("cluster.absent"), "the end of the orders")
        assert messages(socket, "cluster.other") == [("hooke.cluster.cancel", [order.model_dump()])]
