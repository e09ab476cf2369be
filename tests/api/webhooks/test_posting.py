"""One request: to the address that was checked, within its deadline, and whatever the other side does."""

import socket
import ssl
import subprocess
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hooke_api.webhooks.guard import Place
from hooke_api.webhooks.posting import MOST_READ, Answer, Undelivered, post

from tests.api.webhooks.receiver import raw
from tests.waiting import LIMIT, free_port

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
BODY = b'{"event":"x"}'


def send(port, **more):
    return answer_of(port, **more).status


def answer_of(port, seconds=LIMIT, host="hooks.test", addresses=("127.0.0.1",), context=None):
    where = Place(context is not None, host, port, "/hook?a=b")
    headers = {"webhook-id": "msg_1", "content-type": "application/json"}
    return post(where, addresses, headers, BODY, time.monotonic() + seconds, context or NO_TLS)


def test_the_request_goes_to_the_address_and_nothing_is_resolved(receiver, monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("a name was resolved after the check")

    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    monkeypatch.setattr(socket, "create_connection", forbidden)
    assert send(receiver.port) == 204
    (request,) = receiver.requests
    assert (request.path, request.body) == ("/hook?a=b", BODY)
    assert request.headers["host"] == f"hooks.test:{receiver.port}"
    assert request.headers["content-length"] == str(len(BODY))
    assert request.headers["webhook-id"] == "msg_1"


def test_the_next_address_is_tried(receiver):
    assert send(receiver.port, addresses=("127.0.0.2", "127.0.0.1")) == 204


def test_a_closed_port_is_told():
    with pytest.raises(Undelivered, match="the connection failed: Connection refused"):
        send(free_port())


ANSWERS = {
    "closes": (lambda c: None, "closed without an answer"),
    "another protocol": (lambda c: c.sendall(b"SSH-2.0-x\r\n"), "not HTTP/1.1"),
    "a status that is none": (lambda c: c.sendall(b"HTTP/1.1 999 x\r\n"), "not HTTP/1.1"),
    "a head without end": (lambda c: c.sendall(2 * MOST_READ * b"x"), "have no status"),
    "interim answers without end": (lambda c: c.sendall(1000 * b"HTTP/1.1 103 x\r\n\r\n"), "have no status"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_no_answer_ends_early(name):
    answer, words = ANSWERS[name]
    with raw(answer) as port, pytest.raises(Undelivered, match=words):
        send(port)


def test_an_interim_answer_is_skipped_and_a_body_is_not_read():
    def answer(connection):
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 2")
        connection.sendall(b"01 Created\r\ncontent-length: 1000000000\r\n\r\n")
        connection.sendall(10_000 * b"x")

    with raw(answer) as port:
        assert send(port) == 201


def in_an_hour(seconds=3600):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        ("429 x\r\nretry-after: 120\r\n\r\n", 120),
        ("503 x\r\ndate: now\r\nRETRY-AFTER:\t7 \r\nserver: x\r\n\r\nbody", 7),
        (lambda: f"503 x\r\nRetry-After: {in_an_hour()}\r\n\r\n", 3600),
        (lambda: f"503 x\r\nRetry-After: {in_an_hour(-3600)}\r\n\r\n", 0),
        ("429 x\r\nRetry-After: soon\r\n\r\n", 0),
        ("429 x\r\nRetry-After: -5\r\n\r\n", 0),
        ("429 x\r\nx-retry-after: 9\r\n\r\nretry-after: 8\r\n\r\n", 0),
        ("429 x\r\n\r\n", 0),
        ("429 x\r\nretry-after: 12", 0),  # cut off: it may have been 120
        ("500 x\r\nretry-after: 120\r\n\r\n", 0),
        ("429 x\r\n" + 1000 * "x: yyyyyyyy\r\n" + "retry-after: 9\r\n\r\n", 0),
    ],
)
def test_a_receiver_may_ask_to_be_left_alone(head, asked):
    text = f"HTTP/1.1 {head if isinstance(head, str) else head()}".encode()

    def answer(connection):
        connection.sendall(text[:30])  # in two parts
        connection.sendall(text[30:])

    with raw(answer) as port:
        found = answer_of(port)
    assert found.status == int(text.split()[1])
    assert found.retry_after == pytest.approx(asked, abs=5 if callable(head) else 0)


def test_the_deadline_counts_while_the_header_is_looked_for():
    def answer(connection):
        connection.sendall(b"HTTP/1.1 429 x\r\nretry-after: 5\r\n")
        connection.recv(1)

    with raw(answer) as port:
        assert answer_of(port, seconds=4.0) == Answer(429, 5)  # long enough for the first bytes


def drip(connection):
    """Send a byte from time to time: each arrives in time, the answer never does."""
    for byte in b"HTTP/1.1 200 OK":
        connection.sendall(bytes([byte]))
        time.sleep(0.05)


@pytest.mark.parametrize("answer", [lambda c: c.recv(1), drip], ids=["silent", "drip"])
def test_the_deadline_is_of_the_whole_request(answer):
    with raw(answer) as port:
        began = time.monotonic()
        with pytest.raises(Undelivered, match="no answer within"):
            send(port, seconds=0.2)
        assert time.monotonic() - began < LIMIT / 4


def test_a_deadline_that_has_passed_connects_to_nothing(receiver):
    with pytest.raises(Undelivered, match="no answer within"):
        send(receiver.port, seconds=-1)
    assert receiver.requests == []


@pytest.fixture(scope="session")
def certificate(program_path, tmp_path_factory):
    """Return the files of a key and of a certificate for hooks.test, which nobody else has signed."""
    folder = tmp_path_factory.mktemp("tls")
    key, made = folder / "key.pem", folder / "certificate.pem"
    new = ["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days", "2"]
    about = ["-subj", "/CN=hooks.test", "-addext", "subjectAltName=DNS:hooks.test"]
    command = [program_path("openssl"), *new, *about, "-keyout", key, "-out", made]
    subprocess.run(command, check=True, capture_output=True)
    return key, made


@pytest.mark.needs("openssl")
def test_tls_verifies_the_name_at_the_checked_address(certificate, receivers):
    key, made = certificate
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(made, key)
    receiver = receivers(serving)
    trusting = ssl.create_default_context(cafile=made)
    assert send(receiver.port, context=trusting) == 204
    assert len(receiver.requests) == 1
    with pytest.raises(Undelivered, match="its certificate is refused: Hostname mismatch"):
        send(receiver.port, host="other.test", context=trusting)
    with pytest.raises(Undelivered, match="its certificate is refused: self.signed certificate"):
        send(receiver.port, context=ssl.create_default_context())
    assert len(receiver.requests) == 1
