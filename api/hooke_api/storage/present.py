"""Experiments and runs that are not deleted: what is deleted is hidden everywhere, from one place."""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.models import Experiment, Run


def present_experiment(session: Session, experiment_id: str) -> Experiment:
    """Return an experiment. Raises ResourceNotFound, also for one that is deleted, with how to restore it."""
    found = session.get(Experiment, experiment_id)
    if found is None:
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
    """Return the condition that the experiment of a run is not deleted."""
    return ~exists().where(Experiment.id == Run.experiment_id, Experiment.deleted_at.is_not(None))
