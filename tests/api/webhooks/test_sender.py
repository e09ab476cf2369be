"""Attempts: repeated with growing pauses, none lost, one sender at a time; no receiver holds back another."""

from datetime import timedelta

import pytest
from hooke_api.models import WebhookDelivery, database_time
from hooke_api.storage.outbox import announce
from hooke_api.webhooks import sender as sending
from hooke_api.webhooks.delivering import JITTER, LONGEST_ASKED, PAUSES, pause_after
from sqlalchemy import select, update

from tests.api.databases import ONE_KIND
from tests.api.hands import ALONE
from tests.api.webhooks.conftest import look
from tests.waiting import free_port, wait_for

CANCELLED = ["experiment.cancelled"]


@pytest.fixture
def happen(service):
    """Return what announces the end of an experiment, so many times."""
    experiment = service.submit(**ALONE)["id"]

    def announced(times=1):
        with service.database.write() as session:
            for _ in range(times):
                data = {"id": experiment, "event": "experiment.cancelled"}
                announce(session, "experiment", data, experiment_id=experiment)

    return announced


def only(found):
    (one,) = found
    return one


def make_due(service, **values):
    with service.database.write() as session:
        at = database_time(session) - timedelta(seconds=1)
        waiting = update(WebhookDelivery).where(WebhookDelivery.state == "waiting")
        session.execute(waiting.values(next_at=at, **values))


@ONE_KIND
def test_an_attempt_that_fails_is_repeated_with_the_same_id(webhooks, receiver, happen):
    made = webhooks.add(receiver.url, events=CANCELLED)
    sender = webhooks.sender()
    receiver.statuses = [500, 404, 202]
    happen()
    for status, pause in ((500, PAUSES[0]), (404, PAUSES[1])):
        look(sender)
        kept = only(webhooks.deliveries(made))
        assert (kept["state"], kept["status"], kept["why"]) == ("waiting", status, f"status {status}")
        with webhooks.service.database.read() as session:
            row = session.get(WebhookDelivery, kept["id"])
            left = (row.next_at - database_time(session)).total_seconds()
        assert 0 < left <= pause * (1 + JITTER)
        count = len(receiver.requests)
        look(sender)
        assert len(receiver.requests) == count, "not before it is due"
        make_due(webhooks.service)
    assert webhooks.view(made)["last_delivered"] is False
    look(sender)
    kept = only(webhooks.deliveries(made))
    assert (kept["state"], kept["attempts"], kept["next_at"]) == ("delivered", 3, None)
    assert set(receiver.ids) == {kept["id"]}
    assert len({each.body for each in receiver.requests}) == 1


@pytest.mark.parametrize(("asked", "seconds"), [("7000", 7000), ("86400", LONGEST_ASKED)])
def test_a_receiver_that_asks_for_it_is_left_alone_for_a_while(webhooks, receiver, happen, asked, seconds):
    made = webhooks.add(receiver.url, events=CANCELLED)
    sender = webhooks.sender()
    receiver.statuses, receiver.retry_after = [429], asked
    happen(3)
    look(sender)
    assert len(receiver.requests) == 1
    with webhooks.service.database.read() as session:
        rows, at = session.scalars(select(WebhookDelivery)).all(), database_time(session)
        left = [(row.next_at - at).total_seconds() for row in rows]
    assert all(seconds - 60 < each <= seconds for each in left), "the others, too"
    kept = [each for each in webhooks.deliveries(made) if each["attempts"]]
    assert only(kept)["why"] == f"status 429; as it asks, nothing is sent for {seconds:.0f} s"
    look(sender)
    assert len(receiver.requests) == 1, "not before it is due"
    webhooks.test(made)
    look(sender)
    assert len(receiver.requests) == 2, "a user waits for a test"
    make_due(webhooks.service)
    look(sender)
    assert {each["state"] for each in webhooks.deliveries(made)} == {"delivered"}


def test_pauses_grow_and_are_spread():
    assert list(PAUSES) == sorted(PAUSES)
    assert 22 * 3600 < sum(PAUSES) < 26 * 3600
    for number, pause in enumerate(PAUSES, 1):
        drawn = [pause_after(number) for _ in range(50)]
        assert all(pause * (1 - JITTER) <= each <= pause * (1 + JITTER) for each in drawn)
        assert max(drawn) - min(drawn) > pause * JITTER / 2


@ONE_KIND
def test_the_eighth_attempt_is_the_last(webhooks, happen):
    made = webhooks.add(f"http://127.0.0.1:{free_port()}/", events=CANCELLED)
    sender = webhooks.sender()
    happen()
    look(sender)
    make_due(webhooks.service, attempts=6)
    look(sender)
    assert only(webhooks.deliveries(made))["state"] == "waiting"
    make_due(webhooks.service)
    look(sender)
    kept = only(webhooks.deliveries(made))
    assert (kept["state"], kept["attempts"], kept["status"]) == ("failed", 8, None)
    assert "the connection failed" in kept["why"]
    assert kept["ended_at"]
    assert webhooks.view(made)["active"]


def test_a_receiver_that_is_gone_is_switched_off(webhooks, receiver, happen):
    made = webhooks.add(receiver.url, events=CANCELLED)
    receiver.statuses = [410]
    happen(4)
    look(webhooks.sender())
    seen = webhooks.view(made)
    assert (seen["active"], seen["waiting"]) == (False, 0)
    assert "status 410" in seen["off_why"]
    states = sorted(each["state"] for each in webhooks.deliveries(made))
    assert states == ["discarded"] * 3 + ["failed"]
    assert len(receiver.requests) == 1
    back = webhooks.service.client.patch(f"/webhooks/{made['id']}", json={"active": True}).json()
    assert (back["active"], back["off_why"]) == (True, None)


@ONE_KIND
def test_a_slow_receiver_holds_back_nobody(webhooks, receivers, happen):
    slow, quick = receivers(), receivers()
    slow.open.clear()
    for receiver in (slow, quick):
        webhooks.add(receiver.url, events=CANCELLED)
    sender = webhooks.sender()
    for count in (4, 8):
        happen(4)
        wait_for(lambda count=count: sender.look() or len(quick.requests) == count, "the quick receiver")
    assert len(slow.requests) == 1, "one at a time"
    assert sender.busy()
    slow.open.set()
    wait_for(lambda: len(slow.requests) == 8, "the slow receiver")
    assert len(set(slow.ids)) == 8
    wait_for(lambda: not sender.busy(), "the end of the requests")


@ONE_KIND
def test_one_process_sends_and_another_takes_over(webhooks, receiver, happen):
    webhooks.add(receiver.url, events=CANCELLED)
    first, second = webhooks.sender(), webhooks.sender()
    for _ in range(3):
        happen()
        look(first)
        look(second)
    assert len(set(receiver.ids)) == len(receiver.ids) == 3
    happen()
    look(second)
    assert len(receiver.ids) == 3, "it does not lead"
    first.close()
    look(second)
    assert len(set(receiver.ids)) == len(receiver.ids) == 4


@ONE_KIND
def test_without_webhooks_nobody_leads_and_nothing_is_written(service, monkeypatch):
    sender = sending.Sender(service.database, service.settings)
    monkeypatch.setattr(sender.leadership, "hold", lambda: pytest.fail("a write"))
    sender.look()
    assert sender.fault() is None


@ONE_KIND
def test_a_name_is_resolved_once_for_each_attempt_and_checked_each_time(webhooks, receiver):
    answers = [["127.0.0.1"], ["10.0.0.1"], ["127.0.0.1", "10.0.0.1"]]
    sender = webhooks.sender(resolve=lambda host, port: answers.pop(0))
    made = webhooks.add(f"http://hooks.test:{receiver.port}/hook")
    for left in (2, 1, 0):
        webhooks.test(made)
        look(sender)
        assert len(answers) == left
    newest, second, first = webhooks.deliveries(made)
    assert first["state"] == "delivered"
    for refused in (second, newest):
        assert (refused["state"], refused["status"]) == ("failed", None)
        assert "a private address" in refused["why"]
    assert only(receiver.requests).headers["host"] == f"hooks.test:{receiver.port}"


@ONE_KIND
def test_what_is_not_sent_says_why(webhooks, receivers, tmp_path):
    first, inner = receivers(), receivers()
    first.statuses, first.location = [302], inner.url
    made = webhooks.add(first.url)
    for changes, words in (
        ({}, "status 302; redirects are not followed"),
        ({"webhook_networks": []}, "a loopback address"),
        ({"webhook_http": False}, "must begin with https"),
        ({"home": tmp_path}, "the file webhook-key is not that of its secret"),
    ):
        sender = webhooks.sender(**changes)
        webhooks.test(made)
        look(sender)
        sender.close()
        newest = webhooks.deliveries(made)[0]
        assert (newest["state"], newest["attempts"]) == ("failed", 1), "a test is tried once"
        assert words in newest["why"]
    assert (len(first.requests), inner.requests) == (1, [])


@ONE_KIND
def test_what_was_sent_but_not_stored_is_sent_again(webhooks, receiver, monkeypatch):
    made = webhooks.add(receiver.url)
    store, failures = sending.record, [OSError("busy")]

    def record(*told):
        if failures:
            raise failures.pop()
        store(*told)

    monkeypatch.setattr(sending, "record", record)
    monkeypatch.setattr(sending, "RECORD_PAUSES", (0.0,))
    first = webhooks.sender()
    once = webhooks.test(made)
    look(first)
    assert only(webhooks.deliveries(made))["state"] == "delivered", "the outcome was stored by the second attempt"
    failures += [OSError("the process ends here")] * 2
    again = webhooks.test(made)
    look(first)
    first.close()
    assert webhooks.deliveries(made)[0]["attempts"] == 0
    look(webhooks.sender())
    assert receiver.ids == [once, again, again]
    assert webhooks.deliveries(made)[0]["state"] == "delivered"
