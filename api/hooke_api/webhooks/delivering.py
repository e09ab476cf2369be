"""Deliveries in the database: which is due, what becomes of it, and when it is forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import CursorResult, delete, select, update
from sqlalchemy.orm import Session

from hooke_api.models import Webhook, WebhookDelivery, database_time
from hooke_api.webhooks.schemas import TEST, DeliveryState

PAUSES = (5.0, 60.0, 300.0, 1800.0, 7200.0, 21_600.0, 54_000.0)
"""Seconds after the first attempt, the second, ...: eight attempts over 23.6 hours."""
JITTER = 0.2
"""A pause is longer or shorter by up to this share, so that what failed together is not sent together."""
KEPT = timedelta(days=14)
"""How long deliveries that have ended are kept."""
LONGEST_ASKED = 21_600.0
"""Seconds for which a receiver may ask to be left alone; a longer time counts as this one."""
ROWS = 500
"""Deliveries that one transaction forgets."""
GONE = 410
"""Status of a receiver that wants nothing more."""


@dataclass(frozen=True)
class Due:
    """A delivery that is to be sent."""

    id: str
    webhook_id: str
    url: str
    secret_sha256: str
    body: str


@dataclass(frozen=True)
class Outcome:
    """What came of an attempt: the status of the answer, or none, and a sentence."""

    status: int | None
    why: str
    retry_after: float = 0.0
    """Seconds for which the receiver is left alone, because it asks for that."""

    @property
    def delivered(self) -> bool:
        """Return whether the receiver has accepted it."""
        return self.status is not None and 200 <= self.status <= 299


def webhooks_with_due(session: Session) -> Sequence[str]:
    """Return the active webhooks with a delivery that is due."""
    due = (WebhookDelivery.state == DeliveryState.WAITING.value, WebhookDelivery.next_at <= database_time(session))
    query = select(WebhookDelivery.webhook_id).join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
    return session.scalars(query.where(*due, Webhook.active).distinct()).all()


def next_due(session: Session, webhook_id: str) -> Due | None:
    """Return the delivery of a webhook that has been due for longest; a test goes first."""
    columns = (WebhookDelivery.id, Webhook.id, Webhook.url, Webhook.secret_sha256, WebhookDelivery.body)
    query = select(*columns).select_from(WebhookDelivery).join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
    query = query.where(
        Webhook.id == webhook_id,
        Webhook.active,
        WebhookDelivery.state == DeliveryState.WAITING.value,
        WebhookDelivery.next_at <= database_time(session),
    ).order_by(WebhookDelivery.event != TEST, WebhookDelivery.next_at, WebhookDelivery.id)
    row = session.execute(query.limit(1)).one_or_none()
    return Due(*row) if row is not None else None


def record(session: Session, due: Due, outcome: Outcome) -> None:
    """Store what came of an attempt, and when the next one is due; a receiver that is gone is switched off."""
    hook = session.get(Webhook, due.webhook_id, with_for_update=True)
    if hook is None:
        return
    at = database_time(session)
    hook.last_at, hook.last_delivered, hook.last_why = at, outcome.delivered, outcome.why
    row = session.get(WebhookDelivery, due.id, with_for_update=True, populate_existing=True)
    if row is None:  # purged with its experiment
        return
    row.attempts += 1
    row.status, row.why = outcome.status, outcome.why
    waits = row.state == DeliveryState.WAITING
    if outcome.delivered:
        _end(row, DeliveryState.DELIVERED, at)
    elif waits and (row.event == TEST or row.attempts > len(PAUSES) or outcome.status == GONE):
        _end(row, DeliveryState.FAILED, at)
    elif waits:
        row.next_at = at + timedelta(seconds=max(pause_after(row.attempts), outcome.retry_after))
    if outcome.retry_after:
        session.flush()
        _postpone(session, hook.id, at + timedelta(seconds=outcome.retry_after))
    if outcome.status == GONE and hook.active:
        hook.active = False
        hook.off_why = f"the receiver answered with status {GONE}: it wants no more events"
        session.flush()
        discard(session, hook.id, at)


def _end(row: WebhookDelivery, state: DeliveryState, at: datetime) -> None:
    row.state, row.next_at, row.ended_at = state.value, None, at


def _postpone(session: Session, webhook_id: str, until: datetime) -> None:
    """Send what waits for a webhook no earlier; tests go at once, since a user waits for them."""
    earlier = update(WebhookDelivery).where(
        WebhookDelivery.webhook_id == webhook_id,
        WebhookDelivery.state == DeliveryState.WAITING.value,
        WebhookDelivery.event != TEST,
        WebhookDelivery.next_at < until,
    )
    session.execute(earlier.values(next_at=until))


def pause_after(attempts: int) -> float:
    """Return the seconds until the next attempt, drawn around the pause of the schedule."""
    return PAUSES[attempts - 1] * secrets.SystemRandom().uniform(1 - JITTER, 1 + JITTER)


def discard(session: Session, webhook_id: str, at: datetime) -> None:
    """End the deliveries that wait for a webhook that is switched off."""
    waiting = update(WebhookDelivery).where(
        WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.state == DeliveryState.WAITING.value
    )
    session.execute(waiting.values(state=DeliveryState.DISCARDED.value, next_at=None, ended_at=at))


def forget(session: Session) -> bool:
    """Delete some deliveries that ended long ago; return whether there may be more."""
    old = WebhookDelivery.ended_at < database_time(session) - KEPT
    some = select(WebhookDelivery.id).where(old).limit(ROWS)
    result = session.execute(delete(WebhookDelivery).where(WebhookDelivery.id.in_(some)))
    assert isinstance(result, CursorResult)  # noqa: S101 - a DELETE has a count
    return result.rowcount == ROWS
