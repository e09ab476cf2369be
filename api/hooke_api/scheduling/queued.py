"""The queue in the database: free clusters, the next runs of a cluster, and orders to be sent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from hooke.spec.states import RunState
from sqlalchemy import ColumnElement, Exists, exists, or_, select
from sqlalchemy.orm import Session

from hooke_api.base.settings import Settings
from hooke_api.models import Attempt, Cluster, Experiment, Run, StoredCalibration, database_time
from hooke_api.queue.policies import following
from hooke_api.queue.settings import Order
from hooke_api.scheduling import machines, waiting
from hooke_api.scheduling.calibrations import OPEN
from hooke_api.scheduling.lifecycle import ACTIVE

BATCH = 64
"""Maximum number of runs per launch."""


def free_hosts(session: Session, at: datetime, settings: Settings) -> list[str]:
    """Return the clusters that are online, not draining or held, have queued runs, no active run or calibration.

    Every run occupies its whole cluster: a timed MPI run must not share cores, and a virtual one uses all of them.
    So it does the machines of its cluster, on which no other one may be busy.
    """
    taken = exists().where(Run.host == Cluster.name, Run.state.in_(ACTIVE))
    wanted = exists().where(Run.host == Cluster.name, Run.state == RunState.QUEUED, ready(at))
    calibrating = exists().where(StoredCalibration.cluster == Cluster.name, StoredCalibration.state.in_(OPEN))
    online = Cluster.seen_at >= at - timedelta(seconds=settings.agent_seconds)
    held = Cluster.held_until.is_not(None) & (Cluster.held_until > at)
    free = online & ~Cluster.draining & ~held & ~taken & ~calibrating
    names = session.scalars(select(Cluster.name).where(free, wanted).order_by(Cluster.name)).all()
    taken_by = machines.occupied(session, at, timedelta(seconds=settings.agent_seconds)) if names else {}
    return machines.in_turn(session, [name for name in names if name not in taken_by])


def ready(at: datetime) -> ColumnElement[bool]:
    """Return the condition that a queued run does not pause before its next attempt."""
    return Run.not_before.is_(None) | (Run.not_before <= at)


def choose(session: Session, host: str, silence: timedelta = timedelta.max) -> list[Run]:
    """Return the next runs of a free cluster, locked: those of the experiment that its policy puts first.

    Up to BATCH runs of one experiment, all virtual or all real, are dispatched together: they run one after the
    other and share processes, so that these start once. They go in the order of the expansion, in which all
    variants of a seed come before those of the next one. `silence`: after which a cluster counts as offline.
    """
    # a concurrent session for this cluster, or another one on its machine, waits here, and then sees the choice
    cluster = machines.lock(session, host)
    busy = select(Run.id).where(Run.host == host, Run.state.in_(ACTIVE)).limit(1)
    # a calibration is requested under the same lock, maybe after `free_hosts` has looked
    calibrating = select(StoredCalibration.id).where(
        StoredCalibration.cluster == host, StoredCalibration.state.in_(OPEN)
    )
    if cluster.draining or any(session.execute(query).first() is not None for query in (busy, calibrating)):
        return []
    at = database_time(session)
    if host in machines.occupied(session, at, silence):
        return []
    chosen = _next_experiment(session, cluster, at)
    if chosen is None:
        return []
    experiment, most = chosen
    queued = select(Run).where(
        Run.host == host, Run.state == RunState.QUEUED, Run.experiment_id == experiment, ready(at)
    )
    first = session.scalars(queued.order_by(Run.id).limit(1).with_for_update()).first()
    if first is None:
        return []
    batch = queued.where(Run.simulated == first.simulated).order_by(Run.id)
    return list(session.scalars(batch.limit(min(BATCH, most or BATCH)).with_for_update()))


def _next_experiment(session: Session, cluster: Cluster, at: datetime) -> tuple[str, int | None] | None:
    """Return the experiment that comes first and the largest number of its runs that may start."""
    policy = waiting.policy_of(cluster)
    if policy.order is Order.FIRST_COME and not waiting.extended(session, cluster.name):
        # without reading the whole queue; no run is active here, so no limit of active runs is reached
        first = _first_come(session, cluster.name, at)
        return None if first is None else (first, policy.max_active_runs)
    # the caller has seen that it is online
    queue = waiting.read(session, cluster, at, timedelta.max, predicted=False, waits=ready(at))
    found = following(queue.state)
    return None if found is None else (found[0].experiment, found[1])


def _first_come(session: Session, host: str, at: datetime) -> str | None:
    """Return the oldest experiment that has begun and has queued runs, otherwise the oldest; ids follow time."""
    queued = (Run.state == RunState.QUEUED) & ready(at)
    waits = select(Run.experiment_id).where(Run.host == host, queued).order_by(Run.experiment_id)
    oldest = session.scalars(waits.limit(1)).first()
    if oldest is None:
        return None
    both = (_some_run(host, condition) for condition in (queued, Run.state.in_(waiting.BEGUN)))
    begun = select(Experiment.id).where(Experiment.finished_at.is_(None), *both)
    return session.scalars(begun.order_by(Experiment.id).limit(1)).first() or oldest


def _some_run(host: str, condition: ColumnElement[bool]) -> Exists:
    """Return the condition that an experiment has a run on a cluster that meets another condition."""
    return exists().where(Run.experiment_id == Experiment.id, Run.host == host, condition)


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
            Cluster.seen_at >= online,
            or_(Attempt.sent_at.is_(None), Attempt.sent_at < late),
        )
        .order_by(Run.id)
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
