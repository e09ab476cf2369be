"""Who may do what: every operation of the API, by every role, every scope and every other credential."""

import re

import httpx
import pytest
from hooke_api.base import policy
from hooke_api.base.access import Role, Scope
from hooke_api.base.policy import IDS, LEAST, PLACES, Other, Place

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC
from tests.api.persons import bearing, person
from tests.api.test_experiments import problem
from tests.waiting import LIMIT

pytestmark = ONE_KIND  # the database makes no difference to the policy


def operations(service) -> dict[str, tuple[str, str]]:
    """Return every operation of the document: id -> method and path."""
    paths = service.app.openapi()["paths"]
    return {
        told["operationId"]: (method.upper(), path.removeprefix("/api/v1").replace("{", "").replace("}", ""))
        for path, methods in paths.items()
        for method, told in methods.items()
    }


def status(client: httpx.Client, method: str, path: str) -> int:
    """Return the status of a request that is empty, so that one that is let in changes nothing."""
    body = {} if method in ("POST", "PUT", "PATCH") else None
    with client.stream(method, path, json=body) as answer:
        return answer.status_code


def test_every_operation_is_classified(service):
    assert set(operations(service)) == set(LEAST)
    assert service.app.state.door.operations.names == set(LEAST)


def test_an_operation_that_nobody_classified_is_refused_to_everybody(service, monkeypatch):
    monkeypatch.delitem(policy.LEAST, "list_runs")
    assert set(operations(service)) != set(LEAST)
    assert "list_runs is not for users" in problem(service.client.get("/runs"), 403)["detail"]


def test_of_every_operation_of_users_it_is_said_which_role_counts(service):
    """An operation with the id of an experiment or run is of its project; of all others it has to be said."""
    asked = {
        told["operationId"]: (
            set(re.findall("{(.*?)}", path)),
            {each["name"] for each in told.get("parameters", ())},
        )
        for path, methods in service.app.openapi()["paths"].items()
        for told in methods.values()
    }
    of_users = {name for name, least in LEAST.items() if isinstance(least, Role)}
    by_id = {name for name in of_users if asked[name][0] & IDS}
    assert set(PLACES) == of_users - by_id
    assert all(len(asked[name][0] & IDS) == 1 for name in by_id)
    elsewhere = {
        "name",
        "token_id",
        "webhook_id",
        "delivery_id",
        "calibration_id",
        "identity_id",
        "view_id",
        "fetch_id",
    }
    assert {each for ids, _ in asked.values() for each in ids} == IDS | elsewhere, "does it lead to experiments?"
    for name, place in PLACES.items():
        if place is Place.SITE:
            assert not asked[name][1] & {"experiment", "run", "runs", "rows", "against", "filter"}, name
        assert (place is Place.QUERY) == ("project" in asked[name][1]), name


def test_an_operation_of_which_nobody_says_what_it_reads_is_refused(service, monkeypatch):
    monkeypatch.delitem(policy.PLACES, "list_runs")
    assert "list_runs is not for users" in problem(service.client.get("/runs"), 403)["detail"]


@pytest.fixture
def callers(service):
    """Return every kind of credential: name -> a client, and the role that it is worth; null: none of users."""
    admin = person(service, "admin")
    found: dict[str, tuple[httpx.Client, Role | Other | None]] = {}
    for role in Role:
        found[f"session of a {role}"] = (person(service, role).client, role)
    for scope in (Scope.READ, Scope.SUBMIT, Scope.ADMIN):
        found[f"token to {scope}"] = (bearing(service, admin.token(scope)), scope.role)
    machine = admin.token("operate", label="machine", machine=True)
    found["machine that may operate"] = (bearing(service, machine), Role.OPERATOR)
    viewer = person(service, "viewer")
    service.client.patch(f"/users/{viewer.name}", json={"role": "admin"}).raise_for_status()
    strong = viewer.token("admin")
    service.client.patch(f"/users/{viewer.name}", json={"role": "viewer"}).raise_for_status()
    found["token beyond the role of its user"] = (bearing(service, strong), Role.VIEWER)
    found["start-up token"] = (service.client, Role.ADMIN)
    found["agent token of the server"] = (service.agent, Other.AGENT)
    service.hello()
    service.client.post("/experiments", json=SPEC | ALONE).raise_for_status()
    found["token of an attempt"] = (bearing(service, service.next().order.token), Other.ATTEMPT)
    made = service.client.post("/clusters/hpc/tokens", json={}).json()["token"]
    found["token of a cluster"] = (bearing(service, made), Other.AGENT)
    with httpx.Client(base_url=f"{service.url}/api/v1", timeout=LIMIT) as nobody:
        yield found | {"nothing": (nobody, None)}


def expected(worth: Role | Other | None, least: Role | Other) -> str:
    if least is Other.ANYBODY:
        return "in"
    if isinstance(least, Other):
        return "in" if worth is least else "401"
    if not isinstance(worth, Role):
        return "401"
    return "in" if worth.rank >= least.rank else "403"


def test_every_operation_by_every_credential(service, callers):
    wrong, count = [], 0
    known = operations(service)
    ends = known.pop("sign_out")  # ends the session that the others use
    for name, (client, worth) in callers.items():
        for operation, (method, path) in [*known.items(), ("sign_out", ends)]:
            found = status(client, method, path)
            seen = str(found) if found in (401, 403) else "in"
            count += 1
            if seen != expected(worth, LEAST[operation]):
                wrong.append(f"{name}, {operation}: {found}, not {expected(worth, LEAST[operation])}")
    assert wrong == []
    assert count == len(LEAST) * len(callers) > 700
