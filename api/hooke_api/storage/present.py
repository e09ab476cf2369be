"""Experiments and runs that exist for the sender of a request, from one place.

Hidden everywhere is what is deleted, and what is in a project that the sender does not reach.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, exists
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.base.reach import reaches
from hooke_api.models import Experiment, Run
from hooke_api.storage.reach import run_in_reach


def present_experiment(session: Session, experiment_id: str) -> Experiment:
    """Return an experiment. Raises ResourceNotFound, also for one that is deleted, with how to restore it."""
    found = session.get(Experiment, experiment_id)
    if found is None or not reaches(found.project_id):
        raise ResourceNotFound(f"no experiment has the id {experiment_id}")
    if found.deleted_at is not None:
        raise ResourceNotFound(deleted(found))
    return found


def deleted(experiment: Experiment) -> str:
    """Return the sentence that says that an experiment is deleted, and how to get it back."""
    when = f"{experiment.deleted_at:%Y-%m-%d %H:%M} UTC" if experiment.deleted_at else ""
    until = f"{experiment.purge_at:%Y-%m-%d %H:%M} UTC" if experiment.purge_at else ""
    return (
        f"experiment {experiment.number} was deleted by {experiment.deleted_by} at {when}; it can be restored "
        f"until {until}: POST /api/v1/experiments/{experiment.id}/restore, or `hooke experiments restore`"
    )


def check_present(session: Session, run: Run) -> None:
    """Raise ResourceNotFound for a run of a deleted experiment."""
    present_experiment(session, run.experiment_id)


def keep_present(session: Session, run: Run) -> None:
    """Raise Conflict for a run of a deleted experiment, and let nobody delete it until the transaction ends.

    The caller holds the lock on the run's row: runs are always locked before their experiment.
    """
    experiment = session.get(
        Experiment, run.experiment_id, with_for_update={"key_share": True}, populate_existing=True
    )
    if experiment is None or experiment.deleted_at is not None:
        raise Conflict(deleted(experiment) if experiment else f"the experiment of run {run.id} is gone")


def of_present() -> ColumnElement[bool]:
    """Return the condition that the experiment of a run exists for the sender of the present request."""
    deleted_ = exists().where(Experiment.id == Run.experiment_id, Experiment.deleted_at.is_not(None))
    return and_(~deleted_, run_in_reach())
