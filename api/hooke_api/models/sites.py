"""Clusters and their catalogues."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from hooke_api.models.base import Base, Owned


class Cluster(Owned, Base):
    """A named place where runs execute, as described by its agent."""

    __tablename__ = "clusters"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    cores: Mapped[int]
    slots: Mapped[int]
    launcher: Mapped[str] = mapped_column(String(16))
    hardware: Mapped[dict[str, Any]]
    versions: Mapped[dict[str, Any]]
    problems: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    """User files that it cannot offer: `FileFault`s."""
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    policy: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Order and limits of its queue: `hooke_api.queue.settings.QueuePolicy`; empty: its defaults."""


class CatalogueEntry(Base):
    """An algorithm or workload reported by a cluster's agent."""

    __tablename__ = "catalogue"

    cluster: Mapped[str] = mapped_column(String(64), ForeignKey("clusters.name"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    """algorithm or workload."""
    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """One entry as returned by `hooke.catalogue.discovery.describe`."""
