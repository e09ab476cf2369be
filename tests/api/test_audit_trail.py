"""The audit trail: an entry for each change, in its transaction; nobody changes one; exported whole."""

import csv
import io

from hooke_api.storage import trail

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE, SPEC
from tests.api.persons import PASSWORD, browser, invite, person, unique
from tests.api.test_experiments import pointers, problem
from tests.api.test_joining import seen

pytestmark = ONE_KIND  # what depends on the database is in test_people_stored.py


def entries(service, **query):
    """Return entries of the trail, the oldest first."""
    return service.get("/audit", limit=500, **query)["items"][::-1]


def told(service, subject):
    """Return (who, what, before, after) of the entries about something."""
    return [(e["actor"], e["action"], e["before"], e["after"]) for e in entries(service, subject=subject)]


def test_changes_of_experiments_and_runs(service):
    service.hello()
    ana, eva = person(service), person(service, "operator", "eva")
    made = ana.client.post("/experiments", json=SPEC | ALONE).json()
    id, path = made["id"], f"/experiments/{made['id']}"
    ana.client.put(f"{path}/priority", json={"priority": 7}).raise_for_status()
    supervisor = service.next()
    supervisor.report("starting", "running")
    run = supervisor.id
    eva.client.post(f"/runs/{run}/checkpoint").raise_for_status()
    problem(eva.client.post(f"/runs/{run}/retry"), 409)
    eva.client.post(f"/runs/{run}/cancel").raise_for_status()
    ana.client.post(f"{path}/cancel").raise_for_status()
    about = {"number": made["number"], "name": "first", "runs": 1}
    assert told(service, id) == [
        (ana.name, "create_experiment", None, about),
        (ana.name, "set_priority", {"priority": 0}, {"priority": 7}),
        (ana.name, "cancel_experiment", {"runs": {"running": 1}}, {"runs": {"running": 1}}),
    ]
    running = {"state": "running", "attempt": 1, "cancel_requested": False}
    assert told(service, run) == [
        (eva.name, "checkpoint_run", running, running),
        (eva.name, "cancel_run", running, running | {"cancel_requested": True}),
    ], "what was refused has changed nothing"


def test_changes_of_clusters_tokens_and_users(service):
    name, user = unique("hpc"), unique("ana")
    service.hello(name)
    service.client.post(f"/clusters/{name}/drain").raise_for_status()
    service.client.put(f"/clusters/{name}/policy", json={"order": "priority"}).raise_for_status()
    token = service.client.post(f"/clusters/{name}/tokens", json={"label": "node"}).json()["id"]
    service.client.post(f"/cluster-tokens/{token}/revoke").raise_for_status()
    service.client.post(f"/clusters/{name}/calibrations", json={}).raise_for_status()
    seen(service, name)
    service.client.delete(f"/clusters/{name}").raise_for_status()
    found = told(service, name)
    assert [(actor, action) for actor, action, _, _ in found] == [
        ("agent", "agent_hello"),
        *(("owner", action) for action in ("drain_cluster", "set_policy", "make_cluster_token", "remove_cluster")),
    ]
    assert found[1][2:] == ({"draining": False}, {"draining": True})
    assert (found[2][2], found[2][3]["order"]) == ({}, "priority")
    assert found[3][3] == {"token": token, "label": "node", "days": 90}
    about = {"cluster": name, "label": "node", "revoked": False}
    assert told(service, token) == [("owner", "revoke_cluster_token", about, {"revoked": True})]
    invite(service, user, "viewer")
    service.client.patch(f"/users/{user}", json={"role": "admin"}).raise_for_status()
    made = service.client.post("/tokens", json={"label": unique("ci"), "scope": "submit"}).json()
    service.client.post(f"/tokens/{made['id']}/revoke").raise_for_status()
    viewer, admin = ({"role": role, "disabled": False} for role in ("viewer", "admin"))
    assert told(service, user) == [("owner", "add_user", None, viewer), ("owner", "change_user", viewer, admin)]
    about = {"user": None, "label": made["label"], "scope": "submit"}
    assert told(service, made["id"]) == [
        ("owner", "create_token", None, about),
        ("owner", "revoke_token", about | {"revoked": False}, {"revoked": True}),
    ]
    assert found[4][2]["draining"] is True, "what was removed"


def test_what_is_deleted_and_restored_and_whose_sessions_end(service):
    service.hello()
    ana = person(service)
    made = ana.client.post("/experiments", json=SPEC | ALONE).json()
    path = f"/experiments/{made['id']}"
    ana.client.post(f"{path}/cancel").raise_for_status()
    ana.client.delete(path).raise_for_status()
    ana.client.post(f"{path}/restore").raise_for_status()
    deleted, restored = told(service, made["id"])[-2:]
    assert deleted[:3] == (ana.name, "delete_experiment", {"number": made["number"], "name": "first"})
    assert deleted[3]["deleted"] is True and "T" in deleted[3]["until"]
    assert restored[1:] == ("restore_experiment", {"deleted": True, "by": ana.name}, {"deleted": False})
    ana.sign_in(client=browser(service)).raise_for_status()
    service.client.post(f"/users/{ana.name}/sign-out").raise_for_status()
    _, action, before, after = told(service, ana.name)[-1]
    assert (action, after) == ("end_sessions", {"sessions": 0}) and before["sessions"] >= 1


def test_sign_ins_and_failed_ones_with_their_address(service):
    ana = person(service)
    client = browser(service, "10.9.8.7")
    problem(ana.sign_in("wrong", client), 401)
    answer = ana.sign_in(client=client)
    body = {"current": "wrong", "password": "another one, longer"}
    problem(client.put("/me/password", json=body), 401)
    client.put("/me/password", json=body | {"current": PASSWORD}).raise_for_status()
    client.post("/sign-out").raise_for_status()
    problem(client.post("/sign-in", json={"name": "=cmd|' /C calc'!A0", "password": "x"}), 401)
    found = entries(service, actor=ana.name)
    actions = ("accept_invite", "sign_in_failed", "sign_in", "sign_in_failed", "change_password", "sign_out")
    assert tuple(entry["action"] for entry in found) == actions
    assert {entry["address"] for entry in found[1:]} == {"10.9.8.7"}
    assert found[2]["request_id"] == answer.headers["x-request-id"]
    assert [entry["credential"].partition(" ")[0] for entry in found[4:]] == ["session", "session"]
    assert entries(service)[-1]["subject"] == "?", "what is no name is not stored"


def test_pages_and_filters(service):
    cluster = unique("hpc")
    service.hello(cluster)
    for _ in range(2):
        service.client.post(f"/clusters/{cluster}/drain").raise_for_status()
        service.client.post(f"/clusters/{cluster}/resume").raise_for_status()
    ids, cursor = [], {}
    while True:
        page = service.get("/audit", subject=cluster, limit=2, **cursor)
        ids += [entry["id"] for entry in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len(ids) == 5
    assert ids == sorted(ids, reverse=True)
    assert len(entries(service, subject=cluster, action="drain_cluster")) == 2
    assert entries(service, subject=cluster, actor="nobody") == []
    assert pointers(service.client.get("/audit", params={"cursor": "x"})) == {"query/cursor"}


def test_no_cell_of_the_export_is_computed_by_a_spreadsheet(service):
    with service.database.write() as session:
        trail.add(session, "=1+1", "@x", unique("-x"), address="+1")
    row = list(csv.DictReader(io.StringIO(service.client.get("/audit/export?kind=csv").text)))[-1]
    assert (row["actor"], row["action"], row["address"]) == ("'=1+1", "'@x", "'+1")
