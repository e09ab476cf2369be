"""From a run to its receiver: which events, which bodies, signed, each once; on both databases."""

import ast
import json
import re
import time
from datetime import datetime, timedelta

from hooke.spec.states import RunState
from hooke_api.models import Event, Run, Webhook, WebhookDelivery, database_time
from hooke_api.scheduling.derived import ended_state
from hooke_api.scheduling.scheduler import Scheduler
from hooke_api.webhooks import messages
from hooke_api.webhooks.delivering import KEPT, forget
from hooke_api.webhooks.messages import collect
from hooke_api.webhooks.signing import signature
from sqlalchemy import func, select, update

from tests.api.databases import ONE_KIND
from tests.api.projects.group import submit
from tests.api.test_deleting import let_undo_end, purge
from tests.api.webhooks.conftest import look
from tests.checkout import ROOT

EVERY = [
    *("run.started", "run.succeeded", "run.failed", "run.cancelled"),
    *("experiment.succeeded", "experiment.failed", "experiment.cancelled"),
]


def told(receiver):
    """Return the events that arrived, in order."""
    return [json.loads(each.body)["event"] for each in receiver.requests]


def documented():
    """Return the function of the documentation that verifies a request."""
    page = (ROOT / "docs" / "webhooks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    names: dict = {}
    exec(compile(ast.parse(code), "docs/webhooks.md", "exec"), names)
    return names["verify"]


def test_a_run_is_told_from_its_start_to_its_end(webhooks, receiver):
    service = webhooks.service
    made = webhooks.add(receiver.url, events=EVERY)
    sender = webhooks.sender()
    supervisor = service.launch()
    supervisor.report("starting", "running")
    look(sender)
    (request,) = receiver.requests
    run = service.run(supervisor.id)
    body = json.loads(request.body)
    assert datetime.fromisoformat(body.pop("time")) <= datetime.fromisoformat(run["started_at"]) + timedelta(
        seconds=5
    )
    assert body == {
        "id": request.id,
        "event": "run.started",
        "experiment": {"id": run["experiment_id"], "number": 1, "name": "first"},
        "run": {
            "id": run["id"],
            "number": 1,
            "variant": "sync",
            "algorithm": "sync-easgd",
            "cluster": "local",
            "workers": 2,
            "seed": run["seed"],
            "trial": None,
            "attempt": 1,
        },
        "state": "running",
        "link": f"https://hooke.example/runs/{run['id']}",
    }
    service.client.post(f"/runs/{supervisor.id}/cancel").raise_for_status()  # announces the same state again
    supervisor.report("cancelled")
    look(sender)
    assert told(receiver) == ["run.started", "run.cancelled", "experiment.cancelled"]
    last = json.loads(receiver.requests[-1].body)
    assert (last["run"], last["state"]) == (None, "cancelled")
    assert last["link"] == f"https://hooke.example/experiments/{run['experiment_id']}"
    assert len(set(receiver.ids)) == 3
    look(sender)
    assert len(receiver.requests) == 3, "each once"
    seen = webhooks.view(made)
    assert (seen["waiting"], seen["last_delivered"], seen["last_why"]) == (0, True, "status 204")
    found = webhooks.deliveries(made)
    assert [each["id"] for each in found[::-1]] == receiver.ids
    assert [each["position"] for each in found] == sorted((each["position"] for each in found), reverse=True)
    with service.database.read() as session:
        events = {row.position: row.data.get("event") for row in session.scalars(select(Event))}
    assert all(events[each["position"]] == each["event"] for each in found)


@ONE_KIND
def test_a_webhook_of_a_project_is_told_of_nothing_else(webhooks, receivers):
    service, receiver, every, other = webhooks.service, receivers(), receivers(), receivers()
    for name in ("vision", "text"):
        service.client.post("/projects", json={"name": name}).raise_for_status()
    webhooks.add(receiver.url, events=EVERY, project="vision")
    webhooks.add(other.url, events=EVERY, project="text")
    webhooks.add(every.url, events=EVERY)
    sender = webhooks.sender()
    service.hello()
    mine, default, moved = (submit(service.client, name) for name in ("vision", None, "vision"))
    for made in (mine, default):
        service.client.post(f"/experiments/{made['id']}/cancel").raise_for_status()
    service.client.put(f"/experiments/{moved['id']}/project", json={"project": "text"}).raise_for_status()
    service.client.post(f"/experiments/{moved['id']}/cancel").raise_for_status()
    look(sender)

    def of(told) -> list[str]:
        return [json.loads(each.body)["experiment"]["id"] for each in told.requests]

    assert of(receiver) == [mine["id"]] * 2
    assert of(other) == [moved["id"]] * 2
    assert of(every) == [mine["id"]] * 2 + [default["id"]] * 2 + [moved["id"]] * 2
    assert json.loads(receiver.requests[0].body)["experiment"] == {
        name: mine[name] for name in ("id", "number", "name")
    }


@ONE_KIND
def test_the_documented_example_verifies_what_arrives(webhooks, receiver):
    verify = documented()
    made = webhooks.add(receiver.url)
    webhooks.test(made)
    look(webhooks.sender())
    (request,) = receiver.requests
    assert made["secret"].startswith("whsec_")
    assert verify(made["secret"], request.headers, request.body)
    assert not verify(made["secret"], request.headers, request.body + b" ")
    assert not verify(webhooks.add(receiver.url)["secret"], request.headers, request.body)
    for changed in (
        {"webhook-id": "msg_other"},
        {"webhook-timestamp": str(int(time.time()) + 1)},
        {"webhook-timestamp": str(int(time.time()) - 400)},
    ):
        assert not verify(made["secret"], request.headers | changed, request.body)
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body)["event"] == "webhook.test"


def test_the_signature_is_that_of_the_convention():
    """The example of the specification's own libraries."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    given = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert given == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@ONE_KIND
def test_an_attempt_that_is_followed_by_another_is_no_end(webhooks, receiver):
    service = webhooks.service
    webhooks.add(receiver.url, events=EVERY)
    sender = webhooks.sender()
    supervisor = service.launch(retry={"attempts": 2, "backoff_seconds": 0})
    supervisor.report("starting", "running", "failed_infra")
    again = service.next()
    again.report("starting", "running", "failed_infra")
    look(sender)
    assert told(receiver) == ["run.started", "run.failed", "experiment.failed"]
    failed = json.loads(receiver.requests[1].body)
    assert (failed["state"], failed["run"]["attempt"]) == ("failed_infra", 2)
    service.client.post(f"/runs/{supervisor.id}/retry").raise_for_status()
    third = service.next()
    third.report("starting", "running", "succeeded")
    look(sender)
    assert told(receiver)[3:] == ["run.succeeded", "experiment.succeeded"]


@ONE_KIND
def test_only_what_was_asked_for_and_only_from_then_on(webhooks, receiver):
    service = webhooks.service
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    made = webhooks.add(receiver.url, events=["experiment.cancelled", "experiment.cancelled"])
    assert made["events"] == ["experiment.cancelled"]
    sender = webhooks.sender()
    look(sender)
    assert receiver.requests == []
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    look(sender)
    assert told(receiver) == ["experiment.cancelled"], "and not of its four runs"
    path = f"/webhooks/{made['id']}"
    service.client.patch(path, json={"active": False}).raise_for_status()
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    look(sender)
    service.client.patch(path, json={"active": True, "events": ["run.cancelled"]}).raise_for_status()
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    look(sender)
    assert told(receiver)[1:] == ["run.cancelled"] * 4


@ONE_KIND
def test_trials_do_not_make_an_experiment_fail(service):
    experiment = service.submit()["id"]
    runs = [run["id"] for run in service.runs()]
    with service.database.write() as session:
        session.execute(update(Run).values(state=RunState.SUCCEEDED))
        session.execute(update(Run).where(Run.id == runs[0]).values(state=RunState.FAILED_USER, rung=0))
    with service.database.read() as session:
        assert ended_state(session, experiment) == "succeeded"
    with service.database.write() as session:
        session.execute(update(Run).where(Run.id == runs[0]).values(rung=None))
    with service.database.read() as session:
        assert ended_state(session, experiment) == "failed"


def test_too_many_that_wait_are_counted(webhooks, monkeypatch):
    service = webhooks.service
    monkeypatch.setattr(messages, "MOST_WAITING", 3)
    monkeypatch.setattr(messages, "TOGETHER", 4)
    made = webhooks.add("https://example.org/hook", events=["run.cancelled"])
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    later = webhooks.add("https://example.org/later", events=["experiment.cancelled"])
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    while collect(service.database, "https://hooke.example"):
        pass
    seen = webhooks.view(made)
    assert (seen["waiting"], seen["dropped"]) == (3, 8 - 3)
    assert (webhooks.view(later)["waiting"], webhooks.view(later)["dropped"]) == (1, 0), "only the second one"
    with service.database.read() as session:
        positions = set(session.scalars(select(Webhook.position)))
        assert positions == {session.scalar(select(func.max(Event.position)))}
        bodies = session.scalars(select(WebhookDelivery.body)).all()
    assert all(json.loads(body)["link"].startswith("https://hooke.example/") for body in bodies)


@ONE_KIND
def test_events_are_kept_until_webhooks_have_been_told(webhooks):
    service = webhooks.service
    settings = service.settings.model_copy(update={"events_kept": 2})
    scheduler = Scheduler(service.database, service.app.state.bus, settings, lambda _: service.line)
    webhooks.add("https://example.org/hook", events=["run.cancelled"])
    service.client.post(f"/experiments/{service.submit()['id']}/cancel").raise_for_status()
    before = service.count(Event)
    scheduler._trim()
    assert service.count(Event) == before > 5
    while collect(service.database, ""):
        pass
    scheduler._trim_at = 0.0
    scheduler._trim()
    assert service.count(Event) <= 3
    assert webhooks.service.count(WebhookDelivery) == 4


def test_what_ended_long_ago_is_forgotten(webhooks, receiver):
    service = webhooks.service
    made = webhooks.add(receiver.url)
    first, second = webhooks.test(made), webhooks.test(made)
    look(webhooks.sender())
    waiting = webhooks.test(made)
    with service.database.write() as session:
        long_ago = database_time(session) - KEPT - timedelta(seconds=1)
        session.execute(update(WebhookDelivery).where(WebhookDelivery.id == first).values(ended_at=long_ago))
        session.execute(update(WebhookDelivery).where(WebhookDelivery.id == waiting).values(created_at=long_ago))
    with service.database.write() as session:
        assert not forget(session)
    assert {each["id"] for each in webhooks.deliveries(made)} == {second, waiting}


@ONE_KIND
def test_deliveries_go_with_their_webhook_and_their_experiment(webhooks):
    service = webhooks.service
    first, second = (webhooks.add("https://example.org/hook", events=EVERY) for _ in range(2))
    id = service.submit()["id"]
    service.client.post(f"/experiments/{id}/cancel").raise_for_status()
    collect(service.database, "")
    assert webhooks.view(first)["waiting"] == webhooks.view(second)["waiting"] == 5
    assert service.client.delete(f"/webhooks/{first['id']}").status_code == 204
    assert service.count(WebhookDelivery) == 5
    service.client.delete(f"/experiments/{id}").raise_for_status()
    let_undo_end(service)
    purge(service)
    assert service.count(WebhookDelivery) == 0
