"""Orders to a Redis that is stopped, not dead: connections to it are accepted, and nothing answers."""

import base64
import json
import signal
import subprocess
import tempfile
import threading
from types import SimpleNamespace

import pytest
import redis
from hooke.cluster import broker
from hooke.spec.orders import BrokerOrder, ClaimedOrder
from hooke_api.events.bus import Bus
from hooke_api.models import Attempt

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC, Supervisor
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = [pytest.mark.needs("redis"), ONE_KIND]

FORGED = BrokerOrder(id="ord_" + 32 * "0", agent=None, made=1.0)
CLUSTERS = ("lab", "local")


@pytest.fixture(params=["tcp", "unix"])
def stored(request, program_path):
    """Start a Redis; yield its process, its URL and a client. Kombu treats the two kinds of URL differently."""
    with tempfile.TemporaryDirectory(prefix="hooke-redis-", dir="/tmp") as folder:  # 108 bytes at most
        port = free_port() if request.param == "tcp" else 0
        url = f"redis://127.0.0.1:{port}/0" if port else f"unix://{folder}/redis.sock"
        options = ["--port", str(port), "--unixsocket", f"{folder}/redis.sock", "--save", "", "--dir", folder]
        process = subprocess.Popen([program_path("redis"), *options], stdout=subprocess.DEVNULL)
        with redis.Redis.from_url(url) as client:
            wait_for(client.ping, "Redis", ignoring=(redis.ConnectionError,))
            yield process, url, client
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(LIMIT)


@pytest.fixture
def counted(service, stored, monkeypatch):
    """Let the scheduler send to this Redis, on a connection that exists; return the orders that it tries."""
    monkeypatch.setattr(broker, "ANSWER_SECONDS", 0.3)
    line, tried = broker.Orders(broker.make_app(stored[1])), []

    def send(*order):
        tried.append(order)
        line.send(*order)

    for cluster in CLUSTERS:
        line.send(cluster, "probe", FORGED)
        stored[2].delete(broker.queue(cluster))
    service.scheduler._sender = SimpleNamespace(send=send)
    return tried


def look(service):
    """Let the scheduler look in a thread, which must end although Redis does not answer."""
    service.scheduler._silent_until = 0.0
    thread = threading.Thread(target=service.scheduler.look, daemon=True)
    thread.start()
    thread.join(LIMIT / 4)
    assert not thread.is_alive(), "the pass hangs"


def arrived(client, cluster):
    """Return the orders on the list of a cluster, oldest first."""
    messages = [json.loads(raw) for raw in client.lrange(broker.queue(cluster), 0, -1)[::-1]]
    return [BrokerOrder.model_validate(json.loads(base64.b64decode(m["body"]))[0][0]) for m in messages]


def test_one_order_of_a_pass_is_waited_for_and_all_arrive_when_redis_goes_on(service, stored, counted):
    process, url, client = stored
    for name in CLUSTERS:
        service.hello(name)
        clusters = [{"name": name, "workers": [2], "seeds": 1}]
        service.client.post("/experiments", json=SPEC | ALONE | {"clusters": clusters}).raise_for_status()
    assert service.scheduler.fault() is None
    process.send_signal(signal.SIGSTOP)
    for passes in (1, 2):
        look(service)
        assert len(counted) == passes
        assert service.scheduler.fault().startswith("orders cannot be sent, and are tried again; ")
    bus = Bus(url)
    assert bus.answers() == "it does not answer in time"
    assert service.count(Attempt) == 2, "runs are dispatched all the same"

    process.send_signal(signal.SIGCONT)
    look(service)
    assert (service.scheduler.fault(), bus.answers()) == (None, None)
    bus.close()
    for cluster in CLUSTERS:
        launches = claim_all(service, cluster, arrived(client, cluster))
        assert len({(each.run, each.attempt) for each in launches}) == 1, "what arrived twice is one attempt"
        supervisor = Supervisor(service, launches[-1])
        supervisor.report("starting", "running")
        for order in arrived(client, cluster):
            assert service.claim(cluster, order).status_code == 410
        supervisor.report("succeeded")
    assert service.count(Attempt) == 2
    assert [run["state"] for run in service.runs()] == ["succeeded"] * 2
    look(service)
    assert len(counted) == 4, "nothing is sent again"


def claim_all(service, cluster, orders):
    """Claim orders as the agent does; return the launches in them."""
    answers = [service.claim(cluster, order) for order in orders]
    assert all(answer.status_code == 200 for answer in answers)
    return [ClaimedOrder.model_validate_json(answer.content).work.attempts[0] for answer in answers]
