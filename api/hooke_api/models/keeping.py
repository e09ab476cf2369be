"""Tags of experiments, and what is still to be removed on clusters."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base


class ExperimentTag(Base):
    """A word that users give experiments to find them by."""

    __tablename__ = "experiment_tags"
    __table_args__ = (Index(None, "tag", "experiment_id"),)

    experiment_id: Mapped[str] = mapped_column(
        String(40), ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True
    )
    tag: Mapped[str] = mapped_column(String(40), primary_key=True)


class Removal(Base):
    """A run whose rows are gone, and whose files a cluster has not yet confirmed to have removed."""

    __tablename__ = "removals"
    __table_args__ = (Index(None, "cluster", "asked_at"),)

    run_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(64))
    """The registered cluster that has them."""
    created_at: Mapped[datetime]
    asked_at: Mapped[datetime | None]
    """When its agent was last asked to remove them."""
    refused: Mapped[str | None] = mapped_column(Text)
    """Why it could not when it was asked last."""
