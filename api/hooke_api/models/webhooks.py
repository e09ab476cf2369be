"""Webhooks and their deliveries."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base


class Webhook(Base):
    """An address that is told of events."""

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    project_id: Mapped[str | None] = mapped_column(String(40))
    """Of the project that it tells of; null: it tells of all."""
    events: Mapped[list[str]]
    """Names of the events that it is told of."""
    secret_sha256: Mapped[str] = mapped_column(String(64))
    """Of the secret, which follows from the id and the key in the home folder (`hooke_api.webhooks.signing`)."""
    active: Mapped[bool] = mapped_column(Boolean, default=True)
    off_why: Mapped[str | None] = mapped_column(Text)
    """Why the server switched it off; null: it is on, or a user did."""
    position: Mapped[int] = mapped_column(BigInteger)
    """Events up to this position have been turned into deliveries, or are not for it."""
    dropped: Mapped[int] = mapped_column(BigInteger, default=0)
    """Number of events that found too many deliveries waiting."""
    created_by: Mapped[str] = mapped_column(String(120))
    created_at: Mapped[datetime]
    last_at: Mapped[datetime | None]
    """When it was last sent something."""
    last_delivered: Mapped[bool | None] = mapped_column(Boolean)
    """Whether that arrived."""
    last_why: Mapped[str | None] = mapped_column(Text)
    """What the receiver answered, or why it did not."""


class WebhookDelivery(Base):
    """One event for one webhook. `experiment_id` lets it go with its experiment."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index(None, "webhook_id", "id"),
        Index(None, "state", "webhook_id", "next_at"),
        Index(None, "ended_at"),
        Index(None, "experiment_id"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    """The header `webhook-id`, the same in every attempt."""
    webhook_id: Mapped[str] = mapped_column(String(40), ForeignKey("webhooks.id", ondelete="CASCADE"))
    event: Mapped[str] = mapped_column(String(32))
    position: Mapped[int | None] = mapped_column(BigInteger)
    """Number of the event; null: of a test."""
    experiment_id: Mapped[str | None] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16))
    """`hooke_api.webhooks.schemas.DeliveryState`."""
    attempts: Mapped[int] = mapped_column(default=0)
    status: Mapped[int | None]
    """Of the answer to the last attempt; null: none, or no answer."""
    why: Mapped[str] = mapped_column(Text, default="")
    """What came of the last attempt, in words."""
    created_at: Mapped[datetime]
    next_at: Mapped[datetime | None]
    """When the next attempt is due; null: it has ended."""
    ended_at: Mapped[datetime | None]
