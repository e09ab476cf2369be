"""`hooke submit --wait` against a server that fails now and then."""

import http.server
import json
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pytest
from hooke.cli import remote as remote_module
from hooke.cli import submit
from hooke.cli.remote import Remote
from hooke.errors import ArgumentError, ServerAway

keys = []
"""Those of the changes that were sent."""


@contextmanager
def serving(answers):
    """Serve (status, document, headers) in this order, one per request; a None closes the connection instead."""
    answers = iter(answers)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if (answer := next(answers)) is None:
                self.connection.close()
                return
            body = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in (answer[2] if len(answer) > 2 else {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            keys.append(self.headers["Idempotency-Key"])
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.handle_error = lambda *_: None
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Remote(f"http://127.0.0.1:{server.server_port}", "token")
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(submit, "LOOK_SECONDS", 0.0)


@pytest.fixture
def paused(monkeypatch):
    """Return the pauses of requests, which take no time."""
    found = []
    monkeypatch.setattr(remote_module, "time", SimpleNamespace(sleep=found.append))
    return found


BUSY = {"detail": "the database is locked: ask again"}
LATER = {"Retry-After": "7"}


def test_a_request_is_sent_again_when_the_server_says(paused):
    with serving([(429, BUSY, LATER), (429, BUSY, {"Retry-After": "2"}), (201, {"id": "exp_a"})]) as remote:
        assert remote.post("/experiments", {}) == {"id": "exp_a"}
    with serving([(503, BUSY, LATER), (200, {"items": []})]) as remote:
        assert remote.get("/runs") == {"items": []}
    assert paused == [7.0, 2.0, 7.0]


def test_a_change_that_may_have_been_made_is_not_sent_again(paused):
    with serving([(503, BUSY, LATER)]) as remote, pytest.raises(ServerAway, match="is locked"):
        remote.post("/experiments", {})
    assert paused == []


LOST = [(502, {}), None, (504, {}), (503, {})]
"""What a proxy says while one of its servers has just ended, and a connection that is closed meanwhile."""


def test_what_may_be_done_twice_is_sent_again_when_its_answer_was_lost(paused):
    with serving([*LOST, (200, {"items": []})]) as remote:
        assert remote.get("/runs") == {"items": []}
    keys.clear()
    with serving([*LOST, (201, {"id": "exp_a"})]) as remote:
        assert remote.post("/experiments", {}, key="one") == {"id": "exp_a"}
    assert keys == ["one"] * 5
    assert paused == [1.0, 2.0, 4.0, 8.0] * 2
    with serving([*LOST, (502, {})]) as remote, pytest.raises(ServerAway, match="status 502$"):
        remote.get("/runs")


def test_a_server_that_starts_again_is_asked_until_it_is_there(paused, monkeypatch):
    with serving([]) as remote:
        came = iter([remote_module._Lost("was lost"), ServerAway("refused"), ServerAway("refused")])

        def send(*_):
            if (error := next(came, None)) is not None:
                raise error
            return httpx.Response(200, json=[])

        monkeypatch.setattr(remote, "_send", send)
        assert remote.get("/runs") == []
        assert paused == list(remote_module.PAUSES[:3])
        came = iter([ServerAway("refused")])
        with pytest.raises(ServerAway, match="refused"):  # nothing was sent before: it may not run at all
            remote.get("/runs")


@pytest.mark.parametrize("answer", LOST)
def test_of_another_change_is_told_that_it_may_have_been_made(paused, answer):
    with serving([answer]) as remote, pytest.raises(ServerAway, match="the change may have been made"):
        remote.post("/runs/run_a/retry", {})
    assert paused == []


def test_a_submission_has_one_key_for_all_of_its_requests(paused, tmp_path, monkeypatch):
    keys.clear()
    (tmp_path / "spec.yaml").write_text("name: first\n")
    with serving([(502, {}), (200, {"warnings": []}), None, (201, {"id": "exp_a"})]) as remote:
        monkeypatch.setattr(Remote, "connect", lambda *_: remote)
        submit.submit(tmp_path / "spec.yaml")
    assert len(keys) == 4 and len(set(keys)) == 1 and len(keys[0]) > 20


def test_a_server_that_puts_off_for_long_is_told(paused):
    told = {"detail": "more than 4 requests of this token or session within a minute: wait 40 s"}
    with serving([(429, told, {"Retry-After": "40"})] * 2) as remote, pytest.raises(ServerAway, match="wait 40 s"):
        remote.get("/runs")
    assert paused == [40.0]


def test_a_server_that_is_away_for_a_while_ends_no_wait(capsys, monkeypatch):
    monkeypatch.setattr(remote_module, "PAUSES", ())
    with serving([None, (503, BUSY), (429, BUSY), (200, {"state": "succeeded"})]) as remote:
        assert submit._patient(remote, "/experiments/1") == {"state": "succeeded"}
    said = capsys.readouterr().err
    assert said.count("retrying for") == 1
    assert "was lost before it answered" in said


def test_what_waiting_does_not_mend_is_told_at_once():
    problem = {"detail": "no such experiment", "errors": [{"pointer": "", "message": "is not there"}]}
    said = "^no such experiment\n  /: is not there$"
    with serving([(404, problem)]) as remote, pytest.raises(ArgumentError, match=said):
        submit._patient(remote, "/experiments/1")


def test_a_server_that_stays_away_ends_the_wait(monkeypatch):
    monkeypatch.setattr(submit, "OUTAGE_SECONDS", 0.0)
    with serving([(500, {})] * 9) as remote, pytest.raises(ServerAway, match="status 500"):
        submit._patient(remote, "/experiments/1")
