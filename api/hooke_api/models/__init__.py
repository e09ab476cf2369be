"""The tables. Migrations in `migrations/` create them; a test proves that both say the same.

Conventions: ids are text (`run_` + UUIDv7); times are UTC; owned tables carry `project_id` and `created_by`; there
are no lazy relationships, so a query is always visible where it is made. Points are stored as columns
(`Chunk`), and everything that a list or a table shows is a plain column kept up to date at ingest.

All of them are imported here, because Base.metadata knows only tables whose classes were made.
"""

from __future__ import annotations

from hooke_api.models.base import DEFAULT_PROJECT, Base, Moment, Owned, Serial, State, now
from hooke_api.models.records import Checkpoint, Chunk, DroppedWorker, Log, RankTotals, StoredEvaluation
from hooke_api.models.sites import CatalogueEntry, Cluster
from hooke_api.models.work import (
    Attempt,
    Event,
    Experiment,
    IdempotencyKey,
    Leader,
    NumberSequence,
    Project,
    Run,
    Transition,
)

__all__ = [
    "Attempt",
    "Base",
    "CatalogueEntry",
    "Checkpoint",
    "Chunk",
    "Cluster",
    "NumberSequence",
    "DEFAULT_PROJECT",
    "DroppedWorker",
    "StoredEvaluation",
    "Event",
    "Experiment",
    "IdempotencyKey",
    "Leader",
    "Log",
    "Moment",
    "Owned",
    "Project",
    "RankTotals",
    "Run",
    "Serial",
    "State",
    "Transition",
    "now",
]
