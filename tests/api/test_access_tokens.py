"""Tokens of users, machines and agents: scoped, expiring, revocable, shown once, with the time of last use."""

from datetime import datetime, timedelta

from hooke_api.models import AccessToken, now
from sqlalchemy import update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, HELLO, SPEC
from tests.api.persons import bearing, person
from tests.api.test_experiments import pointers, problem
from tests.waiting import wait_for

pytestmark = ONE_KIND  # the statements are those of test_people, which both databases run


def listed(client):
    return {item["label"]: item for item in client.get("/tokens").json()["items"]}


def test_a_token_expires_is_revoked_and_tells_when_it_was_used(service):
    ana = person(service)
    program = bearing(service, ana.token("submit", days=2))
    assert program.get("/me").json() | {"users": True} == {
        "name": ana.name,
        "role": "researcher",
        "credential": "token",
        "is_user": True,
        "users": True,
        "projects": {},
    }
    wait_for(lambda: listed(ana.client)["laptop"]["used_at"], "the time of last use")
    kept = listed(ana.client)["laptop"]
    assert "token" not in kept
    assert (kept["user"], kept["scope"]) == (ana.name, "submit")
    with service.database.write() as session:
        session.execute(update(AccessToken).values(expires_at=now() - timedelta(seconds=1)))
    assert "expired at" in problem(program.get("/me"), 401)["detail"]
    again = bearing(service, ana.token(label="again"))
    assert again.get("/me").json()["role"] == "viewer"
    ana.client.post(f"/tokens/{listed(ana.client)['again']['id']}/revoke").raise_for_status()
    assert "was revoked at" in problem(again.get("/me"), 401)["detail"]
    problem(bearing(service, "hooke_token_x").get("/me"), 401)


def test_a_token_allows_no_more_than_its_maker_may(service):
    ana, admin = person(service), person(service, "admin", "eva")
    for body in ({"scope": "operate"}, {"machine": True}, {"scope": "agent:hpc"}):
        problem(ana.client.post("/tokens", json={"label": "x"} | body), 403)
    assert pointers(ana.client.post("/tokens", json={"label": "x", "scope": "all"})) == {"/scope"}
    assert pointers(ana.client.post("/tokens", json={"label": "=x"})) == {"/label"}
    program = bearing(service, ana.token("submit", days=2))
    made = program.post("/tokens", json={"label": "further", "scope": "read", "days": 90}).json()
    assert made["expires_at"] == listed(ana.client)["laptop"]["expires_at"], "no token prolongs itself"
    service.hello()
    assert program.post("/experiments", json=SPEC | ALONE).json()["user"] == ana.name
    problem(bearing(service, ana.token(label="reads")).post("/experiments", json=SPEC | ALONE), 403)
    assert set(listed(admin.client)) == {"laptop", "further", "reads"}
    assert listed(person(service, "operator").client) == {}
    other = listed(ana.client)["reads"]["id"]
    problem(person(service, name="ben").client.post(f"/tokens/{other}/revoke"), 404)
    admin.client.post(f"/tokens/{other}/revoke").raise_for_status()


def test_a_machine_has_a_name_and_no_user(service):
    admin = person(service, "admin")
    program = bearing(service, admin.token("submit", label="ci", machine=True))
    assert program.get("/me").json()["name"] == "machine:ci"
    problem(admin.client.post("/tokens", json={"label": "ci", "machine": True}), 409)
    assert program.get("/tokens").json()["items"] == []
    service.hello()
    assert program.post("/experiments", json=SPEC | ALONE).json()["user"] == "machine:ci"
    owned = service.client.post("/tokens", json={"label": "of the owner", "scope": "read"}).json()
    assert owned["user"] is None


def lifetime(token: dict) -> int:
    """Return the days for which a token was made."""
    made, until = (datetime.fromisoformat(token[name]) for name in ("created_at", "expires_at"))
    return (until - made).days


def test_an_agents_token_is_that_of_its_cluster(service):
    admin = person(service, "admin")
    made = admin.client.post("/tokens", json={"label": "node", "scope": "agent:hpc"}).json()
    agent = bearing(service, made["token"])
    hello = HELLO | {"name": "hpc"}
    assert agent.post("/agents/hello", json=hello).status_code == 200
    problem(agent.post("/agents/hello", json=hello | {"name": "other"}), 403)
    problem(agent.get("/runs"), 401)
    shown = listed(admin.client)["node"]
    assert (shown["scope"], shown["user"], lifetime(shown)) == ("agent:hpc", None, 90)
    days = {"label": "node", "scope": "agent:hpc", "days": 5}
    assert lifetime(admin.client.post("/tokens", json=days).json()) == 5
    admin.client.post(f"/tokens/{made['id']}/revoke").raise_for_status()
    problem(agent.post("/agents/hello", json=hello), 401)
