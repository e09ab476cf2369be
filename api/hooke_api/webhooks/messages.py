"""Turns events into deliveries, exactly one for each webhook that is to be told.

Events are read from the table that streams read, where positions become visible in order. A webhook's `position`
moves in the transaction that stores its deliveries, so a restart loses none and repeats none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.models import Event, Experiment, NumberSequence, Run, Webhook, WebhookDelivery, database_time
from hooke_api.storage.database import Database
from hooke_api.webhooks.schemas import TEST, DeliveryState

KINDS = ("run", "experiment")
"""Kinds of events in the table that may have one of a webhook."""
TOGETHER = 500
"""Events that one transaction turns into deliveries; positions are stored at the latest after so many others."""
MOST_WAITING = 10_000
"""Deliveries of a webhook that may wait; events beyond are counted, not stored."""

_RUN = (Run.id, Run.number, Run.variant, Run.algorithm, Run.cluster, Run.workers, Run.seed, Run.trial)


class Told(NamedTuple):
    """An event that webhooks may be told of."""

    position: int
    event: str
    at: datetime
    experiment_id: str
    run_id: str | None
    data: dict[str, Any]


def newest_position(session: Session) -> int:
    """Return the position of the newest event."""
    return session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0


def collect(database: Database, base: str) -> bool:
    """Store the deliveries of new events; return whether there may be more. `base`: address of this server."""
    with database.read() as session:
        known = session.execute(select(Webhook.id, Webhook.position).where(Webhook.active)).all()
        if not known:
            return False
        start = min(row.position for row in known)
        columns = (Event.position, Event.at, Event.experiment_id, Event.run_id, Event.data)
        query = select(*columns).where(Event.position > start, Event.kind.in_(KINDS))
        rows = session.execute(query.order_by(Event.position).limit(TOGETHER)).all()
        full = len(rows) == TOGETHER
        seen = rows[-1].position if full else newest_position(session)
        told = [
            Told(row.position, row.data["event"], row.at, row.experiment_id, row.run_id, row.data)
            for row in rows
            if row.data.get("event") and row.experiment_id
        ]
        if not told and seen - start < TOGETHER:
            return False  # nothing for anybody: not worth a transaction that writes
        facts = Facts(session, told)
    with database.write() as session:
        _store(session, [row.id for row in known], told, facts, seen, base)
    return full


class Facts:
    """What bodies say of experiments and runs."""

    def __init__(self, session: Session, told: Sequence[Told]) -> None:
        experiments = {each.experiment_id for each in told}
        runs = {each.run_id for each in told if each.run_id}
        told_of = (Experiment.id, Experiment.number, Experiment.name)
        query = select(Experiment.project_id, *told_of).where(Experiment.id.in_(experiments))
        rows = [dict(row._mapping) for row in session.execute(query)]
        self.projects = {row["id"]: row.pop("project_id") for row in rows}
        """Experiment -> id of its project."""
        self._experiments = {row["id"]: row for row in rows}
        self._runs = {row.id: dict(row._mapping) for row in session.execute(select(*_RUN).where(Run.id.in_(runs)))}

    def body(self, message_id: str, told: Told, base: str) -> str | None:
        """Return the JSON of a delivery; None if its experiment has been purged meanwhile."""
        experiment = self._experiments.get(told.experiment_id)
        run = self._runs.get(told.run_id) if told.run_id else None
        if experiment is None or (told.run_id and run is None):
            return None
        state = told.data.get("state") or told.event.partition(".")[2]
        about = f"runs/{told.run_id}" if told.run_id else f"experiments/{told.experiment_id}"
        if run is not None:
            run = run | {"attempt": told.data["attempt"]}
        return _json(message_id, told.event, told.at, experiment, run, state, f"{base}/{about}")


def _json(
    message_id: str,
    event: str,
    at: datetime,
    experiment: dict[str, Any] | None,
    run: dict[str, Any] | None,
    state: str | None,
    link: str,
) -> str:
    time = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    body = {"id": message_id, "event": event, "time": time, "experiment": experiment, "run": run, "state": state}
    return json.dumps(body | {"link": link}, ensure_ascii=False, separators=(",", ":"))


def _store(
    session: Session, webhooks: Sequence[str], told: Sequence[Told], facts: Facts, seen: int, base: str
) -> None:
    """Store the deliveries of events up to `seen` of the webhooks that are still to be told of them."""
    at = database_time(session)
    mine = select(Webhook).where(Webhook.id.in_(webhooks), Webhook.active, Webhook.position < seen)
    hooks = session.scalars(mine.order_by(Webhook.id).with_for_update()).all()
    waits = select(WebhookDelivery.webhook_id, func.count()).where(
        WebhookDelivery.state == DeliveryState.WAITING.value
    )
    waiting = dict(session.execute(waits.group_by(WebhookDelivery.webhook_id)).all())
    for hook in hooks:
        asked = [each for each in told if each.position > hook.position and each.event in hook.events]
        if hook.project_id is not None:  # the one in which an experiment is now counts
            asked = [each for each in asked if facts.projects.get(each.experiment_id) == hook.project_id]
        room = max(0, MOST_WAITING - waiting.get(hook.id, 0))
        for each in asked[:room]:
            message_id = ids.delivery_id()
            body = facts.body(message_id, each, base)
            if body is not None:
                session.add(_delivery(message_id, hook.id, each.event, body, at, each))
        hook.dropped += max(0, len(asked) - room)
        hook.position = seen


def _delivery(
    message_id: str, webhook_id: str, event: str, body: str, at: datetime, told: Told | None
) -> WebhookDelivery:
    return WebhookDelivery(
        id=message_id,
        webhook_id=webhook_id,
        event=event,
        position=told.position if told else None,
        experiment_id=told.experiment_id if told else None,
        body=body,
        state=DeliveryState.WAITING.value,
        created_at=at,
        next_at=at,
    )


def add_test(session: Session, webhook_id: str, base: str) -> WebhookDelivery:
    """Store a delivery that only shows that the receiver works, and return it."""
    at, message_id = database_time(session), ids.delivery_id()
    body = _json(message_id, TEST, at, None, None, None, f"{base}/administration")
    made = _delivery(message_id, webhook_id, TEST, body, at, None)
    session.add(made)
    session.flush()
    return made
