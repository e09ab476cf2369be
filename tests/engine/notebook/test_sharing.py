"""What becomes of a comparison: its folder, its way to a server, and speed-ups that are only bounds."""

import http.server
import json
import math
import socket
import threading
from types import SimpleNamespace

import hooke
import pytest
from hooke.errors import ArgumentError
from hooke.notebook import submitting

from tests.engine.notebook.data import GIVEN, QUICK


@pytest.fixture(scope="module")
def found():
    return hooke.compare(["sgd"], **GIVEN, **QUICK | {"samples": 160, "evaluate_every": 80})


@pytest.fixture
def server():
    """A server that answers every request with `status` and `body`, and keeps the headers."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            listening.asked = dict(self.headers)
            listening.keys.append(self.headers["Idempotency-Key"])
            if (status := listening.before.pop(0) if listening.before else listening.status) is None:
                self.close_connection = True
                return
            self.send_response(status)
            for header in listening.headers.items():
                self.send_header(*header)
            self.send_header("Content-Length", str(len(listening.body)))
            self.end_headers()
            self.wfile.write(listening.body)

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as listening:
        listening.status, listening.body, listening.headers = 201, b'{"id": "exp_1"}', {}
        listening.before, listening.keys = [], []
        listening.url = f"http://127.0.0.1:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def test_the_user_s_folder_is_expanded(found, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert found.save("~/kept") == tmp_path / "kept"
    assert (tmp_path / "kept/verdict.txt").exists()


def test_a_folder_that_cannot_be_is_refused(found, tmp_path):
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file", tmp_path / "file/below", "~no-such-user-here/kept"):
        with pytest.raises(ArgumentError, match="`folder`: .* cannot be written: .*: name another folder"):
            found.save(wrong)


@pytest.mark.parametrize("token", ["abc", "abc\n", " abc\r\n"])
def test_a_token_is_one_line(found, server, token):
    assert found.submit(f"{server.url}/runs?x=1", token) == f"{server.url}/experiments/exp_1"
    assert server.asked["Authorization"] == "Bearer abc"


def test_a_submission_whose_answer_is_lost_is_repeated_with_its_key(found, server, monkeypatch):
    """A proxy says so, or the connection is closed; by its key the server makes one experiment of all."""
    paused = []
    monkeypatch.setattr(submitting, "time", SimpleNamespace(sleep=paused.append))
    server.before = [502, None, 503, 504]
    assert found.submit(server.url, "t") == f"{server.url}/experiments/exp_1"
    assert len(server.keys) == 5 and len(set(server.keys)) == 1
    assert paused == list(submitting.PAUSES)
    server.status = 502
    with pytest.raises(ArgumentError, match="refused the experiment"):
        found.submit(server.url, "t")
    assert len(server.keys) == 10 and len(set(server.keys)) == 2


@pytest.mark.parametrize("token", ["", "a\nb", "schlüssel", None, 3])
def test_another_token_is_refused(found, token):
    with pytest.raises(ArgumentError, match="`token` is the one line of text that `hooke up` prints"):
        found.submit("http://127.0.0.1:1", token)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:7450", "http://127.0.0.1:99999", "http://127.0.0.1:x", "http://:80", "http://[::1", None, 3]
)
def test_another_address_is_refused(found, url):
    with pytest.raises(ArgumentError, match="`url` is the address of a Hooke server, such as http://127"):
        found.submit(url, "t")


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"{}", b'"x"', b'{"id": 3}', b"\xff\xfe"])
def test_the_answer_of_something_else(found, server, body):
    server.body = body
    with pytest.raises(ArgumentError, match="the answer of http://127.* is not that of a Hooke server"):
        found.submit(server.url, "t")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>", "refused the experiment: status 404"),
        (b"[1]", "refused the experiment: status 404"),
        ({"errors": None, "detail": "no"}, "refused the experiment: no"),
        ({"errors": [{"message": "x"}, 3]}, "refused the experiment: /: x"),
        ({"errors": [{"pointer": "/workload/name", "message": "y"}]}, r"/workload/name: y. Write model\(\), data"),
    ],
)
def test_any_refusal_is_told(found, server, body, said):
    server.status, server.body = 404, body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ArgumentError, match=said):
        found.submit(server.url, "t")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_told_and_not_followed(found, server, status):
    """As that of a proxy from http to https: the token is for the server that was named."""
    server.status, server.headers = status, {"Location": "https://hooke.example.org/api/v1/experiments"}
    with pytest.raises(ArgumentError, match="leads on to https://hooke.example.org/.*: give that one"):
        found.submit(server.url, "t")


def test_what_is_not_http_is_not_a_server(found):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            connection, _ = listening.accept()
            with connection:
                connection.recv(100_000)
                connection.sendall(b"garbage\r\n\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(ArgumentError, match="`url`: http://127.* cannot be reached: "):
            found.submit(f"http://127.0.0.1:{listening.getsockname()[1]}", "t")
        thread.join()


def test_a_speed_up_that_is_a_bound_is_left_empty():
    """The second method misses the target: at most so fast, by the end of the interval."""
    methods = {"sgd": {"lr": 0.2}, "idle": {"algorithm": "sgd", "lr": 1e-9}}
    often = QUICK | {"seeds": 3, "evaluate_every": 80}
    found = hooke.compare(methods, **GIVEN, **often, target=0.8)
    row = found.table.loc["idle"]
    assert (row.claim, row.reached) == ("at most", 0)
    assert math.isnan(row.speed_up) and math.isnan(row.speed_up_low) and 0 < row.speed_up_high < 1
    assert found.table.speed_up.dtype == found.table.speed_up_low.dtype == float
    assert next(r for r in found.rows if r["method"] == "idle")["speed_up"] is None
