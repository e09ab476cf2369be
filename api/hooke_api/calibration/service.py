"""Calibrations of clusters: requested, received from agents, compared, and found by name."""

from __future__ import annotations

from collections.abc import Sequence

from hooke.calibration.constants import Find
from hooke.calibration.documents import Calibration
from hooke.calibration.drift import told
from hooke.errors import CalibrationError, Fault
from hooke.spec.calibrating import CalibrationReport
from hooke.spec.pointers import faults, pointer
from hooke.spec.specification import ExperimentSpec
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.errors import Conflict, Gone, Invalid, ResourceNotFound
from hooke_api.calibration.schemas import CalibrationList, CalibrationRequest, CalibrationView
from hooke_api.clusters.tokens import AgentCaller
from hooke_api.models import Cluster, StoredCalibration, database_time
from hooke_api.scheduling import calibrations
from hooke_api.scheduling.calibrations import OPEN, end, news
from hooke_api.storage.outbox import announce, wake_scheduler
from hooke_api.storage.trail import tell

SHOWN = 20
"""Number of calibrations in a list."""
HARDWARE = ("cpu", "cpu_generation")
"""Facts that a calibration and an agent tell alike, and without which times mean nothing."""
_USUAL_WORKERS = 8


def request(session: Session, cluster: str, asked: CalibrationRequest, who: str) -> CalibrationView:
    """Queue a calibration. Raises ResourceNotFound, and Conflict while another one has not ended."""
    found = _cluster(session, cluster, lock=True)
    before = select(StoredCalibration).where(
        StoredCalibration.cluster == cluster, StoredCalibration.state.in_(OPEN)
    )
    if (other := session.scalars(before).first()) is not None:
        raise Conflict(f"{cluster} already has a calibration, which is {other.state}: wait until it has ended")
    workers = asked.workers or min(found.slots, _USUAL_WORKERS)
    if workers > found.slots:
        fault = Fault(
            "/workers", f"{cluster} has {found.slots} slots: a rank without its own core would measure the others"
        )
        raise Invalid("this cluster has fewer slots", [fault])
    row = StoredCalibration(
        id=ids.calibration_id(),
        created_by=who,
        cluster=cluster,
        state="queued",
        workers=workers,
        workloads=list(dict.fromkeys(asked.workloads)),
        precisions=list(dict.fromkeys(asked.precisions)),
        document=None,
        created_at=database_time(session),
        sent_at=None,
        ended_at=None,
    )
    session.add(row)
    session.flush()
    after = {"workers": row.workers, "workloads": row.workloads, "precisions": row.precisions}
    tell(session, subject=f"{cluster}/{row.id}", after=after)
    announce(session, "clusters", {})
    wake_scheduler(session)
    return _view(row, None)


def cancel(session: Session, cluster: str, id: str) -> CalibrationView:
    """End a calibration, by its agent if it measures. Raises ResourceNotFound, Conflict if it has ended."""
    row = session.get(StoredCalibration, id, with_for_update=True)
    if row is None or row.cluster != cluster:
        raise ResourceNotFound(f"{cluster} has no calibration {id}")
    if row.state not in OPEN:
        raise Conflict(f"this calibration has ended already: {row.state}")
    before = {"state": row.state}
    calibrations.cancel(session, row)
    tell(session, before=before, after={"state": row.state})
    return _view(row, None)


def receive(session: Session, report: CalibrationReport, who: AgentCaller) -> None:
    """Store an agent's result, or what it does until then; nothing if it has ended.

    Raises ResourceNotFound, Invalid for a wrong document, Forbidden for the token of another cluster, and Gone if
    something is done for one that has ended: runs may start on the cluster.
    """
    row = session.get(StoredCalibration, report.id, with_for_update=True)
    if row is None:
        raise ResourceNotFound(f"no calibration has the id {report.id}")
    who.speaks_for(row.cluster)
    if row.state not in OPEN:
        if report.doing:
            raise Gone(f"calibration {row.id} has ended ({row.state}): stop working on it")
        return
    if report.doing:
        news(session, row, report.doing)
        return
    if report.document is not None:
        try:
            Calibration.model_validate(report.document)
        except ValidationError as error:
            wrong = faults(error, report.document, "document")
            raise Invalid("this is not a hooke.calibration/1 document", wrong) from None
    end(session, row, report.document, report.why)


def listed(session: Session, cluster: str) -> CalibrationList:
    """Return the latest calibrations of a cluster, newest first. Raises ResourceNotFound."""
    _cluster(session, cluster)
    query = select(StoredCalibration).where(StoredCalibration.cluster == cluster)
    rows = list(session.scalars(query.order_by(StoredCalibration.id.desc()).limit(SHOWN)))
    earlier = _latest(session, cluster, rows[-1].id) if rows else None  # what the last one is compared with
    every = [*rows, earlier] if earlier is not None else rows
    return CalibrationList(items=[_view(row, _before(every[i + 1 :])) for i, row in enumerate(rows)])


def latest(session: Session) -> Find:
    """Return the function that finds the latest calibration of a cluster, for `like` in a specification."""

    def find(name: str) -> Calibration:
        row = _latest(session, name)
        if row is not None:
            return Calibration.model_validate(row.document)
        succeeded = StoredCalibration.state == "succeeded"
        known = sorted(session.scalars(select(StoredCalibration.cluster).where(succeeded).distinct()))
        there = f"calibrated are: {', '.join(known)}" if known else "no cluster has been calibrated yet"
        raise CalibrationError(
            f"there is no calibration of a cluster {name!r}; {there}. Make one: POST /api/v1/clusters/{name}/"
            "calibrations, or the cluster's page"
        )

    return find


def outdated(session: Session, spec: ExperimentSpec) -> list[Fault]:
    """Return warnings about `like` in an experiment as it was sent: clusters with other hardware than then."""
    found = []
    for i, cluster in enumerate(spec.clusters):
        like = cluster.virtual.like if cluster.virtual is not None else None
        registered = session.get(Cluster, like) if like else None
        row = _latest(session, like) if like else None
        if registered is None or row is None or row.document is None:
            continue
        then = row.document.get("hardware", {})
        changed = [
            f"{fact.replace('_', ' ')} was {then[fact]} and is {registered.hardware[fact]}"
            for fact in HARDWARE
            if then.get(fact) and registered.hardware.get(fact) not in (None, "", then[fact])
        ]
        if changed:
            why = f"{like} has changed since its calibration: {', '.join(changed)}. Calibrate it again."
            found.append(Fault(pointer("clusters", i, "virtual", "like"), why))
    return found


def _latest(session: Session, cluster: str, before: str | None = None) -> StoredCalibration | None:
    """Return the latest calibration of a cluster that succeeded, or the latest one before that with an id."""
    query = select(StoredCalibration).where(
        StoredCalibration.cluster == cluster, StoredCalibration.state == "succeeded"
    )
    if before is not None:
        query = query.where(StoredCalibration.id < before)
    return session.scalars(query.order_by(StoredCalibration.id.desc()).limit(1)).first()


def _cluster(session: Session, name: str, lock: bool = False) -> Cluster:
    found = session.get(Cluster, name, with_for_update=lock or None)
    if found is None:
        raise ResourceNotFound(f"no cluster is called {name!r}")
    return found


def _before(rows: Sequence[StoredCalibration]) -> StoredCalibration | None:
    return next((row for row in rows if row.state == "succeeded"), None)


def _view(row: StoredCalibration, before: StoredCalibration | None) -> CalibrationView:
    measured = Calibration.model_validate(row.document) if row.document else None
    earlier = Calibration.model_validate(before.document) if before is not None else None
    return CalibrationView.model_validate(
        {
            "id": row.id,
            "cluster": row.cluster,
            "state": row.state,
            "workers": row.workers,
            "workloads": row.workloads,
            "created_at": row.created_at,
            "ended_at": row.ended_at,
            "why": row.why,
            "calibration": measured,
            "drift": told(earlier, measured) if measured and earlier else [],
        }
    )
