"""Calibrations in the queue: a cluster with one starts no run, and calibrates when its last run has ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from hooke.spec.calibrating import CalibrationOrder
from hooke.spec.orders import OrderKind
from sqlalchemy import ColumnElement, Select, exists, func, or_, select, update
from sqlalchemy.orm import Session

from hooke_api.models import AgentOrder, Cluster, Run, StoredCalibration, database_time
from hooke_api.queue.prediction import Prediction, remaining
from hooke_api.queue.state import Calibrating
from hooke_api.scheduling import machines
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.scheduling.overlaps import neighbours
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce, wake_scheduler

OPEN = ("queued", "running", "cancelling")
"""States of a calibration that has not ended."""
LIMIT = timedelta(seconds=600)
"""After this time without a word of its agent a calibration has failed: the agent ended, or got no order."""
CANCEL_LIMIT = timedelta(seconds=180)
"""After this time without an answer a cancelled calibration has ended, whatever its agent does."""
USUAL = Prediction(60.0, spread=30.0)
"""What a calibration takes on a cluster that has not been calibrated."""
_OTHER_TIMES = 0.3
"""Relative standard deviation between calibrations of a cluster, which differ in ranks and workloads."""


def open_on(session: Session, cluster: str, at: datetime) -> Calibrating | None:
    """Return the calibration of a cluster that has not ended, and what it still takes; None: there is none."""
    took = StoredCalibration.document["took"].as_float().label("took")
    of_cluster = (
        select(StoredCalibration.state, StoredCalibration.created_at, took)
        .where(StoredCalibration.cluster == cluster)
        .order_by(StoredCalibration.id.desc())
        .limit(1)
    )
    row = session.execute(of_cluster.where(StoredCalibration.state.in_(OPEN))).first()
    if row is None:
        return None
    before = session.execute(of_cluster.where(StoredCalibration.state == "succeeded")).first()
    usual = USUAL
    if before is not None:
        seconds = max(1.0, before.took)
        usual = Prediction(seconds, spread=_OTHER_TIMES * seconds)
    elapsed = 0.0 if row.state == "queued" else (at - _began(session, cluster, row.created_at)).total_seconds()
    left = remaining(usual, elapsed)
    return Calibrating(row.state == "running", (left.seconds, left.spread))


def _began(session: Session, cluster: str, asked: datetime) -> datetime:
    """Return when a calibration began that was asked for then: at once, or at the end of the cluster's last run.

    No run of the cluster starts meanwhile. `sent_at` is no begin: it is when its agent was last heard of.
    """
    last = session.scalar(select(func.max(Run.finished_at)).where(Run.host == cluster))
    return asked if last is None else max(asked, last)


def due(database: Database, silence: timedelta) -> list[tuple[str, str]]:
    """Return cluster and id of the queued calibrations that may begin.

    Their clusters are online, and the machines of these have no active run. `silence`: after which a cluster
    counts as offline.
    """
    with database.read() as session:
        at = database_time(session)
        seen_since = at - silence
        taken = exists().where(Run.host == StoredCalibration.cluster, Run.state.in_(ACTIVE))
        query = (
            select(StoredCalibration)
            .join(Cluster, Cluster.name == StoredCalibration.cluster)
            .where(StoredCalibration.state == "queued", Cluster.seen_at >= seen_since, ~taken)
            .order_by(StoredCalibration.id)
        )
        rows = session.scalars(query).all()
        taken_by = machines.occupied(session, at, silence, queued=False) if rows else {}
        shared = neighbours(session) if rows else {}
        found: dict[str, str] = {}
        for row in rows:
            if row.cluster not in taken_by and not shared.get(row.cluster, set()) & found.keys():
                found[row.cluster] = row.id
        return list(found.items())


def unclaimed(database: Database, silence: timedelta, again: timedelta) -> list[tuple[str, str]]:
    """Return the calibrations that were sent, and whose agent has neither claimed an order nor told anything.

    `again`: after which an order is sent again. The time in which they have to be heard of does not begin anew.
    """
    with database.read() as session:
        at = database_time(session)
        query = (
            select(StoredCalibration.cluster, StoredCalibration.id)
            .join(Cluster, Cluster.name == StoredCalibration.cluster)
            .where(
                StoredCalibration.state == "running",
                StoredCalibration.why == "",
                Cluster.seen_at >= at - silence,
                _unanswered("calibrate", at - again),
            )
        )
        return [(cluster, id) for cluster, id in session.execute(query)]


def _unanswered(kind: OrderKind, since: datetime) -> ColumnElement[bool]:
    """Return the condition that no order of a kind about a calibration was claimed, and none sent since then."""
    mine = (AgentOrder.subject == StoredCalibration.id) & (AgentOrder.kind == kind)
    return ~exists().where(mine, or_(AgentOrder.claimed_at.is_not(None), AgentOrder.made_at >= since))


def take(session: Session, id: str, cluster: str, at: datetime) -> CalibrationOrder | None:
    """Return what an agent is to do for a calibration, which is running from now on; None if it is not wanted.

    One that should have been heard of by now is not, although the scheduler may not have ended it yet. The time in
    which it has to be heard of again begins now: the agent is there.
    """
    row = session.get(StoredCalibration, id, with_for_update=True)
    if row is None or row.cluster != cluster or row.state not in ("queued", "running"):
        return None
    if row.state == "running" and row.sent_at is not None and row.sent_at < at - LIMIT:
        return None
    row.state, row.sent_at = "running", at  # queued: claimed before the scheduler has noted that it was sent
    return CalibrationOrder(id=row.id, workers=row.workers, workloads=row.workloads, precisions=row.precisions)


def sent(database: Database, id: str) -> None:
    """Note that the order was sent; the result may have arrived before."""
    with database.write() as session:
        query = update(StoredCalibration).where(StoredCalibration.id == id, StoredCalibration.state == "queued")
        session.execute(query.values(state="running", sent_at=database_time(session)))
        announce(session, "clusters", {})


def cancel(session: Session, row: StoredCalibration) -> None:
    """End a calibration that waits; ask the agent to end one that measures, at the scheduler's next pass."""
    if row.state == "queued":
        row.state, row.why, row.ended_at = "cancelled", "cancelled before it started", database_time(session)
    elif row.state == "running":
        row.state, row.sent_at = "cancelling", None
    announce(session, "clusters", {})
    wake_scheduler(session)


def to_cancel(database: Database, silence: timedelta, again: timedelta) -> list[tuple[str, str]]:
    """Return cluster and id of the calibrations whose agent has not been asked to end them, or has not heard it.

    `silence`, `again`: as for `unclaimed`.
    """
    with database.read() as session:
        at = database_time(session)
        unheard = (Cluster.seen_at >= at - silence) & _unanswered("cancel_calibration", at - again)
        query = (
            select(StoredCalibration.cluster, StoredCalibration.id)
            .join(Cluster, Cluster.name == StoredCalibration.cluster)
            .where(StoredCalibration.state == "cancelling", or_(StoredCalibration.sent_at.is_(None), unheard))
        )
        return [(cluster, id) for cluster, id in session.execute(query)]


def asked_to_end(database: Database, id: str) -> None:
    """Note that the agent was asked to end a calibration; the time in which it must answer begins once."""
    with database.write() as session:
        query = update(StoredCalibration).where(
            StoredCalibration.id == id,
            StoredCalibration.state == "cancelling",
            StoredCalibration.sent_at.is_(None),
        )
        session.execute(query.values(sent_at=database_time(session)))


def news(session: Session, row: StoredCalibration, doing: str) -> None:
    """Store what is done of a calibration that has not ended: its agent is there."""
    if row.state == "running":
        row.sent_at = database_time(session)
    if row.why != doing:
        row.why = doing
        announce(session, "clusters", {})


def _overdue(at: datetime) -> Select[StoredCalibration]:
    measuring = (StoredCalibration.state == "running") & (StoredCalibration.sent_at < at - LIMIT)
    ending = (StoredCalibration.state == "cancelling") & (StoredCalibration.sent_at < at - CANCEL_LIMIT)
    return select(StoredCalibration).where(measuring | ending)


def expire(database: Database) -> None:
    """End calibrations of which nothing has been heard in time."""
    with database.read() as session:
        overdue = _overdue(database_time(session))
        if session.scalars(overdue.limit(1)).first() is None:
            return
    with database.write() as session:
        for row in session.scalars(overdue.with_for_update()).all():
            limit = LIMIT if row.state == "running" else CANCEL_LIMIT
            end(session, row, None, f"the agent sent no result within {limit.total_seconds():.0f} s")


def end(session: Session, row: StoredCalibration, document: dict[str, object] | None, why: str = "") -> None:
    """Store the result of a calibration; the cluster's runs go on."""
    failed = "cancelled" if row.state == "cancelling" else "failed"
    row.state = failed if document is None else "succeeded"
    row.document, row.why, row.ended_at = document, why, database_time(session)
    announce(session, "clusters", {})
    wake_scheduler(session)
