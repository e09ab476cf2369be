"""`hooke submit --wait` against a server that fails now and then."""

import http.server
import json
import threading
from contextlib import contextmanager

import pytest
from hooke.cli import submit
from hooke.cli.remote import Remote
from hooke.errors import ArgumentError, ServerAway


@contextmanager
def serving(answers):
    """Serve (status, document) in this order, one per request; a None closes the connection without an answer."""
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
            self.end_headers()
            self.wfile.write(body)

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


BUSY = {"detail": "the database is locked: ask again"}


def test_a_server_that_is_away_for_a_while_ends_no_wait(capsys):
    with serving([None, (503, BUSY), (429, BUSY), (200, {"state": "succeeded"})]) as remote:
        assert submit._patient(remote, "/experiments/1") == {"state": "succeeded"}
    said = capsys.readouterr().err
    assert said.count("asked again") == 1
    assert "cannot be reached" in said


def test_what_waiting_does_not_mend_is_told_at_once():
    problem = {"detail": "no such experiment", "errors": [{"pointer": "", "message": "is not there"}]}
    said = "no such experiment; /: is not there"
    with serving([(404, problem)]) as remote, pytest.raises(ArgumentError, match=said):
        submit._patient(remote, "/experiments/1")


def test_a_server_that_stays_away_ends_the_wait(monkeypatch):
    monkeypatch.setattr(submit, "OUTAGE_SECONDS", 0.0)
    with serving([(500, {})] * 9) as remote, pytest.raises(ServerAway, match="status 500"):
        submit._patient(remote, "/experiments/1")
