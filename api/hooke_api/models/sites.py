"""Clusters, their tokens, orders and catalogues."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, ForeignKey, Index, String, Text
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
    missing_data: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Built-in workload -> what it lacks of its data, with its default parameters."""
    agent: Mapped[str | None] = mapped_column(String(40))
    """Identity of its agent; null: of protocol 1."""
    place: Mapped[str | None] = mapped_column(Text)
    """Host and home folder of its agent."""
    machines: Mapped[list[str]] = mapped_column(default=list)
    """Identities of the machines that its ranks run on; empty: unknown."""
    token: Mapped[str | None] = mapped_column(String(40))
    """Id of the token with which its agent reports; null: the instance's own."""
    protocol: Mapped[int] = mapped_column(default=1)
    """Of its agent's messages: `hooke.spec.protocol`."""
    draining: Mapped[bool] = mapped_column(Boolean, default=False)
    """Whether no runs are sent to it, until it is resumed."""
    clock_offset: Mapped[float | None]
    """Its agent's clock minus that of the database at the latest hello, s; only displayed."""
    failed_launches: Mapped[int] = mapped_column(default=0)
    """Launches that failed since a run has started there."""
    held_until: Mapped[datetime | None]
    """Until when no runs are sent to it, because launches failed."""
    held_why: Mapped[str | None] = mapped_column(Text)
    """Why the latest one failed."""
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    served_at: Mapped[datetime | None]
    """When runs were last dispatched to it; null: never."""
    policy: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Order and limits of its queue: `hooke_api.queue.settings.QueuePolicy`; empty: its defaults."""


class ClusterToken(Owned, Base):
    """A token with which the agent of one cluster reports; only its hash is stored."""

    __tablename__ = "cluster_tokens"
    __table_args__ = (Index(None, "cluster", "id"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(64))
    """Name of the cluster, which may join later."""
    label: Mapped[str] = mapped_column(String(120))
    token_sha256: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    """When it expires; null: never, as those made before version 0.2."""
    used_at: Mapped[datetime | None]
    """When it was last used, to within a minute."""
    revoked_at: Mapped[datetime | None]
    renews: Mapped[str | None] = mapped_column(String(40))
    """Id of the token that the agent had before, which ends soon after this one is used."""


class AgentOrder(Base):
    """An order that was sent to the agent of a cluster: the broker carries its id, the agent claims the rest.

    What it is worth is decided at the claim, by the state of its subjects.
    """

    __tablename__ = "agent_orders"
    __table_args__ = (Index(None, "subject"), Index(None, "made_at"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    kind: Mapped[str] = mapped_column(String(24))
    """`hooke.spec.orders.OrderKind`."""
    cluster: Mapped[str] = mapped_column(String(64))
    agent: Mapped[str | None] = mapped_column(String(40))
    """Identity of the agent that it is for."""
    subjects: Mapped[list[str]]
    """Attempts as `RUN.NUMBER`, a calibration, or deleted runs."""
    subject: Mapped[str] = mapped_column(String(64))
    """The first of them."""
    made_at: Mapped[datetime]
    claimed_at: Mapped[datetime | None]
    """When it was first claimed; null: not yet."""
    claims: Mapped[int] = mapped_column(default=0)
    """How often it was claimed."""


class StoredCalibration(Owned, Base):
    """A calibration of a cluster: requested, being measured, or with its document."""

    __tablename__ = "calibrations"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    cluster: Mapped[str] = mapped_column(String(64), ForeignKey("clusters.name"), index=True)
    state: Mapped[str] = mapped_column(String(16))
    """queued, running, cancelling, succeeded, failed or cancelled."""
    workers: Mapped[int]
    workloads: Mapped[list[str]]
    precisions: Mapped[list[str]]
    document: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """A `hooke.calibration/1` document."""
    why: Mapped[str] = mapped_column(Text(), default="")
    """Why it failed; until it ends, what is done."""
    created_at: Mapped[datetime]
    sent_at: Mapped[datetime | None]
    """When its order, or the request to end it, was sent, or its agent last told what it does."""
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
