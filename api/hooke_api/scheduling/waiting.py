"""The state of a cluster's queue, read from the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hooke.spec.states import RunState
from sqlalchemy import ColumnElement, exists, func, select, true
from sqlalchemy.orm import Session

from hooke_api.models import Attempt, Cluster, Experiment, Run
from hooke_api.queue.likeness import history_of_runs
from hooke_api.queue.prediction import Prediction, remaining, total
from hooke_api.queue.settings import Order, QueuePolicy
from hooke_api.queue.state import Active, Batch, Elsewhere, Entry, QueueState
from hooke_api.scheduling import calibrations, history, machines
from hooke_api.scheduling.history import ABOUT, Columns, Known, kind_of
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.scheduling.usage import usage

BEGUN = (*sorted(ACTIVE), RunState.SUCCEEDED, RunState.FAILED_USER, RunState.FAILED_INFRA, RunState.TIMED_OUT)
"""States of a run that show that its experiment has begun on the cluster."""
PREDICTED = frozenset({Order.SHORTEST_SERVICE, Order.FAIR_SHARE})
"""Orders that depend on durations."""
CLUSTERS = Experiment.spec["clusters"].label("clusters")
"""Column with the clusters of an experiment, of which the slots of its runs depend on the groups of workers."""


@dataclass(frozen=True)
class Turn:
    """One active run: dispatched runs of a launch wait for the earlier ones."""

    run: str
    experiment: str
    user: str
    number: int
    ranks: int
    state: RunState
    left: Prediction | None
    """The seconds that it still takes, without the runs before it; None: unknown."""
    late: float = 0.0
    """Seconds by which it has exceeded its predicted duration, beyond the interval of this; 0: it has not."""
    taken: float = 0.0
    """Seconds for which it has kept the cluster; 0 before its turn."""


@dataclass(frozen=True)
class Queue:
    """The queue of one cluster with what its predictions are made from."""

    state: QueueState
    turns: tuple[Turn, ...]
    known: Known


def policy_of(cluster: Cluster) -> QueuePolicy:
    """Return the policy of a cluster."""
    return QueuePolicy.model_validate(cluster.policy or {})


def read(
    session: Session,
    cluster: Cluster,
    at: datetime,
    silence: timedelta,
    predicted: bool = True,
    waits: ColumnElement[bool] | None = None,
) -> Queue:
    """Return the queue of a cluster; `predicted`: with durations also where its order does not depend on them.

    `waits`: only the queued runs with this condition.
    """
    policy = policy_of(cluster)
    if predicted or policy.order in PREDICTED:
        known = history.known(session, cluster.name, cluster.slots)
    else:
        known = Known((), history_of_runs())
    turns = _turns(session, cluster, at, known)
    fair = policy.order is Order.FAIR_SHARE
    used = usage(session, cluster.name, cluster.slots, at, policy.half_life_hours) if fair else {}
    state = QueueState(
        cluster=cluster.name,
        slots=cluster.slots,
        now=at.timestamp(),
        waiting=_entries(session, cluster, known, true() if waits is None else waits),
        active=_active(turns),
        policy=policy,
        usage=used,
        online=at - cluster.seen_at <= silence,
        seen_at=cluster.seen_at.timestamp(),
        drained=cluster.draining,
        calibration=calibrations.open_on(session, cluster.name, at),
        elsewhere=_elsewhere(session, cluster, at, silence) if predicted else None,
        held_until=held_until(cluster, at),
        held_why=cluster.held_why or "",
    )
    return Queue(state, turns, known)


def _elsewhere(session: Session, cluster: Cluster, at: datetime, silence: timedelta) -> Elsewhere | None:
    """Return what another cluster does on a machine of this one, and how long it takes."""
    found = machines.occupied(session, at, silence).get(cluster.name)
    if found is None:
        return None
    other = session.get_one(Cluster, found.cluster)
    if found.calibrating:
        calibration = calibrations.open_on(session, other.name, at)
        return Elsewhere(found.cluster, found.doing, calibration.left if calibration else None)
    turns = _turns(session, other, at, history.known(session, other.name, other.slots))
    return Elsewhere(found.cluster, found.doing, left_of(turns))


def held_until(cluster: Cluster, at: datetime) -> float | None:
    """Return until when a cluster gets no runs because launches failed, seconds since 1970; None: it gets them."""
    until = cluster.held_until
    return until.timestamp() if until is not None and until > at else None


def ranks_of(cluster: Cluster, about: Columns, run: Columns) -> int:
    """Return the slots that a run needs: one of each rank, or as many as its threads; `about`: with CLUSTERS.

    A simulated run uses the whole cluster, whatever it simulates.
    """
    if run.simulated:
        return cluster.slots
    mine = (each for each in about.clusters or () if each["name"] == cluster.name)
    groups = (group for each in mine for group in each.get("groups", ()))
    more = sum(group.get("count", 1) * (group.get("threads", 1) - 1) for group in groups)
    return int(run.workers + run.servers + more)


def _entries(
    session: Session, cluster: Cluster, known: Known, condition: ColumnElement[bool]
) -> tuple[Entry, ...]:
    alike = (Run.experiment_id, Run.algorithm, Run.simulated, Run.workers, Run.servers, Run.budget)
    query = (
        select(*alike, func.count().label("runs"))
        .where(Run.host == cluster.name, Run.state == RunState.QUEUED, condition)
        .group_by(*alike)
        .order_by(*alike)
    )
    rows: dict[str, list[Columns]] = {}
    for row in session.execute(query):
        rows.setdefault(row.experiment_id, []).append(row)
    if not rows:
        return ()
    begun = exists().where(Run.host == cluster.name, Run.state.in_(BEGUN), Run.experiment_id == Experiment.id)
    waits = exists().where(
        Run.host == cluster.name, Run.state == RunState.QUEUED, Run.experiment_id == Experiment.id
    )
    told = select(
        Experiment.id, Experiment.number, Experiment.name, *ABOUT, CLUSTERS, Experiment.created_by,
        Experiment.created_at, Experiment.priority, begun.label("begun"),
    ).where(waits)  # fmt: skip
    again = extended(session, cluster.name, rows)
    return tuple(
        Entry(
            experiment=one.id,
            user=one.created_by,
            submitted_at=(again[one.id].at if one.id in again else one.created_at).timestamp(),
            batches=tuple(_batch(cluster, one, row, known) for row in rows[one.id]),
            priority=one.priority,
            begun=again[one.id].begun if one.id in again else one.begun,
            number=one.number,
            name=one.name,
        )
        for one in session.execute(told)
        if one.id in rows
    )


@dataclass(frozen=True)
class Extended:
    """The latest extension of an experiment: its runs queue as if they had been submitted then."""

    at: datetime
    begun: bool
    """Whether any of the runs that it has added has begun on the cluster."""


def extended(session: Session, host: str, among: Collection[str] | None = None) -> dict[str, Extended]:
    """Return the extended experiments of these that have not ended; `among`: None for all.

    Otherwise an extension would be served before all that has been waiting: its experiment is old, and has begun.
    """
    found = {}
    chosen = [Experiment.finished_at.is_(None), func.json_array_length(Experiment.earlier) > 0]
    query = select(Experiment.id, Experiment.earlier).where(*chosen)
    for experiment, earlier in session.execute(query).all():
        if among is None or experiment in among:
            at = datetime.fromisoformat(earlier[-1]["at"])
            mine = (Run.experiment_id == experiment, Run.host == host, Run.state.in_(BEGUN), Run.created_at >= at)
            begun = session.scalars(select(Run.id).where(*mine).limit(1)).first() is not None
            found[experiment] = Extended(at, begun)
    return found


def _batch(cluster: Cluster, about: Columns, row: Columns, known: Known) -> Batch:
    predicted = known.durations.predict(kind_of(cluster.name, about, row))
    return Batch(row.runs, ranks_of(cluster, about, row), predicted)


def _turns(session: Session, cluster: Cluster, at: datetime, known: Known) -> tuple[Turn, ...]:
    """Return the active runs of a cluster in the order in which they take their turns."""
    query = (
        select(
            Run.id, Run.experiment_id, Run.algorithm, Run.simulated, Run.workers, Run.servers, Run.budget,
            Run.samples, Run.state, Run.started_at, *ABOUT, CLUSTERS, Experiment.created_by, Experiment.number,
            Attempt.created_at.label("sent"),
        )
        .join(Experiment, Experiment.id == Run.experiment_id)
        .outerjoin(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.host == cluster.name, Run.state.in_(ACTIVE))
        .order_by(Run.id)
    )  # fmt: skip
    last = max((run.ended_at for run in known.runs), default=0.0)
    return tuple(_turn(cluster, row, known, at, last) for row in session.execute(query))


def _turn(cluster: Cluster, row: Columns, known: Known, at: datetime, last: float) -> Turn:
    taken = _taken(row, at, last)
    left, late = _left(row, known.durations.predict(kind_of(cluster.name, row, row)), at, taken)
    return Turn(
        run=row.id,
        experiment=row.experiment_id,
        user=row.created_by,
        number=row.number,
        ranks=ranks_of(cluster, row, row),
        state=row.state,
        left=left,
        late=late,
        taken=taken,
    )


def _taken(row: Columns, at: datetime, last: float) -> float:
    """Return for how long an active run has kept its cluster, s. `last`: when the run before it ended."""
    if row.state is RunState.DISPATCHED or row.sent is None:
        return 0.0
    began: float = max(last, row.sent.timestamp())
    return max(0.0, at.timestamp() - began)


def _left(
    row: Columns, predicted: Prediction | None, at: datetime, elapsed: float
) -> tuple[Prediction | None, float]:
    """Return the seconds that an active run still takes, and by how many it is late.

    Without similar runs, and once a run has taken longer than similar ones, what it has done of its budget decides
    if it trains.
    """
    if row.state is RunState.DISPATCHED:
        return predicted, 0.0
    if predicted is None:
        return _by_progress(row, at), 0.0
    if elapsed <= max(predicted.high, predicted.seconds):
        return remaining(predicted, elapsed), 0.0
    own = _by_progress(row, at) if row.samples < row.budget else None
    return own or remaining(predicted, elapsed), elapsed - predicted.seconds


def _by_progress(row: Columns, at: datetime) -> Prediction | None:
    if row.started_at is None or row.samples <= 0:
        return None
    since = row.started_at if row.sent is None else max(row.started_at, row.sent)  # that of an earlier attempt
    trained = max(0.0, (at - since).total_seconds())
    left = trained * max(0, row.budget - row.samples) / row.samples
    if row.limit is not None:
        left = min(left, max(0.0, row.limit - trained))
    return Prediction(left, left / 2)


def _active(turns: Sequence[Turn]) -> tuple[Active, ...]:
    """Return the active runs by experiment; those of one experiment follow one another."""
    groups: dict[str, list[Turn]] = {}
    for turn in turns:
        groups.setdefault(turn.experiment, []).append(turn)
    return tuple(
        Active(
            experiment=experiment,
            user=group[0].user,
            ranks=max(turn.ranks for turn in group),
            runs=len(group),
            left=left_of(group),
            number=group[0].number,
            sent=sum(turn.state is RunState.DISPATCHED for turn in group),
            late=max(turn.late for turn in group),
            taken=max(turn.taken for turn in group),
        )
        for experiment, group in groups.items()
    )


def left_of(turns: Sequence[Turn]) -> tuple[float, float] | None:
    """Return mean and deviation of the seconds until the last of these has ended; None if one is unknown."""
    return total([(1, turn.left) for turn in turns])
