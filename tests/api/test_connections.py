"""Clients that send slowly, nothing, too much, or read nothing, against a real server with short deadlines."""

import gzip
import json
import shutil
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx
import pytest
from hooke_api.app import create_app
from hooke_api.base.security import digest
from hooke_api.models import Attempt, AttemptToken, now

from tests.api.conftest import serve
from tests.api.databases import make_settings
from tests.api.hands import ALONE, HELLO, SPEC
from tests.waiting import LIMIT, wait_for

SHORT = 0.5


class Strict:
    """A running API with short deadlines and low limits, and the tokens of two attempts."""

    def __init__(self, home, running, app) -> None:
        self.running, self.app = running, app
        settings = app.state.settings
        self.owner = {"authorization": f"Bearer {settings.token}"}
        address = urlsplit(running.url)
        self.address = (address.hostname, address.port)
        agent = {"authorization": f"Bearer {settings.agents}"}
        httpx.post(f"{running.url}/api/v1/agents/hello", json=HELLO, headers=agent).raise_for_status()
        made = httpx.post(f"{running.url}/api/v1/experiments", json=SPEC | ALONE, headers=self.owner)
        self.run = httpx.get(f"{running.url}/api/v1/runs", headers=self.owner).json()["items"][0]["id"]
        assert made.status_code == 201
        self.tokens = [f"token-of-attempt-{number}" for number in (1, 2)]
        with app.state.database.write() as session:
            for number, token in enumerate(self.tokens, 1):
                session.add(Attempt(run_id=self.run, number=number, created_at=now()))
                session.add(
                    AttemptToken(token_sha256=digest(token), run_id=self.run, attempt=number, created_at=now())
                )

    @property
    def connections(self) -> int:
        return len(self.running.server.server_state.connections)

    def connect(self) -> socket.socket:
        made = socket.create_connection(self.address, timeout=LIMIT)
        made.settimeout(LIMIT)
        return made

    def head(self, method: str, path: str, length: int = 0, token: str | None = None) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: localhost:{self.address[1]}", f"Content-Length: {length}"]
        lines += [f"Authorization: Bearer {token}"] if token else []
        return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture(scope="module")
def strict(tmp_path_factory, sqlite_template):
    home = tmp_path_factory.mktemp("strict")
    shutil.copy(sqlite_template, home / "hooke.db")
    limits = {"body_seconds": 2 * SHORT, "head_seconds": SHORT, "write_seconds": SHORT}
    limits |= {
        "client_bodies_limit": 1 << 20,
        "bodies_limit": 3 << 19,
        "connections": 60,
        "client_connections": 50,
    }
    app = create_app(make_settings(home, f"sqlite:///{home / 'hooke.db'}", **limits))
    running = serve(app)
    yield Strict(home, running, app)
    running.stop()


@pytest.fixture(autouse=True)
def at_rest(strict):
    """Let every test begin and end without connections and bodies."""
    yield
    wait_for(lambda: strict.connections == 0, "the end of every connection")
    assert strict.app.state.bodies.held == 0


def received(connection: socket.socket) -> bytes:
    """Return all that a server sends until it closes the connection."""
    found = b""
    try:
        while part := connection.recv(65536):
            found += part
    except ConnectionResetError:
        pass
    return found


def test_a_body_without_token_is_refused_before_it_arrives(strict):
    with ExitStack() as stack:
        sockets = [stack.enter_context(strict.connect()) for _ in range(40)]
        paths = ("/api/v1/ingest", "/api/v1/agents/hello", "/api/v1/experiments", "/livez")
        for i, connection in enumerate(sockets):
            connection.sendall(strict.head("POST", paths[i % 4], 400_000, "wrong") + b"x" * 200_000)
        statuses = {connection.recv(65536).split()[1] for connection in sockets}
        assert statuses == {b"401", b"405"}
        assert strict.app.state.bodies.held == 0
        for connection in sockets:
            received(connection)  # and the connection is ended, although the rest of the body never arrives


def test_a_body_that_does_not_arrive_in_time(strict):
    for token in (strict.tokens[0], strict.app.state.settings.token):
        path = "/api/v1/ingest" if token == strict.tokens[0] else "/api/v1/experiments"
        with strict.connect() as connection:
            connection.sendall(strict.head("POST", path, 1000, token) + b"x")
            answer = received(connection)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"/problems/timeout" in answer


def test_what_one_client_may_hold_and_what_all_may(strict):
    with ExitStack() as stack:

        def half(token: str, size: int = 700_000) -> socket.socket:
            connection = stack.enter_context(strict.connect())
            connection.sendall(strict.head("POST", "/api/v1/ingest", 2 * size, token) + b"x" * size)
            return connection

        half(strict.tokens[0])
        wait_for(lambda: strict.app.state.bodies.held == 700_000, "the first body")
        assert b"429" in half(strict.tokens[0]).recv(65536).split(b"\r\n")[0]
        half(strict.tokens[1])
        wait_for(lambda: strict.app.state.bodies.held == 1_400_000, "another client's body")
        answer = half(strict.app.state.settings.token, 1).recv(65536)  # not a token of an attempt
        assert answer.startswith(b"HTTP/1.1 401")
        with httpx.Client(base_url=f"{strict.running.url}/api/v1", headers=strict.owner) as client:
            refused = client.post("/experiments/dry-run", content=b" " * 300_000)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert refused.json()["type"] == "/problems/unavailable"
    wait_for(lambda: strict.app.state.bodies.held == 0, "the release of what clients that have gone held")


def test_browsers_count_one_by_one(strict):
    """One user's uploads must not keep all others who have signed in from changing anything."""
    token = {"token": strict.app.state.settings.token}
    answers = [httpx.get(f"{strict.running.url}/login", params=token) for _ in range(2)]
    head = strict.head("POST", "/api/v1/experiments", 1_000_000)[:-2]
    head += f"Origin: http://localhost:{strict.address[1]}\r\n".encode()
    with ExitStack() as stack:
        for answer in answers:
            cookie = answer.headers["set-cookie"].partition(";")[0].encode()
            browser = stack.enter_context(strict.connect())
            browser.sendall(head + b"Cookie: " + cookie + b"\r\n\r\n" + b"x" * 700_000)
        wait_for(lambda: strict.app.state.bodies.held == 1_400_000, "the bodies of both")
    wait_for(lambda: strict.app.state.bodies.held == 0, "the release of what browsers that have gone held")


def test_slow_heads_and_silent_connections_are_ended(strict):
    with ExitStack() as stack:
        begun = (b"", b"GET /livez HTT", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ", b"\r\n", b"\r\n\r\n")
        for part in begun * 4:
            connection = stack.enter_context(strict.connect())
            connection.sendall(part)
        wait_for(lambda: strict.connections == 0, "the end of 20 connections")


def test_a_connection_that_was_used_is_ended_like_a_new_one(strict):
    with strict.connect() as connection:
        connection.sendall(strict.head("GET", "/livez"))
        assert b"200 OK" in connection.recv(65536)
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: ")
        assert b"HTTP/1.1" not in received(connection)


def test_a_head_without_end(strict):
    with strict.connect() as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nX: " + b"y" * 100_000)
        assert received(connection).startswith(b"HTTP/1.1 431")


def test_a_client_that_reads_nothing_is_disconnected(strict):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(strict.address)
        request = strict.head("GET", "/api/openapi.json", 0, strict.app.state.settings.token)
        connection.sendall(request * 40)
        wait_for(lambda: strict.connections == 1, "the connection")
        wait_for(lambda: strict.connections == 0, "its end")


def test_too_many_connections_of_one_address(strict):
    with ExitStack() as stack:
        kept = [stack.enter_context(strict.connect()) for _ in range(50)]
        with strict.connect() as further:
            answer = received(further)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 429")
        assert b"retry-after: 2" in head
        assert json.loads(body)["type"] == "/problems/too-many"
        kept[0].sendall(strict.head("GET", "/livez"))
        assert b"200 OK" in kept[0].recv(65536)


def test_a_whole_body_passes(strict):
    """The limits above refuse what they should, not everything."""
    body = gzip.compress(json.dumps({"run": strict.run, "attempt": 1}).encode())
    headers = {"authorization": f"Bearer {strict.tokens[0]}", "content-encoding": "gzip"}
    assert httpx.post(f"{strict.running.url}/api/v1/ingest", content=body, headers=headers).status_code == 200
