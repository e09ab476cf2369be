"""What clusters still hold of purged runs: their agents are asked to remove it, until they confirm."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta

from hooke.spec.attempts import MOST_FORGOTTEN, ForgetReport
from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from hooke_api.models import Cluster, Removal, database_time
from hooke_api.storage.database import Database

REPEAT_SECONDS = 60.0
"""Interval between two orders about the same run, s."""
KEPT_WHY = 500
"""Characters of a reason that are stored."""


def due(database: Database, silence: timedelta) -> dict[str, list[str]]:
    """Return the runs to be removed, by cluster, of clusters whose agent has reported within `silence`."""
    with database.read() as session:
        at = database_time(session)
        rows = session.execute(
            select(Removal.cluster, Removal.run_id)
            .join(Cluster, Cluster.name == Removal.cluster)
            .where(
                Cluster.seen_at >= at - silence,
                or_(Removal.asked_at.is_(None), Removal.asked_at < at - timedelta(seconds=REPEAT_SECONDS)),
            )
            .order_by(Removal.cluster, Removal.run_id)
            .limit(MOST_FORGOTTEN)
        )
        found: dict[str, list[str]] = defaultdict(list)
        for cluster, run in rows:
            found[cluster].append(run)
    return found


def asked(database: Database, runs: list[str]) -> None:
    """Record that the order about these runs was sent."""
    with database.write() as session:
        mine = update(Removal).where(Removal.run_id.in_(runs))
        session.execute(mine.values(asked_at=database_time(session)))


def of_cluster(session: Session, runs: list[str]) -> dict[str, str]:
    """Return run -> cluster of the removals among these runs."""
    query = select(Removal.run_id, Removal.cluster).where(Removal.run_id.in_(runs))
    return {run: cluster for run, cluster in session.execute(query)}


def confirm(session: Session, report: ForgetReport, runs: set[str]) -> None:
    """Apply an agent's answer to `runs`, those of its cluster: what it has removed is done with."""
    gone = runs & set(report.forgotten)
    for removal in session.scalars(select(Removal).where(Removal.run_id.in_(gone))):
        session.delete(removal)
    for kept in report.kept:
        if kept.run in runs - gone:
            values = {"refused": kept.why.replace("\0", "")[:KEPT_WHY]}
            session.execute(update(Removal).where(Removal.run_id == kept.run).values(**values))
