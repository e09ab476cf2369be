"""Requests and responses of webhooks."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field, StrictBool

from hooke_api.base.names import ProjectName
from hooke_api.base.schema import View


class WebhookEvent(StrEnum):
    """What a webhook may be told of."""

    RUN_STARTED = "run.started"
    """Every rank is in its step loop, for the first time."""
    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    """It ended as failed_user, failed_infra or timed_out, and no further attempt follows by itself."""
    RUN_CANCELLED = "run.cancelled"
    EXPERIMENT_SUCCEEDED = "experiment.succeeded"
    EXPERIMENT_FAILED = "experiment.failed"
    """Its last run has ended, and one that is reported failed."""
    EXPERIMENT_CANCELLED = "experiment.cancelled"


TEST = "webhook.test"
"""The event of a request that only shows that the receiver works."""
USUAL = (
    WebhookEvent.EXPERIMENT_SUCCEEDED,
    WebhookEvent.EXPERIMENT_FAILED,
    WebhookEvent.EXPERIMENT_CANCELLED,
    WebhookEvent.RUN_FAILED,
)
"""Events of a webhook that names none."""


class DeliveryState(StrEnum):
    """What has become of a delivery."""

    WAITING = "waiting"
    """The next attempt is due at `next_at`."""
    DELIVERED = "delivered"
    """The receiver answered with a status from 200 to 299."""
    FAILED = "failed"
    """No attempt was successful, and none follows."""
    DISCARDED = "discarded"
    """Its webhook was switched off before it was sent."""


Url = Annotated[str, Field(min_length=1, max_length=2000)]
Events = Annotated[list[WebhookEvent], Field(min_length=1, max_length=len(WebhookEvent))]


class Request(View):
    """A body with known fields only."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NewWebhook(Request):
    """Where to send what."""

    url: Url = Field(description="An https address on the internet, with port 443 or one from 1024 on.")
    events: Events = Field(default_factory=lambda: list(USUAL))
    project: ProjectName | None = Field(None, description="Tell of what is in this project; null: in all.")


class WebhookChange(Request):
    """What changes of a webhook; null: nothing."""

    url: Url | None = None
    events: Events | None = None
    active: StrictBool | None = Field(
        None, description="False: it is told of nothing, and what waits is discarded."
    )


class WebhookView(View):
    """A webhook without its secret."""

    id: str
    url: str
    """Where events are sent to."""
    events: list[WebhookEvent]
    """What it is told of."""
    project: str | None = None
    """Name of the project that it tells of; null: it tells of all."""
    active: bool
    """Whether it is switched on."""
    off_why: str | None
    """Why the server switched it off; null: it is on, or an administrator did."""
    created_by: str
    created_at: datetime
    last_at: datetime | None
    """When it was last sent something; null: never."""
    last_delivered: bool | None
    """Whether that was accepted; null: nothing was sent yet."""
    last_why: str | None
    """What the receiver answered to that, or why it did not; null: nothing was sent yet."""
    waiting: int
    """Number of deliveries that wait to be sent."""
    dropped: int
    """Number of events that it was not told of, because too many deliveries waited."""


class WebhookList(View):
    """The webhooks, the oldest first."""

    items: list[WebhookView]


class CreatedWebhook(WebhookView):
    """A webhook that has just been made."""

    secret: str
    """The key of its signatures, shown only here."""


class DeliveryView(View):
    """An event for a webhook, and what has become of it."""

    id: str
    """Its id, in the header `webhook-id` of every attempt."""
    webhook_id: str
    """Id of the webhook."""
    event: str
    """A `WebhookEvent`, or `webhook.test`."""
    position: int | None
    """Number of the event in the stream of events; null: it is a test."""
    state: DeliveryState
    """What has become of it."""
    attempts: int
    """Number of attempts so far."""
    status: int | None
    """HTTP status of the answer to the last attempt; null: no attempt, or no answer."""
    why: str
    """What came of the last attempt, in words."""
    created_at: datetime
    next_at: datetime | None
    """When the next attempt is due; null: it has ended."""
    ended_at: datetime | None


class DeliveryPage(View):
    """One page of deliveries, newest first."""

    items: list[DeliveryView]
    next_cursor: str | None
