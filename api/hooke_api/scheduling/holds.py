"""Pauses of a cluster whose launches fail, as on a full disk: its queue must not run through meanwhile."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from hooke_api.models import Cluster, database_time
from hooke_api.storage.outbox import announce

FIRST_SECONDS = 10.0
"""Pause after the first failed launch; doubled after each further one."""
LONGEST_SECONDS = 600.0


def hold(session: Session, cluster: Cluster, why: str) -> None:
    """Send no runs to a cluster for a while."""
    cluster.failed_launches += 1
    pause = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(cluster.failed_launches - 1, 16))
    cluster.held_until = database_time(session) + timedelta(seconds=pause)
    cluster.held_why = why
    announce(session, "clusters", {})


def release(session: Session, name: str) -> None:
    """End the pauses of a cluster, on which a run has started."""
    failing = (Cluster.name == name) & (Cluster.failed_launches > 0)
    session.execute(update(Cluster).where(failing).values(failed_launches=0, held_until=None, held_why=None))
