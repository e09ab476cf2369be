"""Moves experiments between projects."""

from __future__ import annotations

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict
from hooke_api.models import Experiment, Run
from hooke_api.planning.trials import continued_id
from hooke_api.storage.outbox import announce
from hooke_api.storage.present import present_experiment
from hooke_api.storage.reach import names_of, open_project
from hooke_api.storage.trail import tell


def move(session: Session, experiment_id: str, project: str) -> Experiment:
    """Put an experiment into another project, whose members reach it from now on; no effect if it is there.

    Raises ResourceNotFound, Forbidden and Conflict as `open_project`, and Conflict for one that continues another
    one or is continued, whose trials stay together, and where the project has the same imported experiment. The
    caller has looked before whether the project has room.
    """
    into = open_project(session, project, counted=False)
    experiment = present_experiment(session, experiment_id)
    if experiment.project_id == into:
        return experiment
    _move_runs(session, experiment_id, into)  # a run that ends locks its row before: in this order, no deadlock
    session.refresh(experiment, with_for_update=True)
    present_experiment(session, experiment_id)  # it may have been deleted or moved meanwhile
    before = experiment.project_id
    _check_alone(session, experiment)
    if experiment.bundle_sha256 is not None:
        same = select(Experiment.id).where(
            Experiment.project_id == into, Experiment.bundle_sha256 == experiment.bundle_sha256
        )
        if session.scalars(same).first() is not None:
            raise Conflict(f"the project {project} has this imported experiment already, perhaps deleted")
    tell(session, before={"project": names_of(session, [before])[before]}, after={"project": project})
    experiment.project_id = into
    session.flush()
    _move_runs(session, experiment_id, into)  # those that were planned meanwhile
    announce(session, "experiment", {"id": experiment_id}, experiment_id=experiment_id)
    return experiment


def _move_runs(session: Session, experiment_id: str, project: str) -> None:
    """Note the project at the runs; what is reached is decided by that of their experiment alone."""
    others = update(Run).where(Run.experiment_id == experiment_id, Run.project_id != project)
    session.execute(others.values(project_id=project).execution_options(synchronize_session=False))


def _check_alone(session: Session, experiment: Experiment) -> None:
    needed = (experiment.spec.get("tuning") or {}).get("continues")
    others = select(Experiment.id).where(or_(continued_id() == experiment.id, Experiment.id == needed))
    if session.scalars(others.limit(1)).first() is not None:
        raise Conflict(
            f"experiment {experiment.number} continues the tuning of another one, or is continued: they stay in "
            "one project, because the trials of one are shown with the other"
        )
