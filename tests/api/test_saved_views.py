"""Saved views: of one user, under a name, local paths of the dashboard only."""

from hooke_api.people import saved_views

from tests.api.databases import ONE_KIND
from tests.api.persons import bearing, person
from tests.api.test_audit_trail import told
from tests.api.test_experiments import pointers, problem

PATH = "/?filter=state+%3D+running"


def save(client, name="Running", path=PATH):
    return client.post("/views", json={"name": name, "path": path})


def names(client):
    return [view["name"] for view in client.get("/views").json()["items"]]


def test_a_view_is_kept_changed_and_deleted(service):
    ana = person(service, "viewer")
    made = save(ana.client, "  Running ")
    assert made.status_code == 201
    view = made.json()
    assert (view["name"], view["path"]) == ("Running", PATH)
    save(ana.client, "all", "/").raise_for_status()
    assert names(ana.client) == ["all", "Running"], "by name, whatever its capital letters"
    at = f"/views/{view['id']}"
    renamed = ana.client.patch(at, json={"name": "In progress"}).json()
    assert (renamed["name"], renamed["path"], renamed["created_at"]) == ("In progress", PATH, view["created_at"])
    moved = ana.client.patch(at, json={"path": "/compare?rows=%5B%2212%22%5D"}).json()
    assert (moved["name"], moved["path"]) == ("In progress", "/compare?rows=%5B%2212%22%5D")
    assert ana.client.patch(at, json={}).json()["path"] == moved["path"]
    assert ana.client.delete(at).status_code == 204
    problem(ana.client.delete(at), 404)
    assert names(ana.client) == ["all"]
    assert told(service, view["id"]) == [
        (ana.name, "create_view", None, {"name": "Running"}),
        (ana.name, "change_view", {"name": "Running"}, {"name": "In progress"}),
        (ana.name, "change_view", {"name": "In progress"}, {"name": "In progress"}),
        (ana.name, "change_view", {"name": "In progress"}, {"name": "In progress"}),
        (ana.name, "delete_view", {"name": "In progress"}, None),
    ]


@ONE_KIND
def test_a_view_follows_its_user_and_nobody_else_sees_it(service):
    ana, ben = person(service), person(service, "admin", "ben")
    view = save(ana.client).json()
    assert names(bearing(service, ana.token())) == ["Running"], "a program and another browser of hers"
    assert names(ben.client) == names(service.client) == []
    for client in (ben.client, service.client):
        problem(client.patch(f"/views/{view['id']}", json={"name": "mine"}), 404)
        problem(client.delete(f"/views/{view['id']}"), 404)
    assert save(ben.client).status_code == 201, "a name is taken by one user alone"
    assert names(ana.client) == ["Running"]


def test_two_views_of_a_user_have_two_names(service):
    ana = person(service)
    save(ana.client).raise_for_status()
    other = save(ana.client, "Other").json()
    assert "'Running'" in problem(save(ana.client), 409)["detail"]
    problem(ana.client.patch(f"/views/{other['id']}", json={"name": "Running"}), 409)
    assert names(ana.client) == ["Other", "Running"]


@ONE_KIND
def test_only_pages_of_the_dashboard_can_be_saved(service):
    for path in (
        "https://example.org/",
        "//example.org/",
        "/\\example.org",
        "/login?token=x",
        "/api/v1/runs",
        "/experiments/../login",
        "/experiments/",
        "/compare/x",
        "/runs/run_1",
        "/leaderboards",
        "/?a=b#c",
        "/?a b",
        '/?"',
        "/?ü",
        "/?\n",
        "?filter=x",
        "",
        f"/?{'x' * 8000}",
    ):
        assert pointers(save(service.client, path=path)) == {"/path"}, path
    fine = ["/", "/compare", "/experiments/exp_1", "/experiments/exp_1?x=1.5_3.2&more=p_at_3"]
    fine += ["/leaderboard?workload=digits-mlp", "/runs", "/runs?filter=state+%3D+failed"]
    for path in fine:
        assert save(service.client, path, path).status_code == 201
    assert save(service.client, "long", f"/?{'x' * 7998}").status_code == 201
    assert names(service.client) == [*fine, "long"]


def test_names_are_short_texts_of_one_line(service):
    for name in ("", "   ", "x" * 81, "a\nb", "a\0b"):
        assert pointers(save(service.client, name)) == {"/name"}, repr(name)
    assert save(service.client, "Größe, 97 %").json()["name"] == "Größe, 97 %"
    assert pointers(service.client.post("/views", json={"name": "x", "path": "/", "owner": "ana"})) == {"/owner"}


def test_there_are_a_hundred_at_most(service, monkeypatch):
    assert saved_views.MOST == 100
    monkeypatch.setattr(saved_views, "MOST", 1)
    made = save(service.client).json()
    assert "the maximum" in problem(save(service.client, "Other"), 409)["detail"]
    service.client.delete(f"/views/{made['id']}").raise_for_status()
    assert save(service.client, "Other").status_code == 201
