"""What lies on a real Redis of every kind of order, and Redis behind TLS with a password."""

import asyncio
import base64
import json
import ssl
import subprocess
import threading
from contextlib import suppress

import pytest
import redis
from hooke.cluster import broker, site
from hooke.cluster.agent import _check_broker
from hooke.errors import LaunchError
from hooke.spec.orders import BrokerOrder
from hooke.spec.protocol import BROKER_KEY
from hooke_api.events.bus import CHANNEL, Bus
from hooke_api.models import Removal, StoredFetch, now
from hooke_api.scheduling.attempt_tokens import PREFIX
from kombu.exceptions import OperationalError

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, HELLO, SPEC
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = [pytest.mark.needs("redis"), ONE_KIND]

PASSWORD = "p@ss:w/rd #?%"
ONE = "agt_" + 32 * "1"
ORDER = BrokerOrder(id="ord_" + 32 * "0", agent=ONE, made=1.0)


@pytest.fixture(scope="module")
def stored(tmp_path_factory, program_path):
    """Start a Redis that asks for a password; yield its port and a client."""
    port, folder = free_port(), tmp_path_factory.mktemp("redis")
    options = ["--port", str(port), "--requirepass", PASSWORD, "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([program_path("redis"), *options], stdout=subprocess.DEVNULL)
    with redis.Redis(port=port, password=PASSWORD) as client:
        wait_for(client.ping, "Redis", ignoring=(redis.ConnectionError,))
        yield port, client
    process.terminate()
    process.wait(LIMIT)


def sending(url: str) -> broker.Orders:
    return broker.Orders(broker.make_app(url))


def test_nothing_on_the_broker_can_be_run_or_used(service, stored):
    """Every kind of order, as the scheduler sends it, read from the real list."""
    port, client = stored
    address = site.with_password(f"redis://127.0.0.1:{port}/0", PASSWORD)
    service.scheduler._sender = sending(address)
    service.hello(agent=ONE)
    with service.database.write() as session:
        session.add(Removal(run_id="run_deleted", cluster="local", created_at=now()))
    path = "/clusters/local/calibrations"
    id = service.client.post(path, json={"workloads": ["digits-mlp"]}).json()["id"]
    service.scheduler.look()
    service.client.post(f"{path}/{id}/cancel").raise_for_status()
    service.scheduler.look()
    service.agent.post("/agents/calibration", json={"id": id, "why": "cancelled"}).raise_for_status()
    service.client.post("/experiments", json=SPEC | ALONE | {"name": "hunter2"}).raise_for_status()
    service.scheduler.look()
    run = service.runs()[0]["id"]
    with service.database.write() as session:
        what = {"run_id": run, "cluster": "local", "attempt": 1, "samples": 8, "files": [], "size": 0}
        made = {"stored": {}, "state": "waiting", "created_at": now(), "created_by": "owner"}
        session.add(StoredFetch(id="fet_1", **what, **made))
    service.client.post(f"/runs/{run}/cancel").raise_for_status()
    service.scheduler.look()

    raw = client.lrange(broker.queue("local"), 0, -1)
    messages = [json.loads(each) for each in raw]
    assert {message["headers"]["task"] for message in messages} == set(broker.TASKS.values())
    secrets = (PREFIX, "hunter2", "digits-mlp", "sync-easgd", PASSWORD, service.settings.agents)
    paths = (str(service.settings.home), "/tmp/")
    for message in messages:
        arguments, named, _ = body = json.loads(base64.b64decode(message["body"]))
        (document,) = arguments
        assert (document.keys(), named) == ({"id", "agent", "made"}, {})
        BrokerOrder.model_validate(document)
        text = json.dumps([message, body])  # the headers hold the arguments, too
        assert [word for word in (*secrets, *paths, run, id, "run_deleted", "fet_1") if word in text] == []


@pytest.mark.filterwarnings("ignore::celery.exceptions.CPendingDeprecationWarning")  # of lost tasks
def test_an_agent_waits_for_a_redis_that_refuses_commands_and_takes_orders_again(stored):
    """As a replica does until it is promoted: it ended then, with status 0, so that nobody started it again."""
    port, client = stored
    app, taken = broker.make_app(site.with_password(f"redis://127.0.0.1:{port}/0", PASSWORD)), []

    def take(document) -> None:
        taken.append(document)

    app.task(take, name="tests.take")  # those of orders are tasks of all applications in this process
    quiet = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True, "loglevel": "CRITICAL"}
    worker = app.WorkController(pool="threads", concurrency=1, queues=[broker.queue("waiting")], **quiet)
    thread = threading.Thread(target=worker.start, daemon=True)
    thread.start()
    try:
        wait_for(lambda: client.client_list(_type="normal")[1:] and worker.consumer, "a connection of the agent")
        client.replicaof("127.0.0.1", 1)
        wait_for(lambda: worker.consumer.restart_count > 2, "refused commands")
        assert worker.exitcode is None and thread.is_alive()
    finally:
        client.replicaof("no", "one")
    app.send_task("tests.take", args=["an order"], queue=broker.queue("waiting"))
    wait_for(lambda: taken, "the order")
    worker.stop()
    thread.join(LIMIT)
    app.close()
    assert taken == ["an order"]


def test_a_redis_without_memory_is_not_taken_for_another_one(service, stored, monkeypatch):
    """It answers, and takes nothing: agents did not start, and nothing was announced for half of the time."""
    port, client = stored
    address = site.with_password(f"redis://127.0.0.1:{port}/0", PASSWORD)
    bus = Bus(address)
    monkeypatch.setitem(service.app.state._state, "bus", bus)
    client.delete(BROKER_KEY)
    with client.pubsub() as heard:
        heard.subscribe(CHANNEL)
        wait_for(lambda: heard.get_message(timeout=1), "the subscription")
        client.config_set("maxmemory", 1)
        try:
            told = service.agent.post("/agents/hello", json=HELLO).raise_for_status().json()
            _check_broker(address, told["broker"])
            bus.ping(7)
            wait_for(lambda: heard.get_message(timeout=1), "a notification")
            with pytest.raises(Exception, match="maxmemory"):
                sending(address).send("full", "probe", ORDER)
        finally:
            client.config_set("maxmemory", 0)
    told = service.agent.post("/agents/hello", json=HELLO).raise_for_status().json()
    assert client.get(BROKER_KEY) == told["broker"].encode()
    sending(address).send("full", "probe", ORDER)
    bus.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return the files of a key and of a certificate for `localhost` that is its own authority."""
    folder = tmp_path_factory.mktemp("tls")
    key, made = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(made), "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    return key, made


class TlsProxy:
    """TLS before a port of this host, as in docs/deployment.md.

    In one thread: Python before 3.13 does not protect a connection which one thread reads while another writes.
    """

    def __init__(self, target: int, key, certificate) -> None:
        self.target, self.loop, self.port = target, asyncio.new_event_loop(), 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.opened: list[asyncio.StreamWriter] = []
        self.listens, self.thread = threading.Event(), threading.Thread(target=self.run)
        self.thread.start()
        assert self.listens.wait(LIMIT)

    def run(self) -> None:
        self.loop.set_exception_handler(lambda loop, context: None)  # of clients that refuse the certificate
        with suppress(asyncio.CancelledError):
            self.loop.run_until_complete(self.serve())
        for each in self.opened:
            each.transport.abort()
        self.loop.run_until_complete(asyncio.sleep(0.05))  # in which the copies end
        self.loop.close()

    async def serve(self) -> None:
        server = await asyncio.start_server(self.tunnel, "127.0.0.1", 0, ssl=self.context)
        self.serving, self.port = asyncio.current_task(), server.sockets[0].getsockname()[1]
        self.listens.set()
        await server.serve_forever()

    async def tunnel(self, outside, to_outside) -> None:
        inside, to_inside = await asyncio.open_connection("127.0.0.1", self.target)
        self.opened += [to_outside, to_inside]
        await asyncio.gather(self.copy(outside, to_inside), self.copy(inside, to_outside))

    async def copy(self, source, sink) -> None:
        with suppress(OSError):
            while part := await source.read(65_536):
                sink.write(part)
                await sink.drain()
        sink.close()

    def close(self) -> None:
        """End every connection, also those that pools keep open."""
        self.loop.call_soon_threadsafe(self.serving.cancel)
        self.thread.join(LIMIT)
        assert not self.thread.is_alive()


@pytest.fixture(scope="module")
def encrypted(stored, certificate):
    """Return a function that returns the URL of the Redis behind TLS, and the certificate."""
    proxy = TlsProxy(stored[0], *certificate)

    def url(database: int, host="localhost", password=PASSWORD, trusted=True) -> str:
        """`database`: kombu shares connections of a process by host, port, database and password."""
        query = f"?ssl_ca_certs={certificate[1]}" if trusted else ""
        return site.with_password(f"rediss://{host}:{proxy.port}/{database}{query}", password)

    yield url
    proxy.close()


@pytest.mark.needs("openssl")
def test_orders_and_notifications_go_through_tls_with_a_password(stored, encrypted):
    sending(encrypted(0)).send("encrypted", "probe", ORDER)
    assert stored[1].llen(broker.queue("encrypted")) == 1
    _check_broker(encrypted(0))
    bus = Bus(encrypted(0))
    assert bus.answers() is None
    bus.close()


@pytest.mark.needs("openssl")
@pytest.mark.parametrize(("database", "changes"), [(1, {"trusted": False}), (2, {"host": "127.0.0.1"})])
def test_no_order_goes_to_a_server_whose_certificate_is_not_trusted(stored, encrypted, database, changes):
    """Celery by itself accepts any certificate under `rediss://`, and so whoever stands in between."""
    with pytest.raises(OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
        sending(encrypted(database, **changes)).send("intercepted", "probe", ORDER)
    stored[1].select(database)
    left = stored[1].llen(broker.queue("intercepted"))
    stored[1].select(0)
    assert left == 0


@pytest.mark.needs("openssl")
def test_an_agent_says_what_is_wrong_with_its_encrypted_broker(encrypted):
    with pytest.raises(LaunchError, match=r"has a certificate that is not accepted: .*\?ssl_ca_certs=FILE"):
        _check_broker(encrypted(0, trusted=False))
    with pytest.raises(LaunchError, match="refuses the password") as caught:
        _check_broker(encrypted(0, password="wrong"))
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("redis://:p%40@h:6379/2", "redis://:p%40@h:6379/2"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("rediss://:p%40@h:6379/2", "rediss://:p%40@h:6379/2?ssl_cert_reqs=required&ssl_check_hostname=true"),
        (
            "rediss://h/0?ssl_ca_certs=/etc/a b.pem&ssl_check_hostname=false",
            "rediss://h/0?ssl_cert_reqs=required&ssl_check_hostname=false&ssl_ca_certs=%2Fetc%2Fa%20b.pem",
        ),
    ],
)
def test_celery_is_told_to_check_certificates(given, expected):
    assert broker.broker_url(given) == expected
