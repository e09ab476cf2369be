"""Webhooks as a resource: created, listed, changed, deleted; their deliveries listed and sent again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from hooke.errors import Fault
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import Actor
from hooke_api.base.cursors import Cursors
from hooke_api.base.errors import Conflict, Invalid, ResourceNotFound
from hooke_api.base.security import digest
from hooke_api.base.settings import Settings
from hooke_api.models import Webhook, WebhookDelivery, database_time
from hooke_api.storage import trail
from hooke_api.storage.reach import names_of, project_of
from hooke_api.webhooks import guard, signing
from hooke_api.webhooks.delivering import discard
from hooke_api.webhooks.messages import add_test, newest_position
from hooke_api.webhooks.schemas import (
    CreatedWebhook,
    DeliveryPage,
    DeliveryState,
    DeliveryView,
    NewWebhook,
    WebhookChange,
    WebhookEvent,
    WebhookList,
    WebhookView,
)

MOST = 20
"""Maximum number of webhooks."""
LISTING = "webhook deliveries"


def any_webhook(session: Session) -> bool:
    """Return whether there is any webhook."""
    return session.scalars(select(Webhook.id).limit(1)).first() is not None


def listed(session: Session) -> WebhookList:
    """Return the webhooks, the oldest first."""
    return WebhookList(items=_views(session, session.scalars(select(Webhook).order_by(Webhook.id)).all()))


def _views(session: Session, hooks: Sequence[Webhook]) -> list[WebhookView]:
    waits = select(WebhookDelivery.webhook_id, func.count()).where(
        WebhookDelivery.state == DeliveryState.WAITING.value
    )
    waiting = dict(session.execute(waits.group_by(WebhookDelivery.webhook_id)).all())
    projects = names_of(session, {hook.project_id for hook in hooks if hook.project_id})
    found = []
    for hook in hooks:
        columns = [name for name in WebhookView.model_fields if name not in ("project", "waiting")]
        known = {name: getattr(hook, name) for name in columns}
        project = projects[hook.project_id] if hook.project_id else None
        found.append(WebhookView(**known, project=project, waiting=waiting.get(hook.id, 0)))
    return found


def create(session: Session, asked: NewWebhook, actor: Actor, settings: Settings) -> CreatedWebhook:
    """Add a webhook, which is told of events from now on.

    Raises Invalid for its address, or a project that is none, and Conflict if there are too many.
    """
    _check_url(asked.url, settings)
    if session.execute(select(func.count()).select_from(Webhook)).scalar_one() >= MOST:
        raise Conflict(f"there are {MOST} webhooks, the maximum: remove one")
    webhook_id = ids.webhook_id()
    secret = signing.secret_of(settings.webhook_key, webhook_id)
    hook = Webhook(
        id=webhook_id,
        url=asked.url,
        events=_names(asked.events),
        project_id=_project(session, asked.project),
        secret_sha256=digest(secret),
        active=True,
        position=newest_position(session),
        dropped=0,
        created_by=actor.name,
        created_at=database_time(session),
    )
    session.add(hook)
    session.flush()
    after = _state(hook) | ({"project": asked.project} if asked.project else {})
    trail.tell(session, subject=webhook_id, after=after)
    return CreatedWebhook(**_views(session, [hook])[0].model_dump(), secret=secret)


def _project(session: Session, name: str | None) -> str | None:
    """Return the id of a project; None: of all. Raises Invalid for one that is none."""
    found = project_of(session, {"project": name}) if name is not None else None
    if found is None and name is not None:
        raise Invalid(f"no project is called {name}", [Fault("/project", "no project has this name")])
    return found


def _check_url(url: str, settings: Settings) -> None:
    try:
        guard.place(url, guard.Policy.of(settings))
    except guard.Refused as error:
        fault = Fault(pointer="/url", message=str(error))
        raise Invalid("webhooks are not sent to this address", [fault]) from None


def _names(events: Sequence[WebhookEvent]) -> list[str]:
    return [event.value for event in WebhookEvent if event in events]


def _state(hook: Webhook) -> dict[str, Any]:
    """Return what the audit trail says; the path of an address may be a secret."""
    return {"host": urlsplit(hook.url).netloc, "events": list(hook.events), "active": hook.active}


def change(session: Session, webhook_id: str, asked: WebhookChange, settings: Settings) -> WebhookView:
    """Change a webhook. Switched off, what waits is discarded; switched on, it is told of events from now on."""
    hook = get(session, webhook_id)
    before = _state(hook)
    if asked.url is not None:
        _check_url(asked.url, settings)
        hook.url = asked.url
    if asked.events is not None:
        hook.events = _names(asked.events)
    if asked.active is False:
        hook.active = False
        discard(session, hook.id, database_time(session))
    elif asked.active and not hook.active:
        hook.active, hook.off_why = True, None
        hook.position = newest_position(session)
    session.flush()
    trail.tell(session, before=before, after=_state(hook))
    return _views(session, [hook])[0]


def remove(session: Session, webhook_id: str) -> None:
    """Delete a webhook with its deliveries; its secret is worth nothing from now on."""
    hook = get(session, webhook_id)
    trail.tell(session, before=_state(hook))
    session.execute(delete(WebhookDelivery).where(WebhookDelivery.webhook_id == hook.id))
    session.delete(hook)
    session.flush()


def get(session: Session, webhook_id: str) -> Webhook:
    """Return a webhook, locked. Raises ResourceNotFound."""
    hook = session.get(Webhook, webhook_id, with_for_update=True)
    if hook is None:
        raise ResourceNotFound(f"no webhook has the id {webhook_id}")
    return hook


def deliveries(
    session: Session, webhook_id: str, cursors: Cursors, limit: int, cursor: str | None
) -> DeliveryPage:
    """Return one page of the deliveries of a webhook, newest first."""
    if session.get(Webhook, webhook_id) is None:
        raise ResourceNotFound(f"no webhook has the id {webhook_id}")
    query = select(WebhookDelivery).where(WebhookDelivery.webhook_id == webhook_id)
    if cursor:
        query = query.where(WebhookDelivery.id < cursors.open(LISTING, cursor))
    rows = session.scalars(query.order_by(WebhookDelivery.id.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    return DeliveryPage(
        items=[DeliveryView.model_validate(row) for row in shown],
        next_cursor=cursors.seal(LISTING, shown[-1].id) if len(rows) > limit else None,
    )


def test(session: Session, webhook_id: str, settings: Settings) -> DeliveryView:
    """Send a request that only shows that the receiver works. Raises Conflict if the webhook is switched off."""
    hook = get(session, webhook_id)
    _check_active(hook)
    made = add_test(session, hook.id, settings.address)
    trail.tell(session, after={"delivery": made.id})
    return DeliveryView.model_validate(made)


def redeliver(session: Session, delivery_id: str) -> DeliveryView:
    """Send a delivery again now, with the same id and body. Raises Conflict if its webhook is switched off."""
    found = session.get(WebhookDelivery, delivery_id)
    if found is None:
        raise ResourceNotFound(f"no delivery has the id {delivery_id}")
    hook = get(session, found.webhook_id)  # the sender locks them in this order, too
    _check_active(hook)
    row = session.get(WebhookDelivery, delivery_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise ResourceNotFound(f"no delivery has the id {delivery_id}")
    before = {"webhook": hook.id, "event": row.event, "state": str(row.state), "attempts": row.attempts}
    if row.state != DeliveryState.WAITING:
        row.state, row.attempts, row.ended_at = DeliveryState.WAITING.value, 0, None
    row.next_at = database_time(session)
    session.flush()
    trail.tell(session, before=before, after={"state": str(row.state), "attempts": row.attempts})
    return DeliveryView.model_validate(row)


def _check_active(hook: Webhook) -> None:
    if not hook.active:
        raise Conflict(f"webhook {hook.id} is off: switch it on first")
