"""Orders to send checkpoints: made until the agent is heard, given up after a time, removed when they expire."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from hooke.spec.fetching import FetchedFile, FetchOrder
from sqlalchemy import ColumnElement, Select, or_, select, update
from sqlalchemy.orm import Session

from hooke_api.base.settings import Settings
from hooke_api.models import Cluster, Run, StoredFetch, database_time
from hooke_api.storage.database import Database
from hooke_api.storage.fetched import FetchedFiles
from hooke_api.storage.objects import ObjectError

OPEN = ("waiting", "sending")
"""States of a fetch that has not ended."""
AGAIN = timedelta(seconds=60)
"""Interval between two orders of a fetch whose agent is not heard."""
WAIT_LIMIT = timedelta(hours=1)
"""After this time without a word of its agent, a fetch has failed: the cluster is offline, or others go first."""
SILENCE_LIMIT = timedelta(minutes=10)
"""After this time without a piece, one that had begun has failed."""

log = structlog.get_logger("hooke.fetches")


def due(database: Database, silence: timedelta) -> list[tuple[str, str]]:
    """Return cluster and id of the fetches whose agents are to be asked; `silence`: after which it is offline."""
    with database.read() as session:
        at = database_time(session)
        asked = or_(StoredFetch.asked_at.is_(None), StoredFetch.asked_at < at - AGAIN)
        unheard = or_(StoredFetch.heard_at.is_(None), StoredFetch.heard_at < at - AGAIN)
        query = (
            select(StoredFetch.cluster, StoredFetch.id)
            .join(Cluster, Cluster.name == StoredFetch.cluster)
            .where(StoredFetch.state.in_(OPEN), Cluster.seen_at >= at - silence, asked, unheard)
            .order_by(StoredFetch.id)
        )
        return [(cluster, id) for cluster, id in session.execute(query)]


def asked(database: Database, id: str) -> None:
    """Note that an order was sent."""
    with database.write() as session:
        mine = update(StoredFetch).where(StoredFetch.id == id)
        session.execute(mine.values(asked_at=database_time(session)))


def take(session: Session, id: str, cluster: str) -> FetchOrder | None:
    """Return what an agent is to send; None if it is not wanted any more."""
    row = session.get(StoredFetch, id)
    if row is None or row.cluster != cluster or row.state not in OPEN:
        return None
    files = [FetchedFile(**each) for each in row.files]
    return FetchOrder(id=id, run=row.run_id, attempt=row.attempt, samples=row.samples, files=files)


def end(session: Session, row: StoredFetch, state: str, why: str, kept: timedelta) -> None:
    """End a fetch; what it has stays until the look of `expire` that follows, or for as long as it is kept."""
    row.state, row.why = state, why
    row.ended_at = database_time(session)
    row.expires_at = row.ended_at + kept


def sizes(row: StoredFetch) -> dict[str, int]:
    """Return the files of a fetch: name -> size."""
    return {each["name"]: each["size"] for each in row.files}


def expire(database: Database, files: FetchedFiles, settings: Settings, at: datetime) -> None:
    """End fetches of which nothing was heard in time; remove what has expired, and pieces of what has failed.

    `at`: until when what is kept has expired for certain.
    """
    with database.read() as session:
        silent = [row.id for row in session.scalars(_silent(database_time(session)))]
        over = [(row.id, sizes(row)) for row in session.scalars(select(StoredFetch).where(_over(at)))]
        ended = session.scalars(select(StoredFetch).where(StoredFetch.state.in_(("failed", "cancelled"))))
        useless = [(row.id, sizes(row)) for row in ended if row.stored]
    for id in silent:
        with database.write() as session:
            quiet = _silent(database_time(session))
            row = session.scalars(quiet.where(StoredFetch.id == id).with_for_update()).first()
            if row is not None:
                end(session, row, "failed", _why(row), settings.keep_fetched)
    for id, names in (*over, *useless):
        try:
            files.delete(id, names)
        except ObjectError as error:
            log.warning("the pieces of a fetched checkpoint are not removed", fetch=id, error=str(error))
            continue
        with database.write() as session:
            row = session.get(StoredFetch, id, with_for_update=True)
            if row is not None and (id, names) in over:
                session.delete(row)
            elif row is not None:
                row.stored = {}


def _over(at: datetime) -> ColumnElement[bool]:
    return StoredFetch.expires_at <= at


def _silent(at: datetime) -> Select[StoredFetch]:
    began = (StoredFetch.state == "sending") & (StoredFetch.heard_at < at - SILENCE_LIMIT)
    waits = (StoredFetch.state == "waiting") & (StoredFetch.created_at < at - WAIT_LIMIT)
    return select(StoredFetch).where(began | waits)


def _why(row: StoredFetch) -> str:
    limit = SILENCE_LIMIT if row.state == "sending" else WAIT_LIMIT
    told = "sent nothing more" if row.state == "sending" else "did not begin"
    return (
        f"the agent of {row.cluster} {told} within {limit.total_seconds() / 60:.0f} min: see whether the cluster "
        "is online, then try again"
    )


def drop(database: Database, files: FetchedFiles, experiment: str) -> None:
    """Remove all fetches of an experiment that is purged. Raises ObjectError if pieces cannot be removed."""
    with database.read() as session:
        mine = select(StoredFetch).join(Run, Run.id == StoredFetch.run_id).where(Run.experiment_id == experiment)
        found = [(row.id, sizes(row)) for row in session.scalars(mine)]
    for id, names in found:
        files.delete(id, names)
        with database.write() as session:
            row = session.get(StoredFetch, id)
            if row is not None:
                session.delete(row)
