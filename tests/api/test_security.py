"""Who may: tokens, sessions, hosts, origins, headers; and that a secret is a secret."""

import socket
import stat
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import pytest
from hooke_api.base.settings import Settings, secret
from hooke_api.models import BrowserSession, now
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.test_experiments import problem
from tests.waiting import LIMIT

OPEN = {"livez", "readyz", "version", "sign-in", "accept", "oidc", "start", "callback"}
"""Last words of the addresses that need no credential."""


@pytest.fixture
def anyone(service):
    """A client that carries no token."""
    with httpx.Client(base_url=service.url) as client:
        yield client


@pytest.fixture
def browser(service, anyone):
    """A browser that has just opened the address that Hooke prints."""
    answer = anyone.get("/login", params={"token": service.settings.token})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    return anyone


def test_health_is_open_and_everything_else_is_not(service, anyone):
    for path in ("/livez", "/api/v1/livez", "/version", "/api/v1/version"):
        assert anyone.get(path).status_code == 200
    assert anyone.get("/readyz").status_code == 503  # these tests have no Redis
    assert "redis does not respond" in anyone.get("/readyz").json()["reasons"][0]
    for path in service.app.openapi()["paths"]:
        if path.rpartition("/")[2] not in OPEN:
            for method in service.app.openapi()["paths"][path]:
                body = problem(anyone.request(method, path.replace("{", "").replace("}", ""), json={}), 401)
                assert body["type"] == "/problems/unauthorized", path
    assert anyone.get("/api/v1/experiments").headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("value", ["Bearer wrong", "Bearer é", "Basic abc", "Bearer", "x"])
@ONE_KIND
def test_wrong_tokens(anyone, value):
    answer = anyone.get("/api/v1/runs", headers={"authorization": value.encode("latin-1")})
    problem(answer, 401)


@ONE_KIND
def test_a_browser_without_session_is_told_how_to_sign_in(anyone):
    for path in ("/", "/experiments/exp_x", "/api/docs"):
        answer = anyone.get(path)
        assert answer.status_code == 401
        assert answer.headers["content-type"].startswith("text/html")
        assert "token" in answer.text
        assert answer.headers["cache-control"] == "no-store"


def test_login_gives_a_session(service, browser):
    cookie = browser.cookies.jar
    (found,) = list(cookie)
    assert found.name == f"hooke-session-{service.settings.port}"
    assert service.settings.token not in found.value
    assert browser.get("/api/v1/runs").status_code == 200


@ONE_KIND
def test_the_cookie_is_kept_from_scripts_and_other_sites(service, anyone):
    header = anyone.get("/login", params={"token": service.settings.token}).headers["set-cookie"].lower()
    assert "httponly" in header
    assert "samesite=strict" in header
    assert "path=/" in header


@ONE_KIND
def test_login_with_a_wrong_token(anyone):
    answer = anyone.get("/login", params={"token": "wrong"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert anyone.get("/login").status_code == 401


@ONE_KIND
def test_under_tls_the_cookie_keeps_to_it(service, anyone):
    """A proxy on the host of the server says what the browser speaks."""
    anyone.headers["x-forwarded-proto"] = "https"
    header = anyone.get("/login", params={"token": service.settings.token}).headers["set-cookie"]
    assert header.startswith(f"__Host-hooke-session-{service.settings.port}=")
    assert "; Secure" in header
    value = header.partition("=")[2].partition(";")[0]
    for name, status in ((f"__Host-hooke-session-{service.settings.port}", 200), ("hooke-session-0", 401)):
        answer = anyone.get("/api/v1/me", headers={"cookie": f"{name}={value}"})
        assert answer.status_code == status, name


def test_sessions_of_the_owner_end(service, browser):
    (value,) = browser.cookies.values()
    for forged in ("", ".", value[:-1], value + "x", "hooke_session_", "owner.aXfd3g.x"):
        cookie = {"cookie": f"hooke-session-{service.settings.port}={forged}"}
        assert httpx.get(f"{service.url}/api/v1/runs", headers=cookie).status_code == 401, forged
    at = now()
    for age, status in ((timedelta(days=29), 200), (timedelta(days=31), 401)):
        with service.database.write() as session:
            session.execute(update(BrowserSession).values(created_at=at - age, used_at=at - age))
        assert browser.get("/api/v1/runs").status_code == status


@ONE_KIND
def test_a_new_token_ends_all_sessions(service, browser, monkeypatch):
    assert browser.get("/api/v1/runs").status_code == 200
    monkeypatch.setattr(service.app.state.sessions, "_token", "another one")
    problem(browser.get("/api/v1/runs"), 401)


def test_the_owner_signs_out_here_and_everywhere(service, browser):
    (value,) = browser.cookies.values()
    assert browser.post("/api/v1/sign-out", headers={"origin": service.url}).status_code == 204
    cookie = {"cookie": f"hooke-session-{service.settings.port}={value}"}
    problem(httpx.get(f"{service.url}/api/v1/runs", headers=cookie), 401)
    browser.get("/login", params={"token": service.settings.token})
    assert browser.get("/api/v1/runs").status_code == 200
    assert service.client.post("/users/owner/sign-out").status_code == 204
    problem(browser.get("/api/v1/runs"), 401)
    assert service.client.get("/runs").status_code == 200, "the token goes on"


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null", "http://127.0.0.1:1"])
@ONE_KIND
def test_a_change_with_a_cookie_needs_the_origin(service, browser, origin):
    headers = {"origin": origin} if origin else {}
    problem(browser.post("/api/v1/runs/run_x/cancel", headers=headers), 403)


@ONE_KIND
def test_a_change_with_a_cookie_and_the_origin(service, browser):
    problem(browser.post("/api/v1/runs/run_x/cancel", headers={"origin": service.url}), 404)


@ONE_KIND
def test_a_program_needs_no_origin(service):
    problem(service.client.post("/runs/run_x/cancel"), 404)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8470", "127.0.0.1.evil.example", "localhost.", "[::2]"]
)
@ONE_KIND
def test_other_hosts_are_refused(service, host):
    problem(service.client.get("/livez", headers={"host": host}), 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:8470", "[::1]", "[::1]:8470"])
@ONE_KIND
def test_this_host_is_accepted(service, host):
    assert service.client.get("/livez", headers={"host": host}).status_code == 200


@ONE_KIND
def test_headers_of_every_answer(service, anyone):
    for answer in (
        anyone.get("/"),
        anyone.get("/livez"),
        anyone.get("/api/v1/runs"),
        service.client.get("/nothing"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-request-id"]


@ONE_KIND
def test_unknown_addresses_and_methods(service):
    problem(service.client.get("/nothing"), 404)
    problem(service.client.delete("/runs"), 405)
    problem(service.client.get("/ingest"), 405)
    problem(service.client.get("/runs?variant=%00"), 400)
    problem(service.client.get("/runs/%00"), 400)


def test_secrets_are_made_once_and_for_the_owner_only(tmp_path):
    path = tmp_path / "home" / "token"
    first = secret(path)
    assert len(first) >= 40
    assert secret(path) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["token"]


def test_settings_come_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOOKE_HOME", str(tmp_path))
    monkeypatch.setenv("HOOKE_PORT", "8499")
    monkeypatch.setenv("HOOKE_TOKEN", "from the environment")
    monkeypatch.setenv("HOOKE_ALLOWED_HOSTS", '["lab.example"]')
    settings = Settings()
    assert (settings.home, settings.port, settings.allowed_hosts) == (tmp_path, 8499, ["lab.example"])
    assert settings.token == "from the environment"
    assert settings.url == f"sqlite:///{tmp_path}/hooke.db"
    assert settings.agents == secret(tmp_path / "agent-token")


@pytest.mark.parametrize(
    "host",
    [
        *(
            "[",
            "[::1",
            "]",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "localhost/evil",
            "evil@localhost",
            "",
        ),
        *("localhost\tevil", "a b", "[::1]evil", "%00", "localhost:999999", "localhost, localhost"),
    ],
)
@ONE_KIND
def test_a_host_header_that_names_nothing_is_refused(service, host):
    assert problem(service.client.get("/livez", headers={"host": host}), 400)["type"] == "/problems/malformed"


@ONE_KIND
def test_two_host_headers_are_refused(service):
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port), timeout=LIMIT) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("origin", ["http://[", "//", "http://[::1"])
@ONE_KIND
def test_an_origin_that_is_none_is_refused(browser, origin):
    problem(browser.post("/api/v1/runs/run_x/cancel", headers={"origin": origin}), 403)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/experiments", "GET, POST"),
        ("/experiments/exp_x", "GET, PATCH, DELETE"),
        ("/experiments/exp_x/cancel", "POST"),
        ("/experiments/dry-run", "POST"),
        ("/me/identities/link", "POST"),
        ("/clusters/local/policy", "PUT"),
        ("/clusters/local", "GET, DELETE"),
        ("/clusters/local/tokens", "GET, POST"),
    ],
)
@ONE_KIND
def test_a_wrong_method_is_told_all_that_are_right(service, path, allowed):
    answer = service.client.request("OPTIONS", path)
    assert problem(answer, 405)["type"] == "/problems/method-not-allowed"
    assert answer.headers.get_list("allow") == [allowed]


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff", b'{"name": "\xff"}', b"[" * 59, b"[" * 59 + b"1" * 5000, '{"a": 1}'.encode("utf-16"), b"{]"],
)
@pytest.mark.parametrize("path", ["/experiments", "/experiments/dry-run", "/series"])
@ONE_KIND
def test_what_is_not_json_has_one_documented_type(service, path, body):
    answer = service.client.post(path, content=body, headers={"content-type": "application/json"})
    assert problem(answer, 400)["type"] == "/problems/malformed"


@pytest.mark.parametrize(
    "body", [b"[" * 5000, b"[" + b"0," * 500_000 + b"0]", b'{"variants": [' + b'"",' * 60_000]
)
@ONE_KIND
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(service, body):
    answer = service.client.post(
        "/experiments/dry-run", content=body, headers={"content-type": "application/json"}
    )
    assert problem(answer, 413)["type"] == "/problems/too-large"


@ONE_KIND
@pytest.mark.parametrize(("asked", "repeated"), [("a1_B-2", True), ("x" * 65, False), ("a b", False), ("", False)])
def test_an_answer_says_whose_it_is_if_it_is_asked_to(service, asked, repeated):
    """Behind a proxy that answers a request twice, a supervisor would take it for the answer to the next one."""
    for path, token in (("/livez", "none"), ("/api/v1/runs", "wrong"), ("/api/v1/runs", service.settings.token)):
        headers = {"hooke-answers": asked, "authorization": f"Bearer {token}"}
        answer = httpx.get(f"{service.url}{path}", headers=headers)
        assert answer.headers.get("hooke-answers") == (asked if repeated else None)
