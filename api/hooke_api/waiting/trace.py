"""The history of a cluster as a job trace, in the format that `hooke replay-queue` reads."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Experiment
from hooke_api.queue.trace import Job, written
from hooke_api.scheduling import history
from hooke_api.storage.reach import in_reach
from hooke_api.waiting.service import cluster_of

TRACED_RUNS = 20_000
"""Runs that a trace is made from: the newest."""


@dataclass
class _Served:
    user: str
    began: float
    seconds: float


def csv_of(session: Session, name: str) -> str:
    """Return one job per experiment that has run on a cluster: submission, service and the slots that it took.

    A launch takes the whole cluster, so every job has all of its slots. Its duration is the time for which its
    runs kept the cluster. Experiments that the reader does not reach are left out. Raises ResourceNotFound.
    """
    cluster = cluster_of(session, name)
    found: dict[str, _Served] = {}
    for run in history.ended_runs(session, name, cluster.slots, TRACED_RUNS):
        served = found.setdefault(run.experiment, _Served(run.user, run.began_at, 0.0))
        served.seconds += run.seconds
    chosen = (Experiment.id.in_(found), in_reach(Experiment.project_id))
    query = select(Experiment.id, Experiment.number, Experiment.created_at, Experiment.priority)
    jobs = [
        Job(
            id=str(row.number),
            user=found[row.id].user,
            slots=cluster.slots,
            submitted_at=row.created_at.timestamp(),
            seconds=found[row.id].seconds,
            priority=row.priority,
            started_at=found[row.id].began,
        )
        for row in session.execute(query.where(*chosen).order_by(Experiment.number))
    ]
    return written(jobs)
