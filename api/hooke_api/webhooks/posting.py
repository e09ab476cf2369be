"""One request to a receiver: to an address that has been checked, within one deadline, without redirects.

Written on sockets: libraries for HTTP resolve the name themselves, after the check. Of the answer only the status
is read, and of 429 and 503 the header Retry-After (RFC 9110, section 10.2.3).
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version

from hooke_api.webhooks.guard import Place

SECONDS = 10.0
"""Seconds in which the status must have arrived, from before the name is resolved."""
MOST_READ = 8192
"""Bytes of an answer that are read while its status line is looked for, and its header Retry-After."""
MOST_TRIED = 4
"""Addresses of a name that are tried."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})[ \r]")
_INTERIM = 200
"""Statuses below come before the answer: 103 Early Hints."""
_ASKING = (429, 503)
"""Statuses with which a receiver may ask to be left alone for a while."""
_RETRY_AFTER = re.compile(rb"\r\nretry-after:[ \t]*([^\r\n]{1,64}?)[ \t]*\r\n", re.IGNORECASE)


class Undelivered(Exception):
    """The receiver has not answered; the message is a sentence."""


@dataclass(frozen=True)
class Answer:
    """What is read of an answer."""

    status: int
    retry_after: float = 0.0
    """Seconds for which the receiver asks to be left alone; 0: it does not."""


def post(
    where: Place,
    addresses: Sequence[str],
    headers: Mapping[str, str],
    body: bytes,
    until: float,
    context: ssl.SSLContext,
) -> Answer:
    """Send a request to one of the addresses and return its answer. Raises Undelivered.

    `until`: end of the deadline by `time.monotonic()`. `context`: TLS, which verifies the name of the host.
    """
    try:
        with _connected(where, addresses, until, context) as connection:
            connection.settimeout(_left(until))
            connection.sendall(_head(where, headers, body) + body)
            return _answer(connection, until)
    except TimeoutError:
        raise Undelivered(f"no answer within {SECONDS:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise Undelivered(f"its certificate is refused: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise Undelivered(f"TLS failed: {error.reason or error}") from None
    except OSError as error:
        raise Undelivered(f"the connection failed: {error.strerror or error}") from None


def _left(until: float) -> float:
    """Return the seconds that are left. Raises TimeoutError if none are."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _head(where: Place, headers: Mapping[str, str], body: bytes) -> bytes:
    fields = {
        "host": where.authority,
        "user-agent": f"Hooke/{version('hooke-api')}",
        "accept": "*/*",
        "connection": "close",
        "content-length": str(len(body)),
        **headers,
    }
    lines = [f"POST {where.target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("ascii")


@contextmanager
def _connected(
    where: Place, addresses: Sequence[str], until: float, context: ssl.SSLContext
) -> Iterator[socket.socket]:
    connection = _open(addresses[:MOST_TRIED], where.port, until)
    try:
        if not where.tls:
            yield connection
            return
        with context.wrap_socket(connection, server_hostname=where.host, do_handshake_on_connect=False) as secured:
            secured.settimeout(_left(until))
            secured.do_handshake()
            yield secured
    finally:
        connection.close()


def _open(addresses: Sequence[str], port: int, until: float) -> socket.socket:
    """Connect to the first address that answers; each gets an equal share of the time that is left."""
    failed: OSError = TimeoutError()
    for n, address in enumerate(addresses):
        try:
            return _reach(address, port, _left(until) / (len(addresses) - n))
        except OSError as error:
            failed = error
    raise failed


def _reach(address: str, port: int, seconds: float) -> socket.socket:
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect((address, port))  # an address: nothing is resolved here
    except BaseException:
        connection.close()
        raise
    return connection


def _answer(connection: socket.socket, until: float) -> Answer:
    """Return the answer. Raises Undelivered if it is none of HTTP/1."""
    data, count = b"", 0
    while count < MOST_READ:
        connection.settimeout(_left(until))
        part = connection.recv(1024)
        if not part:
            raise Undelivered("the connection was closed without an answer")
        data, count = data + part, count + len(part)
        while b"\r\n" in data:
            found = _STATUS.match(data)
            if found is None:
                raise Undelivered("the answer is not HTTP/1.1")
            if (status := int(found[1])) >= _INTERIM:
                return Answer(status, _retry_after(connection, data, until) if status in _ASKING else 0.0)
            _, end, rest = data.partition(b"\r\n\r\n")
            if not end:
                break
            data = rest
    raise Undelivered(f"the first {MOST_READ} bytes of the answer have no status")


def _retry_after(connection: socket.socket, data: bytes, until: float) -> float:
    """Return the seconds of the header Retry-After of an answer that begins with `data`; 0 without one."""
    with suppress(OSError):  # its status counts all the same, also after the deadline
        while b"\r\n\r\n" not in data and len(data) < MOST_READ:
            connection.settimeout(_left(until))
            part = connection.recv(1024)
            if not part:
                break
            data += part
    head, end, _ = data.partition(b"\r\n\r\n")
    found = _RETRY_AFTER.search(head + end)
    return 0.0 if found is None else _seconds(found[1].decode("latin-1"))


def _seconds(text: str) -> float:
    """Return the seconds that a value of Retry-After means, a number or a date; 0 for any other."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):  # what the parser raises for texts that are no date
        return 0.0
