"""Clients of an API: when they read the environment or verify certificates, and whose answer they take."""

import asyncio
import re
import socket
import threading
from contextlib import contextmanager, suppress

import pytest
from hooke.cluster.agent_client import ApiClient
from hooke.cluster.delivery import make_client
from hooke.cluster.http_client import client_options, httpx


@pytest.mark.parametrize(
    ("api", "trust_env", "verify"),
    [
        ("http://127.0.0.1:7450", False, False),
        ("http://localhost:7450/", False, False),
        ("http://[::1]:7450", False, False),
        ("https://127.0.0.1:7450", False, True),
        ("http://server:7450", True, True),  # a proxy of the environment may be an https:// one
        ("https://server", True, True),
        ("http://127.0.0.1.example.org", True, True),
    ],
)
def test_certificates_are_left_out_only_where_there_can_be_none(api, trust_env, verify):
    assert client_options(api) == {"trust_env": trust_env, "verify": verify}


@contextmanager
def answering_twice(repeats: bool):
    """Yield the address of a server behind a proxy that answers each request twice, at once.

    An answer is the number in the path of its request; `repeats`: whether it repeats what it is asked to.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve(connection: socket.socket) -> None:
            data = b""
            with connection, suppress(OSError):
                while part := connection.recv(65536):
                    data += part
                    while (found := re.match(rb"POST /(\d+) .*?\r\n\r\n", data, re.DOTALL)) is not None:
                        data = data[found.end() :]
                        asked = re.search(rb"(?i)\n(hooke-answers: \w+)\r\n", found[0])
                        head = asked[1] + b"\r\n" if asked and repeats else b""
                        size = b"content-length: %d\r\n\r\n" % len(found[1])
                        connection.sendall(2 * (b"HTTP/1.1 200 OK\r\n" + head + size + found[1]))

        def accept() -> None:
            with suppress(OSError):  # closed
                while True:
                    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_the_answer_to_another_request_is_none(tmp_path):
    """Of several attempts with one client, one would take what was stored of another one for its own."""
    answers = []

    async def ask(url: str) -> None:
        async with make_client(url) as client:
            for number in range(6):
                try:
                    answers.append((number, (await client.post(f"{url}/{number}")).text))
                except httpx.RemoteProtocolError as error:
                    answers.append((number, str(error)))

    with answering_twice(True) as url:
        asyncio.run(ask(url))
        client = ApiClient(url, tmp_path / "token")
        for number in range(6, 12):
            try:
                answers.append((number, client._client.post(f"{url}/{number}").text))
            except httpx.RemoteProtocolError as error:
                answers.append((number, str(error)))
        client.close()
    wrong = [answer for number, answer in answers if answer.isdigit() and int(answer) != number]
    right = [answer for number, answer in answers if answer == f"{number}"]
    refused = [answer for _, answer in answers if "another request" in answer]
    assert (wrong, len(right) >= 6, len(refused) > 0) == ([], True, True), answers


def test_a_server_that_repeats_nothing_is_believed(tmp_path):
    """An earlier one, or one behind a proxy that passes on no headers that it does not know."""

    async def ask(url: str) -> str:
        async with make_client(url) as client:
            return (await client.post(f"{url}/3")).text

    with answering_twice(False) as url:
        assert asyncio.run(ask(url)) == "3"
        client = ApiClient(url, tmp_path / "token")
        assert client._client.post(f"{url}/4").text == "4"
        client.close()
