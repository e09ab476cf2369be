"""Checkpoints that were fetched from clusters, or are to be."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base


class StoredFetch(Base):
    """A checkpoint that a user asked for; its pieces are in a store (`hooke_api.storage.fetched`)."""

    __tablename__ = "fetches"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    run_id: Mapped[str] = mapped_column(String(40), ForeignKey("runs.id"), index=True)
    cluster: Mapped[str] = mapped_column(String(64))
    """Where it is: the cluster whose agent is asked."""
    attempt: Mapped[int]
    samples: Mapped[int] = mapped_column(BigInteger)
    """Name of the checkpoint's folder."""
    files: Mapped[list[dict[str, Any]]]
    """`hooke.spec.fetching.FetchedFile`s, as the ranks reported them."""
    complete: Mapped[str | None] = mapped_column(Text)
    """Content of the file that marks it as complete; null: its agent has not begun."""
    size: Mapped[int] = mapped_column(BigInteger)
    """Bytes of all files."""
    stored: Mapped[dict[str, Any]] = mapped_column(JSON)
    """File -> its first bytes that are in the store."""
    state: Mapped[str] = mapped_column(String(16), index=True)
    """waiting, sending, ready, failed or cancelled."""
    why: Mapped[str] = mapped_column(Text, default="")
    """Why it failed."""
    created_at: Mapped[datetime]
    created_by: Mapped[str] = mapped_column(String(120))
    asked_at: Mapped[datetime | None]
    """When an order was sent last."""
    heard_at: Mapped[datetime | None]
    """When its agent was heard last."""
    ended_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    """When it is removed: set when it ends."""
