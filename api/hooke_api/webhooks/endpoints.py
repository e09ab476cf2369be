"""The endpoints of webhooks and their deliveries."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.storage.database import DatabaseOf
from hooke_api.webhooks import service
from hooke_api.webhooks.schemas import (
    CreatedWebhook,
    DeliveryPage,
    DeliveryView,
    NewWebhook,
    WebhookChange,
    WebhookList,
    WebhookView,
)

router = APIRouter(route_class=CheckedRoute, tags=["people"])


@router.get("/webhooks", operation_id="list_webhooks")
def list_webhooks(database: DatabaseOf) -> WebhookList:
    """List the webhooks without their secrets, the oldest first."""
    with database.read() as session:
        return service.listed(session)


@router.post("/webhooks", operation_id="create_webhook", status_code=201)
def create_webhook(asked: NewWebhook, request: Request, actor: ActorOf, database: DatabaseOf) -> CreatedWebhook:
    """Add a webhook, which is told of events from now on; the secret of its signatures is shown once."""
    with database.write() as session:
        return service.create(session, asked, actor, request.app.state.settings)


@router.patch("/webhooks/{webhook_id}", operation_id="change_webhook")
def change_webhook(webhook_id: str, asked: WebhookChange, request: Request, database: DatabaseOf) -> WebhookView:
    """Change address or events, or switch a webhook on or off; what waits for one that is off is discarded."""
    with database.write() as session:
        return service.change(session, webhook_id, asked, request.app.state.settings)


@router.delete("/webhooks/{webhook_id}", operation_id="delete_webhook", status_code=204)
def delete_webhook(webhook_id: str, database: DatabaseOf) -> None:
    """Delete a webhook with its deliveries."""
    with database.write() as session:
        service.remove(session, webhook_id)


@router.get("/webhooks/{webhook_id}/deliveries", operation_id="list_deliveries")
def list_deliveries(
    webhook_id: str,
    request: Request,
    database: DatabaseOf,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: str | None = None,
) -> DeliveryPage:
    """List the deliveries of a webhook, newest first; those that ended are kept for 14 days."""
    with database.read() as session:
        return service.deliveries(session, webhook_id, request.app.state.cursors, limit, cursor)


@router.post("/webhooks/{webhook_id}/test", operation_id="test_webhook", status_code=202)
def test_webhook(webhook_id: str, request: Request, database: DatabaseOf) -> DeliveryView:
    """Send a test, once, within seconds; its delivery tells what came of it. 409 if the webhook is off."""
    with database.write() as session:
        return service.test(session, webhook_id, request.app.state.settings)


@router.post("/webhook-deliveries/{delivery_id}/redeliver", operation_id="redeliver", status_code=202)
def redeliver(delivery_id: str, database: DatabaseOf) -> DeliveryView:
    """Send a delivery again now, with the same id and body. 409 if its webhook is off."""
    with database.write() as session:
        return service.redeliver(session, delivery_id)
