"""Webhooks as a resource: what is refused, what is shown once, what the audit trail says."""

from hooke_api.models import Base
from hooke_api.webhooks import service as resource
from hooke_api.webhooks.schemas import USUAL
from sqlalchemy import select

from tests.api.databases import ONE_KIND
from tests.api.persons import unique
from tests.api.test_experiments import pointers, problem
from tests.api.webhooks.conftest import look

pytestmark = ONE_KIND  # the statements run on both databases in the other files

SECRET_PATH = "https://example.org/hooks/T0/very-secret"


def test_a_secret_is_shown_once_and_stored_nowhere(webhooks):
    made = webhooks.add(SECRET_PATH)
    assert made["events"] == sorted(USUAL, key=list(resource.WebhookEvent).index)
    assert (made["active"], made["created_by"], made["last_at"]) == (True, "owner", None)
    (listed,) = webhooks.service.get("/webhooks")["items"]
    assert listed == {name: value for name, value in made.items() if name != "secret"}
    database = webhooks.service.database
    with database.read() as session:
        rows = {table.name: repr(session.execute(select(table)).all()) for table in Base.metadata.sorted_tables}
    bare = made["secret"].removeprefix("whsec_")
    assert [name for name, text in rows.items() if bare in text] == []
    assert [name for name, text in rows.items() if "very-secret" in text] == ["webhooks"]
    assert webhooks.add(SECRET_PATH)["secret"] != made["secret"]


def test_what_cannot_be_a_webhook_is_refused(service, monkeypatch):
    for url in ("http://example.org/", "https://10.0.0.1/", "https://a:b@example.org/", "", "x" * 2001):
        assert pointers(service.client.post("/webhooks", json={"url": url})) == {"/url"}
    for events in ([], ["run.paused"], ["webhook.test"]):
        answer = service.client.post("/webhooks", json={"url": SECRET_PATH, "events": events})
        assert all(pointer.startswith("/events") for pointer in pointers(answer))
    assert pointers(service.client.post("/webhooks", json={"url": SECRET_PATH, "secret": "mine"})) == {"/secret"}
    assert service.get("/webhooks")["items"] == []
    monkeypatch.setattr(resource, "MOST", 1)
    service.client.post("/webhooks", json={"url": SECRET_PATH}).raise_for_status()
    refused = problem(service.client.post("/webhooks", json={"url": SECRET_PATH}), 409)
    assert "the maximum" in refused["detail"]


def test_a_webhook_of_a_project_says_so(webhooks):
    client, name, other = webhooks.service.client, unique("vision"), unique("text")
    client.post("/projects", json={"name": name}).raise_for_status()
    made = webhooks.add(SECRET_PATH, project=name)
    assert made["project"] == name
    assert webhooks.add(SECRET_PATH)["project"] is None
    (created,) = webhooks.service.get("/audit", subject=made["id"])["items"]
    assert created["after"]["project"] == name
    client.patch(f"/projects/{name}", json={"name": other}).raise_for_status()
    assert webhooks.view(made)["project"] == other, "it is the same project"
    answer = client.post("/webhooks", json={"url": SECRET_PATH, "project": name})
    assert pointers(answer) == {"/project"}
    assert pointers(client.patch(f"/webhooks/{made['id']}", json={"project": "default"})) == {"/project"}


def test_a_change_is_checked_and_leaves_the_rest(webhooks):
    client, made = webhooks.service.client, webhooks.add(SECRET_PATH)
    path = f"/webhooks/{made['id']}"
    assert pointers(client.patch(path, json={"url": "https://[::1]/"})) == {"/url"}
    changed = client.patch(path, json={"url": "https://example.com/"}).json()
    assert changed == {name: value for name, value in made.items() if name != "secret"} | {
        "url": "https://example.com/"
    }
    assert client.patch(path, json={}).json() == changed
    for method, address in (
        ("PATCH", "/webhooks/whk_x"),
        ("DELETE", "/webhooks/whk_x"),
        ("GET", "/webhooks/whk_x/deliveries"),
        ("POST", "/webhooks/whk_x/test"),
        ("POST", "/webhook-deliveries/msg_x/redeliver"),
    ):
        problem(client.request(method, address, json={} if method == "PATCH" else None), 404)


def test_a_delivery_is_sent_again_on_request(webhooks, receiver):
    client, made, sender = webhooks.service.client, webhooks.add(receiver.url), webhooks.sender()
    id = webhooks.test(made)
    again = f"/webhook-deliveries/{id}/redeliver"
    assert client.post(again).json()["attempts"] == 0, "it waits: it is sent now"
    look(sender)
    sent = client.post(again)
    assert (sent.status_code, sent.json()["state"], sent.json()["ended_at"]) == (202, "waiting", None)
    look(sender)
    assert receiver.ids == [id, id]
    assert receiver.requests[0].body == receiver.requests[1].body
    client.patch(f"/webhooks/{made['id']}", json={"active": False}).raise_for_status()
    for refused in (again, f"/webhooks/{made['id']}/test"):
        assert "is off" in problem(client.post(refused), 409)["detail"]


def test_deliveries_come_in_pages(webhooks):
    made = webhooks.add(SECRET_PATH)
    wanted = [webhooks.test(made) for _ in range(3)][::-1]
    path = f"/webhooks/{made['id']}/deliveries"
    first = webhooks.service.get(path, limit=2)
    second = webhooks.service.get(path, limit=2, cursor=first["next_cursor"])
    assert [each["id"] for each in first["items"] + second["items"]] == wanted
    assert second["next_cursor"] is None
    assert first["items"][0]["state"] == "waiting"


def test_the_trail_names_the_host_and_no_secret(webhooks):
    client, made = webhooks.service.client, webhooks.add(SECRET_PATH)
    client.patch(f"/webhooks/{made['id']}", json={"active": False}).raise_for_status()
    client.delete(f"/webhooks/{made['id']}").raise_for_status()
    entries = webhooks.service.get("/audit", subject=made["id"])["items"][::-1]
    on = {"host": "example.org", "events": made["events"], "active": True}
    assert [(each["action"], each["before"], each["after"]) for each in entries] == [
        ("create_webhook", None, on),
        ("change_webhook", on, on | {"active": False}),
        ("delete_webhook", on | {"active": False}, None),
    ]
