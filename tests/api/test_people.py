"""Users: invited, signed in and out, limited, disabled, and what is theirs."""

import uuid
from datetime import timedelta

import httpx
from argon2 import extract_parameters
from hooke_api.events import stream
from hooke_api.models import User, now
from hooke_api.people import signing_in
from hooke_api.people.passwords import Passwords
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC
from tests.api.persons import PASSWORD, browser, invite, person, unique
from tests.api.test_audit_trail import entries
from tests.api.test_experiments import pointers, problem
from tests.waiting import LIMIT

pytestmark = ONE_KIND  # what depends on the database is in test_people_stored.py


def accept(service, secret, password=PASSWORD):
    return browser(service).post("/invites/accept", json={"invite": secret, "password": password})


def test_an_invitation_sets_a_password_once(service):
    name = unique("ana")
    secret = invite(service, name)
    assert pointers(accept(service, secret, "short")) == {"/password"}
    assert pointers(accept(service, secret, "aaaaaaaaaaaaaaa")) == {"/password"}
    assert pointers(accept(service, secret, name * 2)) == {"/password"}
    me = accept(service, secret).json()
    told = {"name": name, "role": "researcher", "credential": "session"}
    assert me == told | {"is_user": True, "users": True, "projects": {}}
    assert "has been used" in problem(accept(service, secret), 401)["detail"]
    problem(accept(service, "hooke_invite_x"), 401)


def test_an_invitation_expires_and_another_one_replaces_it(service):
    ana = person(service)
    first, second = (
        service.client.post(f"/users/{ana.name}/invite").json()["path"].partition("#")[2] for _ in range(2)
    )
    problem(accept(service, first), 401)
    assert ana.sign_in().status_code == 200, "the password is valid until another one is set"
    with service.database.write() as session:
        session.execute(update(User).values(invite_until=now() - timedelta(seconds=1)))
    problem(accept(service, second), 401)
    third = service.client.post(f"/users/{ana.name}/invite").json()["path"].partition("#")[2]
    assert accept(service, third, "another one, longer").status_code == 200
    problem(ana.client.get("/me"), 401)
    problem(ana.sign_in(), 401)
    problem(service.client.post("/users", json={"name": ana.name}), 409)
    for name in ("scheduler", "retention"):  # under these others appear in histories
        assert pointers(service.client.post("/users", json={"name": name})) == {"/name"}


def test_the_cookie_is_kept_from_scripts_and_other_sites(service):
    answer = person(service).sign_in()
    header = answer.headers["set-cookie"].lower()
    assert all(part in header for part in ("httponly", "samesite=strict", "path=/"))
    assert answer.headers["cache-control"] == "no-store"


def test_name_and_password_are_told_to_be_wrong_together(service):
    ana, ben = person(service), person(service, name="ben")
    service.client.patch(f"/users/{ben.name}", json={"disabled": True}).raise_for_status()
    invited = unique("eva")
    invite(service, invited)
    client = browser(service)
    answers = [
        client.post("/sign-in", json={"name": name, "password": password})
        for name, password in (
            *((ana.name, "wrong"), (unique("nobody"), PASSWORD), (ben.name, PASSWORD), (invited, PASSWORD)),
            ("No Name; DROP", PASSWORD),
        )
    ]
    assert {problem(answer, 401)["detail"] for answer in answers} == {"the name or the password is wrong"}
    assert client.post("/sign-in", json={"name": f" {ana.name.upper()} ", "password": PASSWORD}).status_code == 200


def test_a_name_that_nobody_has_costs_the_same_hash():
    passwords = Passwords()
    assert not passwords.matches(None, PASSWORD)
    assert not passwords.matches("no hash", PASSWORD)
    parameters = extract_parameters(passwords.hash(PASSWORD))
    assert extract_parameters(passwords._nobody) == parameters
    assert (parameters.type.name, parameters.memory_cost, parameters.time_cost) == ("ID", 19 * 1024, 2)
    assert passwords.matches(passwords.hash(PASSWORD), PASSWORD)
    passwords.close()


def test_failed_sign_ins_of_a_name_are_limited(service, monkeypatch):
    ana = person(service)
    for _ in range(signing_in.MOST_OF_ACCOUNT):
        problem(ana.sign_in("wrong"), 401)
    answer = ana.sign_in()
    assert "the start-up token still signs in" in problem(answer, 429)["detail"]
    assert answer.headers["retry-after"] == "900"
    assert ana.client.get("/me").status_code == 200, "sessions go on"
    monkeypatch.setattr(signing_in, "WINDOW", timedelta(0))
    assert ana.sign_in().status_code == 200
    monkeypatch.undo()
    assert ana.sign_in().status_code == 200, "failures before a sign-in do not count"


def test_failed_sign_ins_of_an_address_are_limited(service, monkeypatch):
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 3)
    ana, client = person(service), browser(service)
    for i in range(3):
        problem(client.post("/sign-in", json={"name": unique(f"nobody{i}"), "password": "x"}), 401)
    problem(ana.sign_in(client=client), 429)
    assert ana.sign_in().status_code == 200, "from elsewhere"


def test_failed_sign_ins_of_a_network_of_ipv6_count_together(service, monkeypatch):
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 3)
    ana, network = person(service), f"2001:db8:{uuid.uuid4().hex[:4]}"
    for i in range(3):
        client = browser(service, f"{network}:{i}::1")
        problem(client.post("/sign-in", json={"name": unique(f"nobody{i}"), "password": "x"}), 401)
    assert ana.sign_in(client=browser(service, f"{network}:0::2")).status_code == 200, "of three networks"
    for i in range(2):
        client = browser(service, f"{network}:0:{i}:0:0:5")
        problem(client.post("/sign-in", json={"name": unique(f"other{i}"), "password": "x"}), 401)
    problem(ana.sign_in(client=browser(service, f"{network}:0::7")), 429)
    assert ana.sign_in(client=browser(service, f"{network}:1::7")).status_code == 200


def test_the_login_page_blocks_nobody_and_lets_the_owner_in(service, monkeypatch):
    """A page elsewhere can open `/login` in a browser: with wrong tokens it must not lock out who sits there."""
    monkeypatch.setattr(signing_in, "MOST_OF_ADDRESS", 3)
    ana, client = person(service), browser(service)
    login = f"{service.url}/login"
    for _ in range(5):
        answer = client.get(login, params={"token": "wrong"}, headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 401 and "set-cookie" not in answer.headers
    assert ana.sign_in(client=client).status_code == 200
    address = client.headers["x-forwarded-for"]
    noted = [each for each in entries(service, subject="owner") if each["address"] == address]
    assert [each["action"] for each in noted] == ["sign_in_failed"] * 3, "the trail does not grow without end"
    for _ in range(3):
        problem(client.post("/sign-in", json={"name": "owner", "password": "x"}), 401)
    problem(ana.sign_in(client=client), 429)
    assert client.get(login, params={"token": service.settings.token}).status_code == 303, "the start-up token"


def test_a_change_of_password_ends_the_other_sessions(service):
    ana = person(service)
    other = browser(service)
    assert ana.sign_in(client=other).status_code == 200
    body = {"current": "wrong", "password": "another one, longer"}
    assert "current password" in problem(ana.client.put("/me/password", json=body), 401)["detail"]
    assert ana.client.put("/me/password", json=body | {"current": PASSWORD}).status_code == 204
    assert ana.client.get("/me").status_code == 200
    problem(other.get("/me"), 401)
    problem(ana.sign_in(), 401)
    assert ana.sign_in("another one, longer").status_code == 200
    problem(service.client.put("/me/password", json=body), 409)


def test_role_and_access_count_from_the_next_request_on(service):
    ana = person(service, "admin")
    assert ana.client.get("/users").status_code == 200
    problem(ana.client.patch(f"/users/{ana.name}", json={"role": "viewer"}), 409)
    service.client.patch(f"/users/{ana.name}", json={"role": "viewer"}).raise_for_status()
    assert "needs the role admin" in problem(ana.client.get("/users"), 403)["detail"]
    token = ana.token()
    service.client.patch(f"/users/{ana.name}", json={"disabled": True}).raise_for_status()
    problem(ana.client.get("/me"), 401)
    bearer = {"authorization": f"Bearer {token}"}
    assert "is disabled" in problem(httpx.get(f"{service.url}/api/v1/me", headers=bearer), 401)["detail"]
    problem(service.client.post(f"/users/{ana.name}/invite"), 409)
    service.client.patch(f"/users/{ana.name}", json={"disabled": False}).raise_for_status()
    problem(ana.client.get("/me"), 401)
    assert ana.sign_in().status_code == 200


def test_a_sign_in_comes_from_a_page_of_this_server_and_is_short(service):
    ana = person(service)
    body = {"name": ana.name, "password": PASSWORD}
    for origin in ("http://evil.example", "null"):
        answer = browser(service).post("/sign-in", json=body, headers={"origin": origin})
        problem(answer, 403)
        assert "set-cookie" not in answer.headers
    problem(browser(service).post("/sign-in", json=body | {"password": "x" * 5000}), 413)
    assert httpx.post(f"{service.url}/api/v1/sign-in", json=body).status_code == 200, "a program names no origin"


def test_a_browser_is_led_to_the_sign_in_once_there_are_users(service):
    with httpx.Client(base_url=service.url, timeout=LIMIT) as client:
        assert client.get("/runs/run_1").status_code == 401
        assert client.get("/api/v1/me", headers=dict(service.client.headers)).json()["users"] is False
        person(service)
        answer = client.get("/runs/run_1")
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/runs/run_1")
        assert client.get("/sign-in").status_code == 503, "the page, which is not built here"
        assert client.get("/login").status_code == 401, "the page of the start-up token"
        assert client.get("/login", params={"token": service.settings.token}).status_code == 303
        assert client.get("/api/v1/me").json()["credential"] == "start-up token"


def test_the_stream_of_a_session_that_has_ended_ends(service, monkeypatch):
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    ana = person(service)
    with ana.client.stream("GET", "/events") as answer:
        lines = answer.iter_lines()
        assert any(line.startswith("event: heartbeat") for line in lines)
        service.client.patch(f"/users/{ana.name}", json={"disabled": True}).raise_for_status()
        for _ in lines:
            pass  # until the server ends it
    problem(ana.client.get("/events"), 401)


def test_an_experiment_is_changed_by_its_user_and_by_operators(service):
    service.hello()
    ana, ben = person(service), person(service, name="ben")
    operator = person(service, "operator", "eva")
    made = ana.client.post("/experiments", json=SPEC | ALONE).json()
    assert made["user"] == ana.name
    path = f"/experiments/{made['id']}"
    run = service.runs()[0]["id"]
    refused = f"is of {ana.name}: only its user"
    for change in (
        lambda client: client.put(f"{path}/priority", json={"priority": 1}),
        lambda client: client.post(f"{path}/cancel"),
        lambda client: client.post(f"/runs/{run}/cancel"),
        lambda client: client.post(f"/runs/{run}/retry"),
        lambda client: client.post(f"/runs/{run}/checkpoint"),
    ):
        assert refused in problem(change(ben.client), 403)["detail"]
    assert ana.client.put(f"{path}/priority", json={"priority": 1}).status_code == 200
    assert operator.client.post(f"{path}/cancel").status_code == 202
    assert service.run(run)["history"][-1]["who"] == operator.name
