"""Repetitions after the database's clock was set back wait no longer than before."""

from datetime import timedelta

import pytest
from hooke_api.models import Webhook, WebhookDelivery, database_time
from hooke_api.webhooks import sender as sending
from sqlalchemy import select, update

from tests.api.webhooks.conftest import look
from tests.waiting import free_port

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
PAUSE = 3 * HOUR


@pytest.fixture
def failed(webhooks):
    """A database with a delivery of which an attempt failed, to be repeated after the pause, and its sender."""
    made = webhooks.add(f"http://127.0.0.1:{free_port()}/")
    sender = webhooks.sender()
    webhooks.test(made)
    look(sender)
    database = webhooks.service.database
    with database.write() as session:  # a test is not repeated; anything else is
        again = {"state": "waiting", "event": "run.failed", "ended_at": None}
        session.execute(update(WebhookDelivery).values(next_at=database_time(session) + PAUSE, **again))
    return database, sender


def due_in(database) -> timedelta:
    with database.read() as session:
        return session.scalars(select(WebhookDelivery.next_at)).one() - database_time(session)


def set_clock(monkeypatch, by: timedelta) -> None:
    real = sending.database_time
    monkeypatch.setattr(sending, "database_time", lambda session: real(session) + by)


def test_a_process_that_looked_before_knows_by_how_much(failed, monkeypatch):
    database, sender = failed
    look(sender)
    set_clock(monkeypatch, -HOUR)
    for _ in range(3):
        look(sender)
        assert abs(due_in(database) - (PAUSE - HOUR)) < MINUTE, "once"


def test_after_a_restart_an_attempt_in_the_future_tells_it(failed, webhooks):
    database, sender = failed
    sender.close()
    with database.write() as session:  # by the clock that was set back since
        session.scalars(select(WebhookDelivery)).one().next_at += HOUR
        session.scalars(select(Webhook)).one().last_at += HOUR
    for _ in range(2):
        other = webhooks.sender()
        look(other)
        other.close()
        assert abs(due_in(database) - PAUSE) < MINUTE
    with database.read() as session:
        assert session.scalars(select(Webhook.last_at)).one() <= database_time(session)


@pytest.mark.parametrize("by", [HOUR, timedelta(seconds=-30)])
def test_a_clock_that_was_set_ahead_or_adjusted_changes_nothing(failed, monkeypatch, by):
    database, sender = failed
    look(sender)
    before = due_in(database)
    set_clock(monkeypatch, by)
    look(sender)
    assert abs(due_in(database) - before) < timedelta(seconds=29)
