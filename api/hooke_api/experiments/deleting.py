"""Deletion with an undo period, by users and by retention; `hooke_api.experiments.purging` removes the rows."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from hooke_api.base.cursors import Cursors
from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.experiments.schemas import DeletedExperiment, DeletedPage
from hooke_api.models import Experiment, database_time
from hooke_api.planning.trials import continued_id
from hooke_api.storage.outbox import announce
from hooke_api.storage.present import deleted, present_experiment
from hooke_api.storage.reach import in_reach
from hooke_api.storage.trail import tell

LISTING = "deleted experiments"
RETENTION = "retention"
"""Who deletes what has ended long ago."""


def delete(session: Session, experiment_id: str, who: str, undo: timedelta) -> DeletedExperiment:
    """Hide an experiment at once; it can be restored for `undo`. No effect on one that is deleted.

    Raises ResourceNotFound, and Conflict with the way out while it has not ended, is protected, or is continued by
    another one, whose tuning needs its trials.
    """
    experiment = _locked(session, experiment_id)
    if experiment.deleted_at is None:
        _check_deletable(session, experiment)
        at = database_time(session)
        _hide(session, experiment, who, at, undo)
        about = {"number": experiment.number, "name": experiment.name}
        tell(session, before=about, after={"deleted": True, "until": (at + undo).isoformat()})
    return DeletedExperiment.model_validate(experiment)


def _locked(session: Session, experiment_id: str) -> Experiment:
    found = session.get(Experiment, experiment_id, with_for_update={"key_share": True}, populate_existing=True)
    if found is None:
        raise ResourceNotFound(f"no experiment has the id {experiment_id}")
    return found


def _check_deletable(session: Session, experiment: Experiment) -> None:
    number = experiment.number
    if experiment.finished_at is None:
        raise Conflict(
            f"experiment {number} has not ended: cancel it (`hooke runs cancel --experiment {number}`, or "
            f"POST /api/v1/experiments/{experiment.id}/cancel), and "
            "delete it when its runs have ended; a run that is lost can be abandoned"
        )
    if experiment.protected:
        raise Conflict(f"experiment {number} is protected: set `protected` to false first")
    others = select(Experiment.number).where(
        continued_id() == experiment.id, Experiment.deleted_at.is_(None), Experiment.id != experiment.id
    )
    if (other := session.scalars(others.order_by(Experiment.number).limit(1)).first()) is not None:
        raise Conflict(f"experiment {other} continues the tuning of experiment {number}: delete that one first")


def _hide(session: Session, experiment: Experiment, who: str, at: datetime, undo: timedelta) -> None:
    experiment.deleted_at, experiment.deleted_by, experiment.purge_at = at, who, at + undo
    session.flush()
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)


def begun(experiment: Experiment) -> bool:
    """Return whether the purge of a deleted experiment has begun: the purger sets one time to the other."""
    purge_at, deleted_at = experiment.purge_at, experiment.deleted_at
    return purge_at is None or deleted_at is None or purge_at <= deleted_at


def restore(session: Session, experiment_id: str) -> Experiment:
    """Show a deleted experiment again; no effect on one that is not deleted.

    It can be until the purge begins, whatever the clock says. Raises ResourceNotFound, and Conflict if it is too
    late, or while an experiment that it continues is deleted.
    """
    experiment = _locked(session, experiment_id)
    if experiment.deleted_at is None:
        return experiment
    if begun(experiment):
        raise Conflict(f"experiment {experiment.number} is being purged: it can no longer be restored")
    needed = (experiment.spec.get("tuning") or {}).get("continues")
    earlier = session.get(Experiment, needed) if needed else None
    if earlier is not None and earlier.deleted_at is not None:
        raise Conflict(f"experiment {experiment.number} continues another one: {deleted(earlier)}")
    tell(session, before={"deleted": True, "by": experiment.deleted_by}, after={"deleted": False})
    experiment.deleted_at = experiment.deleted_by = experiment.purge_at = None
    experiment.restored_at = database_time(session)
    session.flush()
    announce(session, "experiment", {"id": experiment.id}, experiment_id=experiment.id)
    return present_experiment(session, experiment_id)


def page(session: Session, cursors: Cursors, limit: int, cursor: str | None) -> DeletedPage:
    """Return one page of what is deleted and not yet purged, the newest experiment first."""
    query = select(Experiment).where(in_reach(Experiment.project_id), Experiment.deleted_at.is_not(None))
    if cursor:
        query = query.where(Experiment.number < int(cursors.open(LISTING, cursor)))
    rows = session.scalars(query.order_by(Experiment.number.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    return DeletedPage(
        items=[DeletedExperiment.model_validate(row) for row in shown],
        next_cursor=cursors.seal(LISTING, shown[-1].number) if len(rows) > limit else None,
    )


def retire(session: Session, project: str, before: datetime, undo: timedelta, limit: int) -> list[int]:
    """Delete up to `limit` experiments of a project that ended before a time; return their numbers.

    The time of an imported one counts from its import, that of a restored one from then on. Those that are starred
    or protected stay, and those that another one continues.
    """
    old = select(Experiment).where(
        Experiment.project_id == project,
        Experiment.finished_at < before,
        or_(Experiment.imported_at.is_(None), Experiment.imported_at < before),
        or_(Experiment.restored_at.is_(None), Experiment.restored_at < before),
        Experiment.deleted_at.is_(None),
        ~Experiment.starred,
        ~Experiment.protected,
    )
    if session.scalars(old.with_only_columns(Experiment.id).limit(1)).first() is None:
        return []
    needed = set(session.scalars(select(continued_id()).where(Experiment.deleted_at.is_(None)).distinct())) - {
        None
    }
    rows = session.scalars(
        old.where(Experiment.id.not_in(needed))
        .order_by(Experiment.number)
        .limit(limit)
        .with_for_update(key_share=True)
    ).all()
    at = database_time(session)
    for experiment in rows:
        _hide(session, experiment, RETENTION, at, undo)
    return [experiment.number for experiment in rows]
