"""The queue in the database: free clusters, the next runs of a cluster, and orders to be sent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hooke.spec.states import RunState
from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session, undefer

from hooke_api.base.settings import Settings
from hooke_api.models import Attempt, Cluster, Run, StoredCalibration
from hooke_api.scheduling.calibrations import OPEN
from hooke_api.scheduling.lifecycle import ACTIVE

BATCH = 64
"""Maximum number of runs per launch."""


def free_hosts(session: Session, seen_since: datetime) -> list[str]:
    """Return the clusters that are online, have queued runs, and neither an active run nor a calibration.

    Every run occupies its whole cluster: a timed MPI run must not share cores, and a virtual one uses all of them.
    """
    taken = exists().where(Run.host == Cluster.name, Run.state.in_(ACTIVE))
    wanted = exists().where(Run.host == Cluster.name, Run.state == RunState.QUEUED)
    calibrating = exists().where(StoredCalibration.cluster == Cluster.name, StoredCalibration.state.in_(OPEN))
    query = (
        select(Cluster.name)
        .where(Cluster.seen_at >= seen_since, wanted, ~taken, ~calibrating)
        .order_by(Cluster.name)
    )
    return list(session.scalars(query))


def choose(session: Session, host: str) -> list[Run]:
    """Return the next runs of a free cluster, locked: the next run of the oldest experiment.

    Up to BATCH runs of one experiment, all virtual or all real, are dispatched together: they run one after the
    other and share processes, so that these start once.
    """
    # a concurrent session for this cluster waits here, and then sees the choice
    session.execute(select(Cluster.name).where(Cluster.name == host).with_for_update())
    # ids are ordered by time, so the order is the age of the experiment, then its expansion
    queued = select(Run).where(Run.host == host, Run.state == RunState.QUEUED).order_by(Run.experiment_id, Run.id)
    busy = select(Run.id).where(Run.host == host, Run.state.in_(ACTIVE)).limit(1)
    first = session.scalars(queued.limit(1).with_for_update()).first()
    if first is None or session.execute(busy).first() is not None:
        return []
    batch = queued.where(Run.experiment_id == first.experiment_id, Run.simulated == first.simulated)
    return list(session.scalars(batch.limit(BATCH).with_for_update()))


def unsent(session: Session, at: datetime, settings: Settings) -> list[list[Run]]:
    """Return the launches to be sent, or sent again: dispatched runs without a report of a supervisor in time."""
    online = at - timedelta(seconds=settings.agent_seconds)
    late = at - timedelta(seconds=settings.resend_seconds)
    rows = session.scalars(
        select(Run)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .join(Cluster, Cluster.name == Run.host)
        .where(
            Run.state == RunState.DISPATCHED,
            ~Run.cancel_requested,
            Attempt.leased_until.is_(None),
            or_(Attempt.sent_at.is_(None), (Attempt.sent_at < late) & (Cluster.seen_at >= online)),
        )
        .order_by(Run.id)
        .options(undefer(Run.spec))
    )
    return _grouped(rows)


def _grouped(runs: Iterable[Run]) -> list[list[Run]]:
    groups: list[list[Run]] = []
    for run in runs:
        last = groups[-1] if groups else []
        if last and len(last) < BATCH and _kind(run) == _kind(last[0]):
            last.append(run)
        else:
            groups.append([run])
    return groups


def _kind(run: Run) -> tuple[str, str, bool]:
    """Return what runs of one launch have in common."""
    return run.experiment_id, run.host, run.simulated
