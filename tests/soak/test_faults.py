"""The drawing of faults, the load, and the proxy against a real HTTP server."""

import http.client
import json
import random
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hooke.catalogue.expand import expand
from hooke.catalogue.validation import validate_experiment

from benchmarks.soak import proxy as proxies
from benchmarks.soak.drawing import LEAST_PAUSE, Kind, draw
from benchmarks.soak.expected import expected
from benchmarks.soak.faults import KINDS, STRIKES
from benchmarks.soak.load import experiment
from benchmarks.soak.proxy import Proxy

ANSWER = b'{"acknowledged": true}'


def test_faults_are_a_function_of_the_seed():
    plan = draw(7, 600, 4, KINDS)
    assert plan == draw(7, 600, 4, KINDS)
    assert plan != draw(8, 600, 4, KINDS)
    assert [p.at for p in plan] == sorted(p.at for p in plan) and plan[-1].at < 600
    assert min(b.at - a.at for a, b in zip(plan, plan[1:], strict=False)) >= LEAST_PAUSE - 1e-9
    assert all(p.seconds in KINDS[p.fault].seconds and 0 <= p.pick < 1 for p in plan)


def test_kinds_come_as_often_as_they_weigh():
    kinds = {"a": Kind(1), "b": Kind(3, (1.0, 2.0)), "c": Kind(2)}
    plan = draw(1, 10_000, 5, kinds)
    assert Counter(p.fault for p in plan[:60]) == {"a": 10, "b": 30, "c": 20}
    assert {p.seconds for p in plan if p.fault == "b"} == {1.0, 2.0}
    assert len(plan) == pytest.approx(2000, abs=200)  # 4.5 standard deviations


def test_every_fault_can_strike():
    assert KINDS.keys() == STRIKES.keys()
    assert all(kind.weight > 0 for kind in KINDS.values())


@pytest.mark.parametrize("hosts", [True, False])
def test_the_points_of_every_run_of_the_load_are_known(hosts):
    chance = random.Random(3)
    for number in range(60):
        spec = validate_experiment(experiment(chance, number, hosts))
        slots = {"local": 2, "hosts": 3 if hosts else 2}
        for run in expand(spec, slots):
            assert run.ranks <= slots[run.host] or run.spec.world == "virtual"
            document = run.spec.model_dump(mode="json")
            wanted = expected(document, run.workers, run.servers)
            assert wanted.total * document["batch"] == document["budget"]["samples"]
            assert len(wanted.evaluations) == 5


class Recorder(BaseHTTPRequestHandler):
    """Counts what arrives."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, body, self.headers["authorization"]))
        self.send_response(200)
        self.send_header("content-length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    made.got = []
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def proxy(server):
    made = Proxy(server.server_address[1])
    yield made
    made.close()


def ask(proxy, timeout=60.0):
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=timeout)
    try:
        connection.request("POST", "/api/v1/ingest", b"body", {"Authorization": "Bearer x"})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("retry-after")
    finally:
        connection.close()


def test_it_forwards_faithfully(proxy, server):
    assert ask(proxy) == (200, ANSWER, None)
    assert server.got == [("/api/v1/ingest", b"body", "Bearer x")]


def test_it_answers_instead_of_the_server(proxy, server):
    proxy.mode = "429"
    assert (ask(proxy)[0], ask(proxy)[2]) == (429, str(proxies.RETRY_AFTER))
    proxy.mode = "500"
    assert ask(proxy)[0] == 500
    proxy.mode = "garbage"
    status, body, _ = ask(proxy)
    assert status == 200
    with pytest.raises(ValueError):
        json.loads(body)
    assert server.got == []


def test_it_delivers_twice_and_late(proxy, server, monkeypatch):
    proxy.mode = "twice"
    assert ask(proxy)[:2] == (200, ANSWER)
    assert len(server.got) == 2
    monkeypatch.setattr(proxies, "SLOW", 0.2)
    proxy.mode = "slow"
    with pytest.raises(TimeoutError):
        ask(proxy, timeout=0.1)


def test_it_loses_the_answer_or_the_request(proxy, server):
    proxy.mode = "unanswered"
    with pytest.raises(http.client.RemoteDisconnected):
        ask(proxy)
    assert len(server.got) == 1
    proxy.mode = "never"
    with pytest.raises(TimeoutError):
        ask(proxy, timeout=0.1)
    assert len(server.got) == 1
    proxy.mode = ""
    assert ask(proxy)[0] == 200


def test_an_api_that_is_away_is_away_through_it(proxy):
    proxy.target = 1
    with pytest.raises(http.client.RemoteDisconnected):
        ask(proxy)
