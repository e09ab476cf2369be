"""Limits of requests per minute: by token, by address without one, and what they do to a supervisor."""

import asyncio
import random
import time
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pytest
from hooke.cluster import hello, shipper
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.delivery import Delivery, Tokens
from hooke.cluster.job import Order, Timing
from hooke.cluster.places import Home
from hooke.spec.events import StateReport
from hooke_api.app import create_app
from hooke_api.base import rates
from hooke_api.base.access import address_of, network_of
from hooke_api.base.errors import TooMany
from hooke_api.base.rates import Buckets, Rates
from hooke_api.base.settings import Settings
from starlette.requests import Request

from tests.api.conftest import serve
from tests.api.databases import ONE_KIND, fresh_database, make_settings
from tests.api.hands import HELLO, Service, done, start, steps
from tests.api.test_experiments import problem
from tests.waiting import LIMIT

pytestmark = ONE_KIND  # requests are counted in memory


@pytest.fixture
def limited(request, kind, tmp_path):
    """Return a function that yields a running API with these limits."""

    @contextmanager
    def run(clock=time.monotonic, **limits):
        with fresh_database(request, kind, tmp_path) as url:
            app = create_app(make_settings(tmp_path, url, **limits))
            app.state.door.rates = Rates(app.state.settings, clock)
            running = serve(app)
            headers = {"authorization": f"Bearer {app.state.settings.token}"}
            with httpx.Client(base_url=f"{running.url}/api/v1", headers=headers, timeout=LIMIT) as client:
                made = Service(app, app.state.settings, running.url, client, set())
                yield made
                made.agent.close()
                made.sender.close()
            running.stop()

    return run


def refused(answer: httpx.Response) -> str:
    """Return the sentence of a refusal, which says when to come again."""
    detail = problem(answer, 429)["detail"]
    assert answer.json()["type"] == "/problems/too-many"
    assert f"wait {answer.headers['retry-after']} s" in detail
    return detail


def test_a_bucket_agrees_with_one_that_is_filled_drop_by_drop():
    """Times are multiples of 1/16 s and a drop takes 1 s, so all sums are exact."""
    size, now = 60, [0.0]
    buckets = Buckets(size, "requests", lambda: now[0])
    draw, level, at, outcomes = random.Random(1), float(size), 0.0, []
    for _ in range(5000):
        now[0] += draw.choice([0, 0, 1, 4, 16, 64, 512]) / 16 if draw.random() < 0.2 else 0.0
        level, at = min(size, level + (now[0] - at) * size / 60), now[0]
        expected = level >= 1
        level -= expected
        try:
            buckets.take("a", "of a")
            found = True
        except TooMany as error:
            found = False
            assert int(error.headers["Retry-After"]) == -int(-(1 - level) // 1)
        assert found == expected
        outcomes.append(found)
    assert 500 < sum(outcomes) < 4500, "both happen"


def test_every_key_has_a_bucket_and_no_limit_is_none():
    buckets, free = (Buckets(size, "requests", lambda: 0.0) for size in (1, 0))
    for key in ("a", "b"):
        buckets.take(key, "")
        with pytest.raises(TooMany):
            buckets.take(key, "")
        for _ in range(100):
            free.take(key, "")
    assert (len(buckets), len(free)) == (2, 0)


def test_a_stream_of_addresses_holds_no_memory(monkeypatch):
    monkeypatch.setattr(rates, "MOST", 10)
    buckets = Buckets(1, "requests", lambda: 0.0)
    for number in range(1000):
        buckets.take(str(number), "")
    assert len(buckets) == 10
    with pytest.raises(TooMany):
        buckets.take("999", "")


def test_a_token_that_sends_too_much_is_told_when_to_come_again_and_others_are_not(limited):
    with limited(requests_per_minute=4, clock=lambda: 0.0) as service:
        assert [service.client.get("/me").status_code for _ in range(4)] == [200] * 4
        said = refused(service.client.get("/me"))
        assert said.startswith("more than 4 requests of this token or session within a minute: wait 15 s")
        refused(service.client.post("/experiments", json={}))
        for _ in range(4):
            service.hello()  # another token
        refused(service.agent.post("/agents/hello", json=HELLO))
        claim = {"order": "ord_" + 32 * "0"}
        assert service.agent.post("/agents/claim", json=claim).status_code == 404  # counted apart
        for path in ("livez", "readyz", "version"):
            assert service.client.get(f"/{path}").status_code != 429
        assert service.client.get(f"{service.url}/hooke.svg").status_code != 429


def test_whoever_guesses_tokens_is_refused_by_address_and_valid_ones_from_there_are_not(limited):
    with (
        limited(anonymous_per_minute=4, clock=lambda: 0.0) as service,
        httpx.Client(base_url=service.url) as anyone,
    ):
        guess = {"authorization": "Bearer hooke_token_guess"}
        sent = [
            anyone.get("/api/v1/runs", headers=guess),
            anyone.post("/api/v1/agents/hello", json={}, headers=guess),
            anyone.post("/api/v1/ingest", json={}, headers=guess),
            anyone.post("/api/v1/sign-in", json={"name": "a", "password": "b"}),
        ]
        assert [answer.status_code for answer in sent] == [401] * 4
        for again in (
            anyone.get("/api/v1/runs", headers=guess),
            anyone.get("/login?token=x"),
            anyone.get("/runs"),
        ):
            assert "4 requests without a valid token from 127.0.0.1" in refused(again)
        assert service.client.get("/runs").status_code == 200
        service.hello()
        assert anyone.get("/livez").status_code == 200


def test_the_addresses_of_a_network_of_ipv6_are_one_client(limited):
    """Who has one has 2^64 of them."""
    with limited(anonymous_per_minute=2, clock=lambda: 0.0) as service:

        def ask(address):
            return httpx.get(f"{service.url}/api/v1/runs", headers={"x-forwarded-for": address})

        assert [ask(f"2001:db8:0:7::{n}").status_code for n in (1, 2)] == [401, 401]
        assert "from 2001:db8:0:7::/64 within" in refused(ask("2001:db8:0:7:1:0:0:5"))
        assert [ask(each).status_code for each in ("2001:db8:0:8::1", "2001:db8::7", "10.0.0.1")] == [401] * 3


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_what_counts_as_one_client(address, network):
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("sent", "told"),
    [("::ffff:192.0.2.7", "192.0.2.7"), ("192.0.2.7", "192.0.2.7"), ("2001:db8::7", "2001:db8::7"), ("x", "x")],
)
def test_an_address_of_ipv4_is_told_in_one_form(sent, told):
    """By a socket of both versions the same client is ::ffff:192.0.2.7."""
    assert address_of(Request({"type": "http", "client": (sent, 7), "headers": []})) == told


def test_ingest_and_event_streams_are_counted_apart(limited):
    limits = {"ingest_per_minute": 2, "streams_per_minute": 1, "requests_per_minute": 50}
    with limited(**limits, clock=lambda: 0.0) as service:
        supervisor = service.launch()
        supervisor.send()
        supervisor.send()
        said = refused(supervisor.post(supervisor.request().model_dump_json().encode()))
        assert "2 ingest requests of this token" in said
        with service.client.stream("GET", "/events") as stream:
            assert stream.status_code == 200
        assert "1 event streams" in refused(service.client.get("/events"))
        assert service.run(supervisor.id)["state"] == "dispatched"


def test_a_supervisor_delivers_everything_once_through_refusals(limited, monkeypatch, tmp_path):
    """Four requests a minute. Time passes with refusals alone, most of what each asks for: others follow it."""
    monkeypatch.setattr(shipper, "MOST_RECORDS", 1)
    statuses, now = [], [0.0]

    async def note(response):
        statuses.append(response.status_code)
        now[0] += 0.8 * float(response.headers.get("retry-after", 0))

    async def deliver(service, order, attempt):
        timing = Timing(beat=0.01, longest_retry=0.02)
        async with httpx.AsyncClient(event_hooks={"response": [note]}, timeout=LIMIT) as client:
            return await Delivery(attempt, service.url, Tokens(order.token), timing, client).run()

    with limited(clock=lambda: now[0], ingest_per_minute=4) as service:
        order = service.launch().order
        attempt = SupervisedAttempt(
            Home(tmp_path / "agent").attempt(order.run, 1), Order(run=order.run, attempt=1, spec=order.spec)
        )
        for rank in range(2):
            records = [start(), *(steps(1 + i, first=1 + 4 * i) for i in range(6)), done(7, step=24)]
            lines = "".join(record.model_dump_json() + "\n" for record in records)
            attempt.folder.journal(rank).write_text(lines)
        for state in ("starting", "running", "succeeded"):
            attempt.report(StateReport(state=state, unix=time.time(), why=f"it is {state}"))
        assert asyncio.run(deliver(service, order, attempt))
        run = service.run(order.run)
    assert set(statuses) == {200, 429}
    assert statuses.count(429) >= statuses.count(200) > 4, "the first four alone are not refused"
    assert run["state"] == "succeeded"
    assert [(rank["rank"], rank["steps"]) for rank in run["phases"]] == [(0, 24), (1, 24)]


@pytest.mark.parametrize(("asked", "expected"), [("7", 7.0), ("3600", hello.LATEST), ("soon", hello.SOON)])
def test_an_agent_s_heartbeat_waits_as_long_as_it_is_asked_to_and_stays_online(monkeypatch, asked, expected):
    class Line:
        def hello(self, _):
            answer = httpx.Response(429, headers={"retry-after": asked})
            raise httpx.HTTPStatusError("429", request=httpx.Request("POST", "http://h"), response=answer)

    waited = []
    monkeypatch.setattr(hello, "read_catalogues", lambda *_: {"problems": []})
    heartbeat = hello.Heartbeat(Line(), lambda _: None)
    heartbeat._stopped = SimpleNamespace(is_set=lambda: bool(waited), wait=waited.append)
    heartbeat.run()
    assert waited == [expected]
    assert expected < Settings.model_fields["agent_seconds"].default / 2 + 1
