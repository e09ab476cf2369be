"""The tables, created by the migrations in `migrations/`; a test compares both.

Conventions: ids are text (`run_` + UUIDv7); times are UTC; owned tables have `project_id` and `created_by`; there
are no lazy relationships, so every query is explicit. Points are stored as packed columns (`Chunk`); figures of
lists and tables are plain columns updated at ingest.

All tables are imported here, because Base.metadata contains only tables whose classes exist.
"""

from __future__ import annotations

from hooke_api.base.reach import DEFAULT_PROJECT
from hooke_api.models.base import Base, Moment, Owned, Serial, State, now
from hooke_api.models.clock import database_time
from hooke_api.models.fetches import StoredFetch
from hooke_api.models.keeping import ExperimentTag, Removal
from hooke_api.models.leader import Leader
from hooke_api.models.objects import CompactedRun, LooseObject
from hooke_api.models.people import AccessToken, BrowserSession, StoredView, TrailEntry, User, UserIdentity
from hooke_api.models.projects import Project, ProjectMember
from hooke_api.models.records import (
    Checkpoint,
    Chunk,
    DroppedWorker,
    LogBlock,
    RankTotals,
    StoredEvaluation,
    StoredFilePart,
    ThinnedSeries,
)
from hooke_api.models.sites import AgentOrder, CatalogueEntry, Cluster, ClusterToken, StoredCalibration
from hooke_api.models.webhooks import Webhook, WebhookDelivery
from hooke_api.models.work import (
    Attempt,
    AttemptToken,
    Event,
    Experiment,
    IdempotencyKey,
    NumberSequence,
    Run,
    Transition,
)

__all__ = [
    "AccessToken",
    "AgentOrder",
    "Attempt",
    "AttemptToken",
    "Base",
    "BrowserSession",
    "CatalogueEntry",
    "Checkpoint",
    "Chunk",
    "Cluster",
    "ClusterToken",
    "CompactedRun",
    "NumberSequence",
    "DEFAULT_PROJECT",
    "DroppedWorker",
    "StoredCalibration",
    "StoredEvaluation",
    "StoredFetch",
    "StoredFilePart",
    "StoredView",
    "ThinnedSeries",
    "Event",
    "Experiment",
    "ExperimentTag",
    "IdempotencyKey",
    "Leader",
    "LogBlock",
    "LooseObject",
    "Moment",
    "Owned",
    "Project",
    "ProjectMember",
    "RankTotals",
    "Removal",
    "Run",
    "Serial",
    "State",
    "TrailEntry",
    "Transition",
    "User",
    "UserIdentity",
    "Webhook",
    "WebhookDelivery",
    "database_time",
    "now",
]
