"""What is in a project does not exist for those who do not reach it: by every operation, with every id."""

import io
import json
import re

import pytest
from hooke_api.base.access import Role
from hooke_api.base.policy import IDS, LEAST, PLACES, Place
from hooke_api.events import hub, stream

from tests.api.databases import ONE_KIND
from tests.api.hands import SPEC
from tests.api.projects.group import hidden, strangers, streamed, submit
from tests.api.test_experiments import problem

RANK = {role.value: role.rank for role in Role}
MADE_UP = {"experiment_id": "exp_" + "0" * 32, "run_id": "run_" + "0" * 32, "project": "nothing"}

MAY_LACK = ("read_tuning", "export_trace", "download_fetch", "download_fetched_file")
"""Operations about something that an experiment or run need not have."""


def by_id(service):
    """Return the operations with an id of IDS in their address: name -> method, path, which id."""
    found = {}
    for path, methods in service.app.openapi()["paths"].items():
        for method, told in methods.items():
            if (named := set(re.findall("{(.*?)}", path)) & IDS) and isinstance(LEAST[told["operationId"]], Role):
                place = path.removeprefix("/api/v1").replace("{name}", "ana")
                found[told["operationId"]] = method.upper(), place, named.pop()
    return found


def at(path, kind, id):
    """Return the address of something."""
    return path.replace("{" + kind + "}", id)


def call(client, method, path):
    """Return status and body of a request without a body of its own, without what is of this request."""
    answer = client.request(method, path, json={} if method in ("POST", "PUT", "PATCH") else None)
    return answer.status_code, answer


def said(answer, id):
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(body) == {"type", "title", "status", "detail", "instance", "request_id", "errors"}
    return json.dumps(body | {"request_id": ""}).replace(id, "ID")


@ONE_KIND
def test_by_id_it_is_as_if_it_did_not_exist(service):
    found, others = hidden(service), strangers(service)
    known = by_id(service)
    assert len(known) > 25
    real = {"experiment_id": [found.running["id"], found.deleted["id"]]}
    real |= {"run_id": [found.run], "project": [found.project]}
    wrong = []
    for who, client in others.items():
        role = Role(client.get("/me").json()["role"])
        for name, (method, path, kind) in known.items():
            expected = 404 if role.rank >= LEAST[name].rank else 403
            made_up = call(client, method, at(path, kind, MADE_UP[kind]))
            for id in real[kind]:
                status, answer = call(client, method, at(path, kind, id))
                if status != expected or said(answer, id) != said(made_up[1], MADE_UP[kind]):
                    wrong.append(f"{who}, {name}: {status} {answer.text}, not as {made_up}")
    assert wrong == []
    # the ids are right: for its member, and for the owner, the same addresses answer
    for client in (found.member.client, service.client):
        for name, (method, path, kind) in known.items():
            if method == "GET" and name not in MAY_LACK:
                status, answer = call(client, method, at(path, kind, real[kind][0]))
                assert status in (200, 409), f"{name}: {answer.text}"  # 409: of one that has not ended
        tuning = client.get(f"/experiments/{found.running['id']}/tuning")
        assert "has no tuning" in problem(tuning, 404)["detail"]
        trace = client.get(f"/runs/{found.run}/trace.json")
        assert "has no trace" in problem(trace, 404)["detail"]


@ONE_KIND
def test_members_with_a_lesser_role_are_told_so(service):
    found = hidden(service)
    service.client.put(f"/projects/{found.project}/members/{found.member.name}", json={"role": "viewer"})
    for name, (method, path, kind) in by_id(service).items():
        if LEAST[name].rank > 0:
            id = {"experiment_id": found.running["id"], "run_id": found.run, "project": found.project}[kind]
            status, answer = call(found.member.client, method, at(path, kind, id))
            assert status == 403, f"{name}: {answer.text}"
    assert service.run(found.run)["state"] == "running"


def listings(found):
    """Return requests of every operation that reads what its sender reaches; those that must fail, apart."""
    number, id = str(found.running["number"]), found.running["id"]
    filters = ({}, {"filter": "archived or not archived"}, {"filter": f"project = {found.project}"})
    filters += ({"filter": f"number = {number}"}, {"filter": "tag = hidden-tag"})
    chosen = (filters[2]["filter"], f"experiment = {number}", "tag = hidden-tag")
    runs_of = ({}, {"experiment": id}, {"sort": "-created"}, *({"filter": each} for each in chosen))
    return {
        "list_experiments": [("GET", "/experiments", each) for each in filters],
        "list_deleted_experiments": [("GET", "/deleted-experiments", {})],
        "list_filter_fields": [("GET", "/filter-fields", {})],
        "list_projects": [("GET", "/projects", {})],
        "list_runs": [("GET", "/runs", each) for each in runs_of],
        "export_runs": [("GET", "/runs.csv", {}), ("GET", "/runs.csv", {"experiment": id})],
        "export_runs_parquet": [("GET", "/runs.parquet", {})],
        "query_series": [("POST", "/series", {"runs": [found.run], "metrics": ["train_loss"], "axis": "clock"})],
        "read_leaderboard": [("GET", "/leaderboard", {})],
        "compare_rows": [("GET", "/compare", {"rows": each}) for each in (number, id)],
        "stream_events": [],  # below
        "read_queue": [("GET", "/clusters/local/queue", {})],
        "read_trace": [("GET", "/clusters/local/trace.csv", {})],
    }


def ask(client, method, path, query):
    if method == "POST":
        return client.post(path, json=query)
    return client.get(path, params=query)


def readable(answer):
    """Return an answer as text."""
    if answer.content[:4] != b"PAR1":
        return answer.text
    parquet = pytest.importorskip("pyarrow.parquet")
    return repr(parquet.read_table(io.BytesIO(answer.content)).to_pylist())


def test_no_list_has_it(service):
    found, others = hidden(service), strangers(service)
    waiting = submit(found.member.client, found.project, name="hidden-name")
    listed = listings(found)
    assert set(listed) == {name for name, place in PLACES.items() if place is Place.REACHED}, "what may it read?"
    for name, requests in listed.items():
        for request in requests:
            whole = readable(ask(found.member.client, *request))
            shows = found.traces(whole) or name in ("query_series", "read_trace")
            assert shows, f"{name} shows its member nothing: {whole}"
            for who, client in others.items():
                answer = ask(client, *request)
                told = readable(answer)
                asked = json.dumps(request)  # a refusal repeats what was asked for
                seen = [
                    word for word in (*found.traces(told), waiting["id"]) if word in told and word not in asked
                ]
                assert seen == [], f"{who}, {name} {request}: {told}"
                if name in ("query_series", "compare_rows"):
                    assert answer.status_code == 404, f"{who}, {name}: {told}"
    jobs = found.member.client.get("/clusters/local/trace.csv").text.splitlines()
    nothing = others["operator on the site"].get("/clusters/local/trace.csv").text.splitlines()
    assert len(jobs) > len(nothing) == 1


@ONE_KIND
def test_who_waits_for_it_is_not_told_its_number(service):
    found, others = hidden(service), strangers(service)
    client = others["operator on the site"]
    mine = submit(client)
    entry, *rest = client.get("/clusters/local/queue").json()["entries"]
    assert rest == [] and entry["experiment"] == mine["id"]
    assert entry["reason"].startswith("the cluster is taken by another experiment")
    (waiting,) = client.get(f"/experiments/{mine['id']}").json()["waiting"]
    assert waiting["reason"] == entry["reason"]
    whole = found.member.client.get("/clusters/local/queue").json()
    assert [each["experiment"] for each in whole["active"]] == [found.running["id"]]
    assert f"experiment {found.running['number']}" in whole["entries"][0]["reason"]


def test_no_stream_tells_of_it(service, monkeypatch):
    monkeypatch.setattr(hub, "LOOK_SECONDS", 0.05)  # there is no Redis
    found, others = hidden(service), strangers(service)
    shown = submit(service.client)
    assert found.traces(streamed(found.member.client, shown["id"], after=0)), "its member is told"

    def change():
        found.member.client.patch(f"/experiments/{found.running['id']}", json={"starred": True}).raise_for_status()
        service.client.patch(f"/experiments/{shown['id']}", json={"starred": True}).raise_for_status()

    for client in others.values():
        assert found.traces(streamed(client, shown["id"], after=0)) == []
        assert found.traces(streamed(client, shown["id"], change)) == []
        chosen = {"experiment": [found.running["id"], shown["id"]], "run": found.run}
        assert found.traces(streamed(client, shown["id"], change, **chosen)) == []
    assert found.traces(streamed(found.member.client, shown["id"], change))


@ONE_KIND
def test_a_stream_ends_when_its_reader_reaches_less(service, monkeypatch):
    found = hidden(service)
    monkeypatch.setattr(hub, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(stream, "CHECK_SECONDS", 0.0)

    def leave():
        service.client.delete(f"/projects/{found.project}/members/{found.member.name}").raise_for_status()
        service.client.patch(f"/experiments/{found.running['id']}", json={"starred": True}).raise_for_status()

    assert found.traces(streamed(found.member.client, "no such text", leave)) == []


@ONE_KIND
def test_it_cannot_be_continued(service):
    found, others = hidden(service), strangers(service)
    tuned = {"tuning": {"trials": 2, "continues": found.ended["id"]}}
    no_such = {"tuning": {"trials": 2, "continues": MADE_UP["experiment_id"]}}
    for client in others.values():
        for path in ("/experiments/dry-run", "/experiments"):
            told = [problem(client.post(path, json=SPEC | each), 422)["errors"] for each in (tuned, no_such)]
            assert json.dumps(told[0]).replace(found.ended["id"], "ID") == json.dumps(told[1]).replace(
                MADE_UP["experiment_id"], "ID"
            )
