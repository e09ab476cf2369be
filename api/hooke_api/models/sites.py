"""Clusters and their catalogues."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, String, Text
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


class StoredCalibration(Owned, Base):
    """A calibration of a cluster: requested, being measured, or with its document."""

    __tablename__ = "calibrations"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(64), ForeignKey("clusters.name"), index=True)
    state: Mapped[str] = mapped_column(String(16))
    """queued, running, succeeded or failed."""
    workers: Mapped[int]
    workloads: Mapped[list[str]]
    precisions: Mapped[list[str]]
    document: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """A `hooke.calibration/1` document."""
    why: Mapped[str] = mapped_column(Text(), default="")
    """Why it failed."""
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class CatalogueEntry(Base):
    """An algorithm or workload reported by a cluster's agent."""

    __tablename__ = "catalogue"

    cluster: Mapped[str] = mapped_column(String(64), ForeignKey("clusters.name"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    """algorithm or workload."""
    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    document: Mapped[dict[str, Any]]
    """One entry as returned by `hooke.catalogue.discovery.describe`."""
