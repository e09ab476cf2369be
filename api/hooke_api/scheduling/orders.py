"""Orders to agents: made before they are sent, and claimed by the agent that they are for.

What an order is worth is decided at the claim, by the state of its subjects: one about a run that has ended or was
cancelled, one that is too old, and one for another agent get nothing. So a forged, repeated or delayed message on
the broker makes an agent ask, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from hooke.spec.orders import (
    BrokerOrder,
    Calibrate,
    Cancel,
    CancelCalibration,
    ClaimedOrder,
    Fetch,
    Forget,
    Launch,
    LaunchOrder,
    OrderClaim,
    OrderKind,
    Probe,
    Work,
)
from hooke.spec.states import RunState
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session, undefer

from hooke_api.base.errors import Gone
from hooke_api.base.ids import order_id
from hooke_api.models import AgentOrder, Attempt, Cluster, Removal, Run, StoredCalibration, database_time
from hooke_api.scheduling import attempt_tokens, calibrations, fetches
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.storage.database import Database

LIFE = timedelta(seconds=300)
"""Age from which an order is not carried out; what is still wanted is in a younger one."""
KEPT = timedelta(seconds=900)
"""Age from which an order is deleted; longer than a calibration without news is waited for."""
MOST_CLAIMS = 16
"""Claims of one order, each of which may make tokens: an agent whose requests are answered needs one."""


def attempt_name(run: Run) -> str:
    """Return the subject of orders about the present attempt of a run."""
    return f"{run.id}.{run.attempt}"


def make(session: Session, cluster: str, kind: OrderKind, subjects: list[str]) -> BrokerOrder:
    """Store an order to the present agent of a cluster; return what the broker carries of it.

    `subjects`: of the launch attempts by `attempt_name`, of `cancel` and `probe` one; ids of others.
    """
    place = session.get_one(Cluster, cluster)
    row = AgentOrder(
        id=order_id(),
        kind=kind,
        cluster=cluster,
        agent=place.agent,
        subjects=subjects,
        subject=subjects[0],
        made_at=database_time(session),
        claimed_at=None,
    )
    session.add(row)
    return BrokerOrder(id=row.id, agent=row.agent, made=row.made_at.timestamp())


def find(session: Session, asked: OrderClaim, speaks_for: str | None) -> AgentOrder | None:
    """Return an order, locked, if it is for the agent that asks; None if not, as for one that does not exist.

    `speaks_for`: the cluster that its token is for; None: any.
    """
    row = session.get(AgentOrder, asked.order, with_for_update=True)
    if row is None or speaks_for not in (None, row.cluster) or row.agent != asked.agent:
        return None
    return row


def claim(session: Session, row: AgentOrder) -> ClaimedOrder:
    """Return what an order is about now. Raises Gone with the reason if nothing is left of it.

    Asked again it returns the same, with other tokens of attempts that have not reported.
    """
    at = database_time(session)
    cluster = session.get(Cluster, row.cluster)
    if cluster is None or cluster.agent != row.agent:
        raise Gone(f"order {row.id} is withdrawn: the cluster {row.cluster!r} has another agent, or none")
    if at - row.made_at > LIFE:
        raise Gone(f"order {row.id} has expired: what is still wanted is sent again")
    if row.claims >= MOST_CLAIMS:
        raise Gone(f"order {row.id} was claimed {row.claims} times: what is still wanted is sent again")
    work = _WORK[row.kind](session, row, at)
    if work is None:
        raise Gone(f"order {row.id} ({row.kind.replace('_', ' ')} {row.subject}) is not wanted any more")
    row.claims += 1
    row.claimed_at = row.claimed_at or at
    return ClaimedOrder(id=row.id, work=work)


def _launch(session: Session, row: AgentOrder, at: datetime) -> Launch | None:
    """Return the attempts of an order of which nothing has been heard, with a new token for each."""
    numbers = dict(map(_attempt, row.subjects))
    query = (
        select(Run)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(
            Run.id.in_(list(numbers)),
            Run.host == row.cluster,
            Run.state == RunState.DISPATCHED,
            ~Run.cancel_requested,
            Attempt.leased_until.is_(None),
        )
        .order_by(Run.id)
        .options(undefer(Run.spec))
        .with_for_update()  # of both: its first report waits, or is seen
    )
    runs = {run.id: run for run in session.scalars(query)}
    wanted = [runs[run] for run, number in numbers.items() if run in runs and runs[run].attempt == number]
    if not wanted:
        return None
    launches = [
        LaunchOrder(
            run=run.id,
            attempt=run.attempt,
            token=attempt_tokens.make(session, run.id, run.attempt, at),
            spec=run.spec,
            resume_from=run.resume_from,
        )
        for run in wanted
    ]
    return Launch(attempts=launches)


def _cancel(session: Session, row: AgentOrder, _at: datetime) -> Cancel | None:
    found = _present(session, row)
    if found is None or not found[0].cancel_requested:
        return None
    return Cancel(run=found[0].id, attempt=found[0].attempt)


def _probe(session: Session, row: AgentOrder, _at: datetime) -> Probe | None:
    """Return which attempt to look for: an agent that finds nothing of it declares it dead forever."""
    found = _present(session, row)
    if found is None:
        return None
    run, attempt = found
    unheard = run.cancel_requested and attempt.leased_until is None
    return Probe(run=run.id, attempt=run.attempt) if run.state is RunState.LOST or unheard else None


def _present(session: Session, row: AgentOrder) -> tuple[Run, Attempt] | None:
    """Return the attempt that an order is about, if it is the present one of an active run on the cluster."""
    name, number = _attempt(row.subject)
    run = session.get(Run, name, with_for_update=True)
    attempt = session.get(Attempt, (name, number))
    if run is None or attempt is None or run.attempt != number or run.host != row.cluster:
        return None
    return (run, attempt) if run.state in ACTIVE else None


def _calibrate(session: Session, row: AgentOrder, at: datetime) -> Calibrate | None:
    order = calibrations.take(session, row.subject, row.cluster, at)
    return None if order is None else Calibrate(calibration=order)


def _cancel_calibration(session: Session, row: AgentOrder, _at: datetime) -> CancelCalibration | None:
    found = session.get(StoredCalibration, row.subject)
    if found is None or found.cluster != row.cluster or found.state != "cancelling":
        return None
    return CancelCalibration(calibration=found.id)


def _forget(session: Session, row: AgentOrder, _at: datetime) -> Forget | None:
    query = select(Removal.run_id).where(Removal.run_id.in_(row.subjects), Removal.cluster == row.cluster)
    runs = sorted(session.scalars(query))
    return Forget(runs=runs) if runs else None


def _fetch(session: Session, row: AgentOrder, _at: datetime) -> Fetch | None:
    order = fetches.take(session, row.subject, row.cluster)
    return None if order is None else Fetch(fetch=order)


_WORK: Mapping[str, Callable[[Session, AgentOrder, datetime], Work | None]] = {
    "launch": _launch,
    "cancel": _cancel,
    "probe": _probe,
    "calibrate": _calibrate,
    "cancel_calibration": _cancel_calibration,
    "forget": _forget,
    "fetch": _fetch,
}
"""Kind of an order -> what is left of it: None if it is not wanted any more."""


def _attempt(subject: str) -> tuple[str, int]:
    run, _, number = subject.rpartition(".")
    return run, int(number)


def delete_old(database: Database) -> None:
    """Delete orders that nobody asks for any more."""
    with database.read() as session:
        at = database_time(session)
        oldest = session.scalar(select(func.min(AgentOrder.made_at)))
    if oldest is not None and oldest < at - KEPT:
        with database.write() as session:
            session.execute(delete(AgentOrder).where(AgentOrder.made_at < at - KEPT))
