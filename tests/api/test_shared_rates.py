"""Limits over several API processes: buckets in Redis, two real processes, and a Redis that is away."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack, contextmanager

import httpx
import pytest
import redis
from hooke_api.base import shared_rates
from hooke_api.base.shared_rates import AWAY, SHARE, SharedBuckets

from tests.api.databases import postgres_url, run_sql
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = pytest.mark.needs("redis")


@pytest.fixture(scope="module")
def stored(program_path):
    """Start a Redis; yield its process, its URL and a client."""
    with tempfile.TemporaryDirectory(prefix="hooke-redis-", dir="/tmp") as folder:  # 108 bytes at most
        socket = f"{folder}/redis.sock"
        options = ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        process = subprocess.Popen([program_path("redis"), *options], stdout=subprocess.DEVNULL)
        with redis.Redis.from_url(f"unix://{socket}") as client:
            wait_for(client.ping, "Redis", ignoring=(redis.ConnectionError,))
            yield process, f"unix://{socket}", client
        process.terminate()
        process.wait(LIMIT)


@pytest.fixture
def empty(stored, monkeypatch):
    """Return a Redis that holds nothing, and that counts as one that answers also on a busy machine."""
    stored[2].flushall()
    monkeypatch.setattr(shared_rates, "SECONDS", 30.0)
    return stored


@contextmanager
def stopped(process):
    """Stop a process, not its connections, inside the block."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def run(url, work, processes=2, **changes):
    """Do a work with the buckets of so many processes on one Redis."""

    async def working():
        made = [SharedBuckets(url, "secret", **changes) for _ in range(processes)]
        try:
            return await work(*made)
        finally:
            for each in made:
                await each.close()

    return asyncio.run(working())


def test_two_processes_take_from_one_bucket(empty):
    """One request each 6 s: exactly ten, whoever asks."""

    async def work(one, other):
        waits = [await (one, other)[i % 3 == 0].take("requests", "a", 10) for i in range(40)]
        assert await other.take("requests", "b", 10) == 0
        assert await one.take("claims", "a", 10) == 0
        stranger = SharedBuckets(empty[1], "another installation")
        assert await stranger.take("requests", "a", 10) == 0
        await stranger.close()
        return waits

    def quickly():
        """What would take longer than a request is let through for is done again."""
        empty[2].flushall()
        began = time.monotonic()
        found = run(empty[1], work)
        return time.monotonic() - began < 6 and found

    waits = wait_for(quickly, "less than 6 s for 43 requests")
    assert [wait == 0 for wait in waits] == [True] * 10 + [False] * 30
    assert all(0 < wait <= 6 for wait in waits[10:])
    names = [name.decode() for name in empty[2].scan_iter()]
    assert len(names) == 4
    assert all(0 < empty[2].pttl(name) <= 60_000 for name in names), "Redis forgets what is full"


def test_a_busy_client_is_held_to_its_limit_and_costs_few_messages(empty):
    size, processes = 6000, 4
    sent = empty[2].info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)

    async def work(*made):
        passed = []
        for each in made * 2:
            count = 0
            while await each.take("requests", "a", size) == 0:
                count += 1
            passed.append(count)
        return passed

    began = time.monotonic()
    passed = run(empty[1], work, processes)
    elapsed = time.monotonic() - began
    assert size <= sum(passed) <= size + elapsed * size / 60 + 1 + processes * size // SHARE
    asked = empty[2].info("commandstats")["cmdstat_evalsha"]["calls"] - sent
    assert asked < sum(passed) / 10


def test_a_quiet_client_is_charged_for_what_it_sends(empty):
    now = [0.0]

    async def work(one):
        for _ in range(30):
            assert await one.take("requests", "a", 600) == 0
            now[0] += 2 * shared_rates.DRAWN_SECONDS

    run(empty[1], work, 1, clock=lambda: now[0])
    (name,) = empty[2].scan_iter()
    assert empty[2].pttl(name) <= 30 * 100, "a tenth of a second for each"


def test_what_a_stream_of_addresses_leaves_is_bounded(empty, monkeypatch):
    monkeypatch.setattr(shared_rates, "MOST", 10)

    async def work(one):
        for number in range(50):
            assert await one.take("anonymous", str(number), 10) == 0
        return len(one)

    assert run(empty[1], work, 1) == 10


@pytest.mark.parametrize(("found", "passes"), [(b"9" * 18, False), (b"1", True), (b"no number", True)])
def test_a_bucket_that_somebody_wrote_closes_nothing_for_long(empty, found, passes):
    """Such as the clock of Redis, which was set back by years: then a bucket is empty, and fills up."""

    async def work(one, other):
        await one.take("requests", "a", 10)
        (name,) = empty[2].scan_iter()
        empty[2].set(name, found)
        wait = await other.take("requests", "a", 10)
        return wait, other.warnings()

    wait, warnings = run(empty[1], work)
    assert wait == 0 if passes else 0 < wait <= 6
    assert warnings == ([AWAY] if found == b"no number" else [])


def test_without_an_answer_of_redis_nobody_waits_twice(empty, monkeypatch):
    process, url, client = empty
    monkeypatch.setattr(shared_rates, "SECONDS", 0.5)
    now = [0.0]

    async def work(one):
        with stopped(process):
            together = [one.take("requests", str(number), 10) for number in range(20)]
            assert await asyncio.gather(*together) == [0] * 20
            assert one.warnings() == [AWAY]
            for _ in range(100):  # ten would be let through, and Redis would have to answer each
                assert await one.take("requests", "a", 10) == 0
        client.ping()
        assert client.dbsize() <= 1, "one request has asked, for all"
        now[0] += shared_rates.PAUSE_SECONDS
        assert await one.take("requests", "b", 10) == 0
        assert one.warnings() == []

    run(url, work, 1, clock=lambda: now[0])

    async def absent(one):
        assert await one.take("requests", "a", 10) == 0
        return one.warnings()

    assert run("unix:///tmp/absent/redis.sock", absent, 1) == [AWAY]


LIMITS = {"HOOKE_REQUESTS_PER_MINUTE": "20", "HOOKE_ANONYMOUS_PER_MINUTE": "12"}


@pytest.fixture
def both(tmp_path, postgres, postgres_template, stored):
    """Start two API processes on one database, home folder and Redis; yield clients, tokens and that Redis."""
    stored[2].flushall()
    name = f"test_{uuid.uuid4().hex}"
    run_sql(postgres, f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOOKE_")}
    environment |= {"HOOKE_DATABASE_URL": postgres_url(postgres, name), "HOOKE_REDIS_URL": stored[1]}
    environment |= {"HOOKE_HOME": str(tmp_path), "HOOKE_SCHEDULE": "false", "HOOKE_LOG_LEVEL": "warning"} | LIMITS
    with ExitStack() as stack:
        stack.callback(run_sql, postgres, f"DROP DATABASE {name} WITH (FORCE)")
        clients = []
        for number, port in enumerate((free_port(), free_port())):
            log = stack.enter_context((tmp_path / f"api-{number}.log").open("wb"))
            process = subprocess.Popen(
                [sys.executable, "-m", "hooke_api"],
                env=environment | {"HOOKE_PORT": str(port)},
                stdout=log,
                stderr=log,
            )
            stack.callback(process.wait, LIMIT)
            stack.callback(process.terminate)
            url = f"http://127.0.0.1:{port}"
            clients.append(stack.enter_context(httpx.Client(base_url=url, timeout=LIMIT, trust_env=False)))
        for client in clients:
            wait_for(
                lambda client=client: client.get("/livez").status_code == 200,
                lambda: [path.read_text() for path in tmp_path.glob("*.log")],
                ignoring=(httpx.ConnectError,),
            )
        yield clients, {name: (tmp_path / name).read_text().strip() for name in ("token", "agent-token")}, stored


def alternately(clients, count, send) -> tuple[list[int], float]:
    """Send requests to one process after the other; return the status of each, and the seconds that all took."""
    began = time.monotonic()
    statuses = [send(clients[i % len(clients)]).status_code for i in range(count)]
    return statuses, time.monotonic() - began


@pytest.mark.needs("postgres")
def test_two_processes_allow_a_client_as_much_as_one_and_each_goes_on_alone_without_redis(both):
    clients, tokens, (redis_server, _, _) = both
    owner, agent = ({"authorization": f"Bearer {tokens[name]}"} for name in ("token", "agent-token"))

    found, took = alternately(clients, 30, lambda client: client.get("/api/v1/me", headers=owner))
    assert set(found) == {200, 429}
    assert 20 <= found.count(200) <= 20 + took / 3 + 1, "each has seen 15, fewer than it allows by itself"
    answer = clients[0].get("/api/v1/me", headers=owner)
    if answer.status_code == 429:
        assert 1 <= int(answer.headers["retry-after"]) <= 3
        assert "more than 20 requests of this token or session" in answer.json()["detail"]

    guess = {"authorization": "Bearer hooke_token_guess"}
    found, took = alternately(clients, 20, lambda client: client.get("/api/v1/me", headers=guess))
    assert 12 <= found.count(401) <= 12 + took / 5 + 1
    assert [client.get("/readyz").json()["warnings"] for client in clients] == [[], []]

    with stopped(redis_server):
        hello = alternately(clients, 30, lambda c: c.post("/api/v1/agents/hello", json={}, headers=agent))
        assert set(hello[0]) == {422}, "each allows 20"
        ready = [client.get("/readyz") for client in clients]
        assert [answer.json()["warnings"] for answer in ready] == [[AWAY], [AWAY]]
