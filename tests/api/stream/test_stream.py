"""The event stream over real HTTP: nothing missed, nothing twice, whatever breaks."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
import redis
from hooke_api.events import hub
from hooke_api.events.bus import CHANNEL
from hooke_api.events.hub import encoded
from hooke_api.models import Event
from sqlalchemy import delete

from tests.api.stream.conftest import HEADERS, TOKEN, Listener
from tests.waiting import LIMIT, free_port, wait_for

pytestmark = pytest.mark.needs("redis")


def test_replays_and_follows_without_gap_or_double_under_concurrent_writers(api, listen):
    def write(name: str) -> None:
        for i in range(60):
            api.announce("run", run=f"run_{name}", n=i)

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for i in range(20):
        api.announce("run", run="run_0", n=i)
    for writer in writers:
        writer.start()
    listeners = []
    for _ in range(3):  # opened in the middle of the writing
        listeners.append(listen(after=0))
        seen = len(listeners[0].events)
        wait_for(lambda seen=seen: len(listeners[0].events) > min(seen + 20, 259), "more events")
    for writer in writers:
        writer.join()
    for listener in listeners:
        wait_for(lambda listener=listener: len(listener.events) >= 260, "all 260 events")
        assert listener.ids == list(range(1, 261))
        for name in "abcd":
            assert [d["n"] for _, _, d in listener.events if d["id"] == f"run_{name}"] == list(range(60))


def test_headers_and_the_first_id(api, listen):
    api.announce()
    listener = listen()
    assert listener.response_headers["content-type"].startswith("text/event-stream")
    assert listener.response_headers["x-accel-buffering"] == "no"
    assert listener.response_headers["cache-control"] == "no-cache"
    assert listener.last_id == "1" and listener.events == []
    assert listener.heartbeats == [1], "it begins with its position, which a script knows by an event alone"


def test_resumes_after_the_connection_was_killed(api, listen):
    first = listen(after=0)
    for i in range(5):
        api.announce(n=i)
    wait_for(lambda: len(first.events) == 5, "five events")
    first.kill()
    for i in range(5, 9):
        api.announce(n=i)
    again = listen({"Last-Event-ID": first.last_id}, after=0)  # the URL still says 0: the header wins
    wait_for(lambda: len(again.events) == 4, "the four that were missed")
    assert [d["n"] for _, _, d in first.events + again.events] == list(range(9))


def test_chooses_experiments_and_runs(api, listen):
    one = listen(experiment="exp_1", after=0)
    other = listen(run="run_2", after=0)
    both = listen(experiment=["exp_1"], run=["run_2"], after=0)
    for i in range(3):
        for n in (1, 2, 3):
            api.announce(run=f"run_{n}", experiment=f"exp_{n}", i=i)
    wait_for(lambda: len(both.events) == 6, "six events")
    wait_for(lambda: len(one.events) == len(other.events) == 3, "three events each")
    assert {d["id"] for _, _, d in one.events} == {"run_1"}
    assert {d["id"] for _, _, d in other.events} == {"run_2"}


def test_replay_is_chosen_by_the_database_too(api, listen):
    api.announce_many(1500)  # more than the tail of a hub holds, written before anybody listens
    listener = listen(experiment="exp_1", after=0)
    wait_for(lambda: len(listener.events) == 500, "a third of them")
    assert [d["i"] for _, _, d in listener.events] == list(range(1, 1500, 3))


@pytest.mark.parametrize("asked", ["beyond", "trimmed", "too many"])
def test_a_position_that_cannot_be_continued_is_told_to_fetch_again(api, listen, asked):
    api.announce_many(1200 if asked == "too many" else 10)
    if asked == "trimmed":
        with api.state.database.write() as session:
            session.execute(delete(Event).where(Event.position <= 5))
    listener = listen(after={"beyond": 99, "trimmed": 3, "too many": 0}[asked])
    wait_for(lambda: listener.events, "a reset")
    last = 1200 if asked == "too many" else 10
    assert listener.events == [(last, "reset", {})]
    api.announce(n=7)
    wait_for(lambda: len(listener.events) == 2, "the stream goes on")
    assert listener.ids[1] == last + 1


def test_the_oldest_position_that_is_kept_is_no_reset(api, listen):
    for i in range(10):
        api.announce(n=i)
    with api.state.database.write() as session:
        session.execute(delete(Event).where(Event.position <= 5))
    listener = listen(after=5)
    wait_for(lambda: len(listener.events) == 5, "five events")
    assert listener.ids == [6, 7, 8, 9, 10]


def test_a_position_that_this_process_has_not_read_yet_is_no_reset(api, listen, redis_server, monkeypatch):
    monkeypatch.setattr(hub, "LOOK_SECONDS", 100 * LIMIT)  # only notifications bring events
    first = listen()
    api.announce(n=1)
    wait_for(lambda: first.events, "an event")
    redis_server.stop()
    api.announce(n=2)
    second = listen(after=2)  # as a page knows it from the database, or from another process
    assert (second.heartbeats, second.events, first.ids) == ([2], [], [1])
    api.announce(n=3)
    redis_server.start()
    wait_for(lambda: second.events and len(first.events) == 3, "what came meanwhile")
    assert (second.ids, first.ids) == ([3], [1, 2, 3])


def test_points_come_at_most_four_times_a_second_and_end_with_the_newest(api, listen):
    listener = listen(after=0)

    def points(run: str) -> list[dict]:
        return [d for _, kind, d in listener.events if kind == "points" and d["id"] == run]

    began, n = time.monotonic(), 0
    while min(len(points("run_0")), len(points("run_1"))) < 6:
        api.announce("points", run=f"run_{n % 2}", samples=n)
        n += 1
        time.sleep(0.002)  # a hundred in the time in which one is told
        assert n < 100_000, "no points came"
    api.announce("run", state="succeeded")
    wait_for(lambda: any(kind == "run" for _, kind, _ in listener.events), "the run event")
    most = 4 * (time.monotonic() - began) + 2  # the first at once, the last with the event behind it
    assert len(points("run_0")) <= most and len(points("run_1")) <= most
    assert {points(run)[-1]["samples"] for run in ("run_0", "run_1")} == {n - 1, n - 2}
    assert listener.ids == sorted(listener.ids)
    assert listener.events[-1][1] == "run"  # in order: nobody resumes behind points that were held back


def test_a_slow_reader_is_told_to_fetch_again(api, monkeypatch):
    monkeypatch.setattr("hooke_api.events.hub.TAIL", 50)
    host, port = api.url.split("/")[2].split(":")
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        slow.connect((host, int(port)))
        request = f"GET /api/v1/events?after=0 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        slow.sendall(request.encode())
        assert b"200 OK" in slow.recv(200)
        for i in range(300):  # 12 MB: more than the kernel's buffers take
            api.announce("run", n=i, filler="x" * 40_000)
        slow.settimeout(LIMIT)
        received = b""
        while b"event: reset" not in received:
            received += slow.recv(65536)
        api.announce("run", n=-1)
        slow.settimeout(1)
        while b'"n": -1' not in received:
            try:
                received += slow.recv(65536)
            except TimeoutError:  # another reset has covered it: the reader was still behind
                api.announce("run", n=-1)
    assert received.count(b'"n":') < 250


def test_goes_on_without_redis_and_uses_it_again(api, listen, redis_server, monkeypatch):
    monkeypatch.setattr("hooke_api.events.bus.PAUSE_SECONDS", 0.0)
    listener = listen(after=0)
    redis_server.stop()
    api.announce(n=1)
    wait_for(lambda: len(listener.events) == 1, "an event without Redis")
    redis_server.start()
    monkeypatch.setattr("hooke_api.events.hub.LOOK_SECONDS", 100 * LIMIT)  # from now on, only hints bring events
    with redis.Redis.from_url(redis_server.url) as client:

        def subscribed() -> bool:
            try:
                return client.pubsub_numsub(CHANNEL)[0][1] == 1
            except redis.ConnectionError:  # it does not listen yet
                return False

        wait_for(subscribed, "the subscription, which comes back by itself")
    for count in (2, 3, 4):
        api.announce(n=count)
        wait_for(lambda count=count: len(listener.events) == count, "an event")


def test_a_stream_that_was_left_leaves_nothing_behind(api, listen):
    listeners = [listen() for _ in range(5)]
    shared = api.state.hub
    assert shared.listeners == 5
    for listener in listeners:
        listener.kill()
    wait_for(lambda: shared.listeners == 0, "the server to notice")
    wait_for(lambda: all(task.done() for task in shared._tasks), "the hub's tasks end")
    api.announce()
    again = listen(after=0)
    wait_for(lambda: len(again.events) == 1, "the hub starts again")


def test_heartbeats_come_where_nothing_else_does_and_move_the_position(api, listen, monkeypatch):
    monkeypatch.setattr("hooke_api.events.stream.HEARTBEAT_SECONDS", 0.05)
    listener = listen(experiment="exp_1", after=0)
    wait_for(lambda: len(listener.heartbeats) >= 2, "two heartbeats")
    assert set(listener.heartbeats) == {0}
    api.announce(experiment="exp_2")  # of no interest to this stream, which is now complete up to it
    wait_for(lambda: listener.heartbeats[-1] == 1, "a heartbeat after the other event")
    assert listener.events == []
    api.announce(experiment="exp_1")
    wait_for(lambda: listener.ids == [2], "the event itself")


def test_the_server_stops_with_open_streams(api, listen):
    for _ in range(3):
        listen()
    api.stop()


PATIENT = f"""
import hooke_api.__main__ as api
api.GRACE_SECONDS = {10 * LIMIT}
api.make_server(api.Settings(), {10 * LIMIT}).run()
"""
"""The API, which would wait very long for a stream that does not end."""


def test_the_process_stops_on_sigterm_with_open_streams(settings, tmp_path):
    port = free_port()
    environment = os.environ | {
        "HOOKE_HOME": str(tmp_path),
        "HOOKE_PORT": str(port),
        "HOOKE_TOKEN": TOKEN,
        "HOOKE_REDIS_URL": settings.redis_url,
    }
    process = subprocess.Popen([sys.executable, "-c", PATIENT], env=environment)
    try:
        base = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            try:
                return httpx.get(f"{base}/livez").status_code == 200
            except httpx.TransportError:
                return False

        wait_for(answers, "the API")
        listener = Listener(f"{base}/api/v1/events")
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT)
        assert listener.closed.wait(LIMIT)
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("query", ["after=-1", "after=x", "run=a b", f"after={2**70}", "experiment="])
def test_a_bad_request_is_a_problem(api, query):
    answer = httpx.get(f"{api.url}?{query}", headers=HEADERS)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["pointer"].startswith("query/")


def test_an_event_is_encoded_once_for_all_streams_of_a_choice(api, listen, monkeypatch):
    """Ten streams of two choices: each event of a look is written as JSON once."""
    written = []
    monkeypatch.setattr(hub, "encoded", lambda *event: written.append(event[0]) or encoded(*event))
    listeners = [listen(experiment="exp_1") for _ in range(5)] + [listen() for _ in range(5)]
    for i in range(20):
        api.announce("run", experiment="exp_1", n=i)
    for listener in listeners:
        wait_for(lambda listener=listener: len(listener.events) == 20, "all events")
        assert [d["n"] for _, _, d in listener.events] == list(range(20))
    assert written == list(range(1, 21))
