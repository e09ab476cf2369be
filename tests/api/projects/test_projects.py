"""Projects: made, changed, with members; what their roles allow; experiments put into them and moved."""

from datetime import timedelta

import pytest
from hooke_api.models import Experiment, ProjectMember, Run, now
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.exchange.measured import exported, measured
from tests.api.hands import ALONE, SPEC
from tests.api.persons import bearing, person, unique
from tests.api.planning.test_continued import FIRST
from tests.api.projects.group import HIDDEN, hidden, join, project, submit
from tests.api.test_audit_trail import told
from tests.api.test_deleting import columns, ended, purge
from tests.api.test_experiments import pointers, problem


def names(client):
    return [each["name"] for each in client.get("/experiments").json()["items"]]


def test_one_person_has_one_project_and_nothing_to_say(service):
    (only,) = service.get("/projects")["items"]
    assert (only["name"], only["role"], only["archived"], only["keep_runs"]) == ("default", "admin", False, "site")
    made = service.submit(**ALONE)
    assert made["project"] == service.get("/experiments")["items"][0]["project"] == "default"
    assert service.get("/experiments", filter="project = default")["items"] != []
    assert service.get("/experiments", filter="not project = default")["items"] == []
    assert service.get("/me")["projects"] == {}


def test_the_list_says_what_the_servers_retention_is(service):
    assert service.get("/projects")["site"] == "never"
    state, before = service.app.state, service.app.state.settings
    state.settings = before.model_copy(update={"keep_runs": timedelta(days=90), "undo": timedelta(hours=36)})
    try:
        answer = service.get("/projects")
    finally:
        state.settings = before
    assert (answer["site"], answer["undo"]) == ("90 days", "36 hours")


def test_a_project_is_made_and_changed(service):
    name, next_name = unique("vision"), unique("text")
    made = service.client.post("/projects", json={"name": name, "keep_runs": "90d"})
    assert made.status_code == 201 and made.json()["role"] == "admin"
    assert "choose another name" in problem(service.client.post("/projects", json={"name": name}), 409)["detail"]
    for bad in ({"name": "A b"}, {"name": next_name, "keep_runs": "5m"}, {"name": next_name, "keep_runs": "soon"}):
        assert pointers(service.client.post("/projects", json=bad)) <= {"/name", "/keep_runs"}
    changed = service.client.patch(f"/projects/{name}", json={"name": next_name, "keep_runs": "never"}).json()
    assert (changed["name"], changed["keep_runs"], changed["id"]) == (next_name, "never", made.json()["id"])
    problem(service.client.patch(f"/projects/{name}", json={}), 404)
    problem(service.client.patch(f"/projects/{next_name}", json={"name": "default"}), 409)
    service.hello()
    kept = submit(service.client, next_name)
    service.client.patch(f"/projects/{next_name}", json={"archived": True}).raise_for_status()
    for path in ("/experiments", "/experiments/dry-run"):
        answer = service.client.post(path, params={"project": next_name}, json=SPEC | ALONE)
        assert "is archived" in problem(answer, 409)["detail"]
    assert service.get(f"/experiments/{kept['id']}")["project"] == next_name
    assert [each["name"] for each in service.get("/projects")["items"]] == ["default", next_name]
    for change in ({"name": "mine"}, {"archived": True}):
        problem(service.client.patch("/projects/default", json=change), 409)
    service.client.patch("/projects/default", json={"keep_runs": "30d"}).raise_for_status()
    service.client.patch("/projects/default", json={"keep_runs": "site"}).raise_for_status()
    state = {"name": name, "description": "", "archived": False, "keep_runs": "90d"}
    state |= {"quota": None, "quota_bytes": None}
    assert told(service, name)[:2] == [
        ("owner", "create_project", None, state),
        ("owner", "change_project", state, state | {"name": next_name, "keep_runs": "never"}),
    ]


def test_members_come_and_go(service):
    ana, name = person(service), project(service, unique("vision"))
    path = f"/projects/{name}/members/{ana.name}"
    assert name not in [each["name"] for each in ana.client.get("/projects").json()["items"]]
    join(service, name, ana.name, "viewer")
    join(service, name, ana.name, "operator")
    (member,) = ana.client.get(f"/projects/{name}/members").json()["items"]
    assert (member["user"], member["role"], member["created_by"]) == (ana.name, "operator", "owner")
    assert {each["name"]: each["role"] for each in ana.client.get("/projects").json()["items"]} == {
        "default": "researcher",
        name: "operator",
    }
    assert ana.client.get("/me").json()["projects"] == {name: "operator"}
    assert pointers(service.client.put(path, json={"role": "admin"})) == {"/role"}
    problem(service.client.put(f"/projects/{name}/members/nobody", json={}), 404)
    problem(service.client.put(f"/projects/default/members/{ana.name}", json={}), 409)
    assert ana.client.get("/projects/default/members").json() == {"items": []}
    assert service.client.delete(path).status_code == 204
    problem(service.client.delete(path), 404)
    problem(ana.client.get(f"/projects/{name}/members"), 404)
    assert service.count(ProjectMember) == 0
    assert told(service, f"{name}/{ana.name}") == [
        ("owner", "set_member", None, {"role": "viewer"}),
        ("owner", "set_member", {"role": "viewer"}, {"role": "operator"}),
        ("owner", "remove_member", {"role": "operator"}, None),
    ]


@ONE_KIND
def test_in_a_project_the_role_of_the_membership_counts(service):
    service.hello()
    people = (("viewer", "ana"), ("operator", "ben"), ("viewer", "eva"))
    ana, ben, eva = (person(service, role, name) for role, name in people)
    name = project(service, unique("vision"), **{ana.name: "researcher", ben.name: "viewer", eva.name: "operator"})
    problem(ana.client.post("/experiments", json=SPEC | ALONE), 403)
    made = submit(ana.client, name)
    path = f"/experiments/{made['id']}"
    assert made["user"] == ana.name and made["project"] == name
    detail = problem(ben.client.post("/experiments", params={"project": name}, json=SPEC | ALONE), 403)["detail"]
    assert f"{ben.name} has viewer in this project" in detail
    assert ben.client.get(path).status_code == 200
    problem(ben.client.post(f"{path}/cancel"), 403)
    problem(ben.client.delete(path), 403)
    assert eva.client.put(f"{path}/priority", json={"priority": 3}).json()["priority"] == 3
    here = submit(service.client)
    problem(eva.client.put(f"/experiments/{here['id']}/priority", json={"priority": 3}), 403)
    problem(eva.client.post("/clusters/local/drain"), 403)
    assert ben.client.put(f"/experiments/{here['id']}/priority", json={"priority": 3}).status_code == 200
    # tokens: as much as their scope, in each place
    reading, submitting = (bearing(service, ana.token(scope, label=scope)) for scope in ("read", "submit"))
    problem(reading.post(f"{path}/cancel"), 403)
    problem(submitting.post("/experiments", json=SPEC | ALONE), 403)
    assert submit(submitting, name)["user"] == ana.name
    assert submitting.post(f"{path}/cancel").status_code == 202
    problem(ana.client.post("/tokens", json={"label": "more", "scope": "operate"}), 403)
    problem(submitting.post("/tokens", json={"label": "more", "scope": "operate"}), 403)
    root = person(service, "admin", "root")
    reading = bearing(service, root.token("read"))
    assert reading.get(path).status_code == 200 and len(names(reading)) == 3
    problem(reading.delete(path), 403)


@ONE_KIND
def test_the_specification_and_its_hash_know_nothing_of_projects(service):
    service.hello()
    name = project(service, unique("vision"))
    one, other = submit(service.client), submit(service.client, name)
    assert one["spec"] == other["spec"] and one["fingerprint"] == other["fingerprint"]
    assert (one["number"], other["number"]) == (1, 2), "a number names one experiment"
    assert "projects" not in SPEC and name not in str(other["spec"])
    headers = {"Idempotency-Key": "k"}
    send = {"json": SPEC | ALONE, "headers": headers}
    first = service.client.post("/experiments", params={"project": name}, **send).json()
    assert service.client.post("/experiments", params={"project": name}, **send).json()["id"] == first["id"]
    assert "different project" in problem(service.client.post("/experiments", **send), 422)["detail"]
    problem(service.client.post("/experiments", params={"project": "no-such"}, json=SPEC | ALONE), 404)
    assert pointers(service.client.post("/experiments", params={"project": "a b"}, json=SPEC)) == {"query/project"}


def test_an_experiment_is_moved_by_its_user(service):
    service.hello()
    ana, ben = person(service), person(service, "researcher", "ben")
    name = project(service, unique("vision"), **{ana.name: "researcher"})
    mine = submit(ana.client)
    path = f"/experiments/{mine['id']}"
    there, back = {"project": name}, {"project": "default"}
    assert mine["name"] in names(ben.client)
    problem(ben.client.put(f"{path}/project", json=back), 403)
    problem(ana.client.put(f"{path}/project", json={"project": "no-such"}), 404)
    moved = ana.client.put(f"{path}/project", json=there)
    assert moved.status_code == 200 and moved.json()["project"] == name
    assert names(ben.client) == []
    problem(ben.client.get(path), 404)
    assert ana.client.get(path).json()["number"] == mine["number"]
    with service.database.read() as session:
        found = (
            session.scalars(select(Experiment.project_id)).all() + session.scalars(select(Run.project_id)).all()
        )
    assert len(set(found)) == 1 and found[0] != "prj_default"
    assert told(service, mine["id"])[-1] == (ana.name, "move_experiment", back, there)
    service.client.patch(f"/users/{ana.name}", json={"role": "viewer"}).raise_for_status()
    assert "you may only read the project" in problem(ana.client.put(f"{path}/project", json=back), 403)["detail"]
    service.client.put(f"{path}/project", json=back).raise_for_status()
    assert mine["name"] in names(ben.client)


@ONE_KIND
def test_experiments_that_continue_one_another_stay_in_one_project(service):
    service.hello()
    name = project(service, unique("vision"))
    first = service.client.post("/experiments", params={"project": name}, json=SPEC | FIRST).json()["id"]
    again = SPEC | FIRST | {"tuning": {"trials": 3, "continues": first}}
    for path in ("/experiments", "/experiments/dry-run"):
        (fault,) = problem(service.client.post(path, json=again), 422)["errors"]
        assert fault["pointer"] == "/tuning/continues" and "is in another project" in fault["message"]
    there = problem(service.client.post("/experiments/dry-run", params={"project": name}, json=again), 422)
    assert all("wait for them" in fault["message"] for fault in there["errors"]), "nothing else is wrong with it"
    with service.database.write() as session:
        mine = session.get_one(Experiment, first)
        more = {"id": "exp_second", "number": 2, "spec": mine.spec | {"tuning": again["tuning"]}}
        session.add(Experiment(**columns(mine) | more))
    for id in (first, "exp_second"):
        answer = service.client.put(f"/experiments/{id}/project", json={"project": "default"})
        assert "they stay in one project" in problem(answer, 409)["detail"]


@ONE_KIND
def test_an_import_tells_nothing_of_the_same_one_elsewhere(service):
    made = measured(service)
    bundle = exported(service, made["id"])
    ana, name = person(service), project(service, unique("vision"))
    first = service.client.post("/experiments/import", params={"project": name}, content=bundle)
    assert first.status_code == 201 and first.json()["project"] == name
    again = service.client.post("/experiments/import", params={"project": name}, content=bundle)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    mine = ana.client.post("/experiments/import", content=bundle)
    assert mine.status_code == 201 and mine.json()["user"] == ana.name
    answer = service.client.put(f"/experiments/{mine.json()['id']}/project", json={"project": name})
    assert "has this imported experiment already" in problem(answer, 409)["detail"]


@ONE_KIND
@pytest.mark.parametrize(
    ("site", "project_keeps", "gone"),
    [
        (None, "site", False),
        (None, "1h", True),
        (timedelta(hours=1), "never", False),
        (timedelta(hours=1), "90d", False),
    ],
)
def test_a_project_has_a_retention_of_its_own(service, site, project_keeps, gone):
    name = project(service, unique("vision"))
    service.client.patch(f"/projects/{name}", json={"keep_runs": project_keeps}).raise_for_status()
    _, here = ended(service)
    _, there = ended(service)
    service.client.put(f"/experiments/{there}/project", json={"project": name}).raise_for_status()
    with service.database.write() as session:
        session.execute(update(Experiment).values(finished_at=now() - timedelta(hours=2)))
    purge(service, keep_runs=site)
    deleted = {each["id"] for each in service.get("/deleted-experiments")["items"]}
    assert (there in deleted) == gone
    assert (here in deleted) == (site is not None)


@ONE_KIND
def test_who_leaves_a_project_leaves_what_they_submitted(service):
    found = hidden(service)
    service.client.delete(f"/projects/{found.project}/members/{found.member.name}").raise_for_status()
    problem(found.member.client.get(f"/experiments/{found.running['id']}"), 404)
    assert found.traces(found.member.client.get("/runs").text) == []
    assert service.run(found.run)["state"] == "running", "it goes on"
    answer = found.member.client.post("/experiments", params={"project": found.project}, json=SPEC | HIDDEN)
    assert "has viewer here" in problem(answer, 403)["detail"]
