"""Positions, reasons and predicted times of what waits; policies and their limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.models import Cluster, Experiment, Run, database_time
from hooke_api.queue.outlook import Outlook, Span, clock, offline, outlooks, plural, span
from hooke_api.queue.prediction import Prediction, total
from hooke_api.queue.settings import QueuePolicy
from hooke_api.queue.state import Active, QueueState
from hooke_api.scheduling import waiting
from hooke_api.scheduling.history import ABOUT, kind_of
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.scheduling.waiting import Queue, left_of
from hooke_api.storage.outbox import announce, wake_scheduler
from hooke_api.storage.reach import out_of_reach
from hooke_api.storage.trail import tell
from hooke_api.waiting.schemas import ActiveView, QueueEntryView, QueueView, SpanView, WaitingView

OPEN = (RunState.QUEUED, *sorted(ACTIVE))


def cluster_of(session: Session, name: str, *, lock: bool = False) -> Cluster:
    """Return a registered cluster. Raises ResourceNotFound."""
    found = session.get(Cluster, name, with_for_update=lock or None)
    if found is None:
        raise ResourceNotFound(f"no cluster is called {name!r}: GET /clusters lists them")
    return found


def queue_view(session: Session, name: str, silence: timedelta) -> QueueView:
    """Return the queue of one cluster; of experiments that the reader does not reach, only what they occupy."""
    queue, hidden = _seen(session, cluster_of(session, name), silence)
    state = queue.state
    return QueueView(
        cluster=name,
        online=state.online,
        drained=state.drained,
        slots=state.slots,
        free=state.free,
        policy=state.policy,
        active=[_active(each, state.now) for each in state.active if each.experiment not in hidden],
        entries=[_entry(each, name) for each in outlooks(state) if each.entry.experiment not in hidden],
    )


def set_policy(session: Session, name: str, policy: QueuePolicy) -> QueuePolicy:
    """Store the policy of a cluster; it counts from the next launch on."""
    cluster = cluster_of(session, name, lock=True)
    after = policy.model_dump(mode="json")
    tell(session, before=cluster.policy, after=after)
    cluster.policy = after
    announce(session, "clusters", {})
    wake_scheduler(session)
    return policy


def of_experiments(
    session: Session, experiments: Collection[str], silence: timedelta
) -> dict[str, list[WaitingView]]:
    """Return what is known of the waiting runs of some experiments: experiment -> one view per cluster."""
    query = (
        select(Run.host)
        .where(Run.experiment_id.in_(experiments), Run.state == RunState.QUEUED)
        .distinct()
        .order_by(Run.host)
    )
    found: dict[str, list[WaitingView]] = {}
    for host in session.scalars(query).all():
        queue = queue_of(session, host, silence)
        for outlook in outlooks(queue.state) if queue else ():
            if outlook.entry.experiment in experiments:
                view = waiting_view(outlook, host, outlook.runs_ahead, outlook.start, outlook.end, outlook.reason)
                found.setdefault(outlook.entry.experiment, []).append(view)
    return found


def of_runs(session: Session, runs: Iterable[Run], silence: timedelta) -> dict[str, WaitingView]:
    """Return what is known of the runs that wait, in the queue or for their turn: run -> view."""
    by_host: dict[str, list[Run]] = {}
    for run in runs:
        if run.state in (RunState.QUEUED, RunState.DISPATCHED):
            by_host.setdefault(run.host, []).append(run)
    found: dict[str, WaitingView] = {}
    for host, each in sorted(by_host.items()):
        queue = queue_of(session, host, silence)
        if queue is None:
            continue
        sent = {run.id for run in each if run.state is RunState.DISPATCHED}
        found |= _turn_views(queue, sent)
        found |= _queued_views(session, queue, [run for run in each if run.state is RunState.QUEUED])
    return found


def queue_of(session: Session, host: str, silence: timedelta) -> Queue | None:
    """Return the queue of a registered cluster as its reader may know it; None: there is no such cluster."""
    cluster = session.get(Cluster, host)
    return None if cluster is None else _seen(session, cluster, silence)[0]


def _seen(session: Session, cluster: Cluster, silence: timedelta) -> tuple[Queue, frozenset[str]]:
    """Return the queue of a cluster, and its experiments that the reader does not reach: no reason names them."""
    queue = waiting.read(session, cluster, database_time(session), silence)
    state = queue.state
    waits, runs = {each.experiment for each in state.waiting}, {each.experiment for each in state.active}
    hidden = out_of_reach(session, waits | runs)
    if not hidden:
        return queue, hidden
    active = tuple(replace(each, number=0) if each.experiment in hidden else each for each in state.active)
    return replace(queue, state=replace(state, active=active)), hidden


def _queued_views(session: Session, queue: Queue, wanted: Sequence[Run]) -> dict[str, WaitingView]:
    state, found = queue.state, dict[str, WaitingView]()
    own = {run.id: run for run in wanted}
    last: dict[str, str] = {}
    for run in wanted:
        last[run.experiment_id] = max(run.id, last.get(run.experiment_id, ""))
    about = _about(session, last)
    until_last = _until_last(session, state.cluster, last)
    for outlook in outlooks(state) if own else ():
        experiment = outlook.entry.experiment
        ahead: Counter[Prediction | None] = Counter()
        for before, row in enumerate(until_last.get(experiment, ())):
            predicted = queue.known.durations.predict(kind_of(state.cluster, about[experiment], row))
            waits = own.get(row.id)
            if waits is not None:
                start, reason = outlook.after(before, [(runs, kind) for kind, runs in ahead.items()], state.now)
                if waits.not_before is not None and (until := waits.not_before.timestamp()) > state.now:
                    start, reason = None, f"pauses until {clock(until, state.now)} before attempt {waits.attempt}"
                end = _end(start, predicted, state.now)
                found[waits.id] = waiting_view(
                    outlook, state.cluster, outlook.runs_ahead + before, start, end, reason, 1
                )
            ahead[predicted] += 1
    return found


def _about(session: Session, experiments: Collection[str]) -> dict[str, Any]:
    """Return what predictions need of experiments, by id: one query for all, as a page may have a hundred."""
    query = select(Experiment.id, *ABOUT).where(Experiment.id.in_(experiments))
    return {row.id: row for row in session.execute(query)} if experiments else {}


def _until_last(session: Session, host: str, last: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the waiting runs of experiments on a cluster, in order, up to one run of each.

    `last`: experiment -> id of that run. One query: for one experiment, in the order of ids, SQLite reads all that
    waits on the cluster, and a page may have runs of a hundred.
    """
    columns = (Run.id, Run.experiment_id, Run.algorithm, Run.simulated, Run.workers, Run.servers, Run.budget)
    mine = (Run.host == host, Run.state == RunState.QUEUED, Run.experiment_id.in_(last))
    found: dict[str, list[Any]] = {}
    for row in session.execute(select(*columns).where(*mine).order_by(Run.experiment_id, Run.id)) if last else ():
        if row.id <= last[row.experiment_id]:
            found.setdefault(row.experiment_id, []).append(row)
    return found


def _turn_views(queue: Queue, wanted: Collection[str]) -> dict[str, WaitingView]:
    """Return the views of dispatched runs, which wait for those before them in their launch."""
    state, found = queue.state, dict[str, WaitingView]()
    for number, turn in enumerate(queue.turns):
        if turn.run not in wanted:
            continue
        before = left_of(queue.turns[:number])
        through = left_of(queue.turns[: number + 1])
        found[turn.run] = WaitingView(
            cluster=state.cluster,
            position=0,
            experiments_ahead=0,
            runs_ahead=number,
            reason=_turn_reason(state, number),
            starts=_span_view(None if before is None else span(state.now + before[0], before[1], state.now)),
            ends=_span_view(None if through is None else span(state.now + through[0], through[1], state.now)),
            runs=1,
        )
    return found


def _turn_reason(state: QueueState, number: int) -> str:
    if not state.online:
        return f"sent to its cluster, which is {offline(state)}"
    if number == 0:
        return "sent to its cluster, which is starting it"
    return f"sent to its cluster, takes its turn after {plural(number, 'run')} of its launch"


def _end(start: Span | None, predicted: Prediction | None, at: float) -> Span | None:
    took = total([(1, predicted)])
    return None if start is None or took is None else start.plus(took, at)


def waiting_view(
    outlook: Outlook, host: str, ahead: int, start: Span | None, end: Span | None, reason: str, runs: int = 0
) -> WaitingView:
    """Return the response about what waits; `runs`: how many of the entry, 0 for all."""
    return WaitingView(
        cluster=host,
        position=outlook.position,
        experiments_ahead=outlook.experiments_ahead,
        runs_ahead=ahead,
        reason=reason,
        starts=_span_view(start),
        ends=_span_view(end),
        runs=runs or outlook.entry.runs,
    )


def _entry(outlook: Outlook, host: str) -> QueueEntryView:
    entry = outlook.entry
    took = total([(batch.runs, batch.predicted) for batch in entry.batches])
    likenesses = [batch.predicted for batch in entry.batches if batch.predicted is not None]
    plain = waiting_view(outlook, host, outlook.runs_ahead, outlook.start, outlook.end, outlook.reason)
    return QueueEntryView(
        **plain.model_dump(),
        experiment=entry.experiment,
        number=entry.number,
        name=entry.name,
        user=entry.user,
        priority=entry.priority,
        begun=entry.begun,
        ranks=entry.ranks,
        run_seconds=None if took is None else took[0],
        likeness=basis(likenesses) if took is not None else None,
        submitted_at=datetime.fromtimestamp(entry.submitted_at, UTC),
    )


def basis(predictions: Sequence[Prediction]) -> str:
    """Return what predictions are made from: of several, the coarsest likeness."""
    coarsest = max(predictions, key=lambda each: each.error / each.seconds)
    return f"{plural(coarsest.runs, 'run')} of {coarsest.likeness}"


def _active(each: Active, at: float) -> ActiveView:
    ends = None if each.left is None else span(at + each.left[0], each.left[1], at)
    return ActiveView(
        experiment=each.experiment,
        number=each.number,
        user=each.user,
        runs=each.runs,
        sent=each.sent,
        ranks=each.ranks,
        ends=_span_view(ends),
    )


def _span_view(told: Span | None) -> SpanView | None:
    if told is None:
        return None
    return SpanView(**{name: datetime.fromtimestamp(getattr(told, name), UTC) for name in SpanView.model_fields})
