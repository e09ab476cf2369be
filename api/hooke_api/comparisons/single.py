"""What is measured behind a row of a comparison, and a single run as such a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hooke.comparison.cells import Cell
from hooke.comparison.effort import Effort
from hooke.comparison.report import Row, report
from hooke.spec.specification import Target
from sqlalchemy.orm import Session, undefer

from hooke_api.base.errors import ResourceNotFound
from hooke_api.base.reach import reaches
from hooke_api.comparisons.compare_schemas import ComparedRun
from hooke_api.comparisons.extended import made_by
from hooke_api.comparisons.figures import one_run
from hooke_api.models import Experiment, Run
from hooke_api.storage.present import present_experiment


@dataclass(frozen=True)
class Measured:
    """The runs behind a row, with what was asked of them and by what they were made."""

    row: Row
    cell: Cell
    document: Mapping[str, Any]
    """The specification of one of its runs: they differ in their seeds only."""
    makers: Mapping[str, frozenset[str]]
    """Versions of programs and processors that its runs told, by name."""
    run: ComparedRun | None = None
    """The run, if the row is a single one."""


def experiment_of_run(session: Session, run_id: str) -> Experiment:
    """Return the experiment of a run. Raises ResourceNotFound, also for one that is deleted."""
    run = session.get(Run, run_id)
    experiment = run and session.get(Experiment, run.experiment_id)
    if experiment is None or not reaches(experiment.project_id):
        raise ResourceNotFound(f"no run has the id {run_id}")
    return present_experiment(session, experiment.id)


def single_run(session: Session, run_id: str, baseline: str, target: Target | None, effort: Effort) -> Measured:
    """Return a run that exists as a row of its own; what it is worth as one seed of several is not said there."""
    run = session.get_one(Run, run_id, options=[undefer(Run.spec), undefer(Run.hardware), undefer(Run.versions)])
    figures = one_run(session, run_id)
    told = made_by(run.simulated, run.hardware, run.versions)
    return Measured(
        row=report([figures], baseline, target, Effort(trained=effort.trained)).rows[0],
        cell=Cell(run.variant, [figures]),
        document=run.spec,
        makers={name: frozenset({value}) for name, value in told.items()},
        run=ComparedRun(
            id=run.id, number=run.number, seed=run.seed, trial=None if run.rung is None else run.trial
        ),
    )
