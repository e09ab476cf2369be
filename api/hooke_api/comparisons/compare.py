"""Rows of several experiments side by side: figures, settings in which they differ, and contrasts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooke.comparison.cells import Cell
from hooke.comparison.contrasts import Contrast, Positions, Side, against, between_clusters, contrasts
from hooke.comparison.effort import Effort, of_trials
from hooke.comparison.figures import RunFigures
from hooke.comparison.report import Report, Row, report
from hooke.comparison.wording import describe_target
from hooke.errors import Fault
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Invalid, ResourceNotFound
from hooke_api.comparisons.compare_schemas import (
    ComparedExperiment,
    ComparedRow,
    ComparedRows,
    ComparedRun,
    ContrastView,
)
from hooke_api.comparisons.entries import in_words
from hooke_api.comparisons.extended import extended, made_by
from hooke_api.comparisons.figures import reported_runs
from hooke_api.comparisons.run_settings import conditions, flat_settings, setting, settings_of
from hooke_api.comparisons.selection import Place, Selection, chosen, parse
from hooke_api.comparisons.service import effort_of, row_view, speed_up_view
from hooke_api.comparisons.single import Measured, experiment_of_run, single_run
from hooke_api.models import Experiment, Run
from hooke_api.storage.colors import shown
from hooke_api.storage.present import present_experiment
from hooke_api.storage.reach import in_reach

MOST_EXPERIMENTS = 20
MOST_ROWS = 200
MOST_CONTRASTS = 200


def answer_compare(session: Session, asked: Sequence[str], reference: str | None) -> ComparedRows:
    """Return the rows that are asked for. `reference`: the row that all others are contrasted with, if any.

    Raises ResourceNotFound for an unknown experiment, and Invalid for a text that names no row, or too many.
    """
    selections = [parse(text, f"query/rows/{i}") for i, text in enumerate(asked)]
    parts = _parts(session, selections)
    rows = [row for part in parts for row in part.rows]
    if len(rows) > MOST_ROWS:
        why = f"these are {len(rows)} rows, but at most {MOST_ROWS} are compared: select clusters or variants"
        raise Invalid(why, [Fault("query/rows", why)])
    sides = [row.side for row in rows]
    positions = _positions(session, parts, sides, reference)
    many = len(positions) > MOST_CONTRASTS
    tasks = list(dict.fromkeys(row.task for row in rows))
    return ComparedRows(
        experiments=[part.view() for part in parts],
        tasks=[next(part.task for part in parts for row in part.rows if row.task == task) for task in tasks],
        rows=[row.view(tasks.index(row.task)) for row in rows],
        settings=settings_of([row.settings for row in rows]),
        contrasts=[] if many else [_contrast(each) for each in contrasts(sides, positions)],
        note=_too_many(len(positions)) if many else None,
    )


@dataclass(frozen=True)
class _Row:
    """One chosen row, with the document that its runs share."""

    experiment: Experiment
    row: Row
    side: Side
    settings: Mapping[str, Any]
    task: str
    """What it has to learn, as JSON: workload with all parameters, and target."""
    run: ComparedRun | None

    @property
    def place(self) -> Place:
        return self.row.first.cluster, self.row.first.workers, self.row.first.variant

    def view(self, task: int) -> ComparedRow:
        own = dict(row_view(self.row)) | {"experiment": self.experiment.id, "number": self.experiment.number}
        return ComparedRow(**own, task=task, run=self.run)


@dataclass(frozen=True)
class _Part:
    """What is compared of one experiment."""

    experiment: Experiment
    spec: ExperimentSpec
    found: Report
    extended: str | None
    complete: bool
    rows: list[_Row]

    @property
    def task(self) -> str:
        target = f", {describe_target(self.spec.target)}" if self.spec.target else ""
        return in_words(self.spec.workload) + target

    def view(self) -> ComparedExperiment:
        firsts = [row.first for row in self.found.rows]
        colors = dict(
            zip(self.experiment.variants, shown(self.experiment.variants, self.experiment.colors), strict=True)
        )
        names = [name for name in colors if any(run.variant == name for run in firsts)]
        return ComparedExperiment(
            id=self.experiment.id,
            number=self.experiment.number,
            name=self.experiment.name,
            workload=in_words(self.spec.workload),
            target=describe_target(self.spec.target) if self.spec.target else None,
            tuning=self.found.tuning,
            note=" ".join(filter(None, (self.found.note, self.extended))) or None,
            complete=self.complete,
            clusters=list(dict.fromkeys(run.cluster for run in firsts)),
            workers=list(dict.fromkeys(run.workers for run in firsts)),
            variants=names,
            colors=[colors[name] for name in names],
        )


def _parts(session: Session, selections: Sequence[Selection]) -> list[_Part]:
    """Return the experiments of the selections, each once, with the chosen rows."""
    experiments: dict[str, Experiment] = {}
    of_experiment: dict[str, list[Selection]] = defaultdict(list)
    for each in selections:
        experiment = experiment_of_run(session, each.run) if each.run else _experiment(session, each.experiment)
        experiments[experiment.id] = experiment
        of_experiment[experiment.id].append(each)
    if len(experiments) > MOST_EXPERIMENTS:
        why = f"these are {len(experiments)} experiments, but at most {MOST_EXPERIMENTS} are compared"
        raise Invalid(why, [Fault("query/rows", why)])
    return [_part(session, experiments[id], mine) for id, mine in of_experiment.items()]


def _experiment(session: Session, named: str) -> Experiment:
    """Return an experiment that is not deleted by its id or its number. Raises ResourceNotFound."""
    if not named.isdigit():
        return present_experiment(session, named)
    mine = select(Experiment.id).where(in_reach(Experiment.project_id), Experiment.number == int(named))
    found = session.scalars(mine).first()
    if found is None:
        raise ResourceNotFound(f"no experiment has the number {named}")
    return present_experiment(session, found)


def _part(session: Session, experiment: Experiment, selections: Sequence[Selection]) -> _Part:
    spec = ExperimentSpec.model_validate(experiment.spec)
    runs = reported_runs(session, experiment.id)
    effort = effort_of(session, experiment, spec, measured=bool(runs))
    found = report(runs, experiment.baseline, spec.target, effort)
    cells: dict[Place, Cell] = {}
    for run in runs:
        cells.setdefault(_place(run), Cell(run.variant, [])).runs.append(run)
    rows = {_place(row.first): row for row in found.rows}
    documents, makers = _documents(session, experiment.id), _makers(session, experiment.id)
    measured = [
        Measured(rows[each], cells[each], documents[each], makers[each]) for each in chosen(selections, rows)
    ]
    singles = dict.fromkeys(each.run for each in selections if each.run)
    measured += [single_run(session, id, experiment.baseline, spec.target, effort) for id in singles]
    return _Part(
        experiment,
        spec,
        found,
        extended(session, experiment),
        complete=not experiment.planning and all(run.state in TERMINAL for run in runs),
        rows=[_row(experiment, spec, effort, each) for each in measured],
    )


def _place(run: RunFigures) -> Place:
    return run.cluster, run.workers, run.variant


def _documents(session: Session, experiment_id: str) -> dict[Place, dict[str, Any]]:
    """Return the specification of the first reported run of each row: runs of a row differ in their seeds only."""
    of_row = (Run.cluster, Run.workers, Run.variant)
    mine = (Run.experiment_id == experiment_id, Run.rung.is_(None))
    first = select(func.min(Run.number)).where(*mine).group_by(*of_row)
    query = select(*of_row, Run.spec).where(*mine, Run.number.in_(first))
    return {(cluster, workers, variant): spec for cluster, workers, variant, spec in session.execute(query)}


def _makers(session: Session, experiment_id: str) -> dict[Place, dict[str, frozenset[str]]]:
    """Return by what the reported runs of each row were made, as they told."""
    query = select(Run.cluster, Run.workers, Run.variant, Run.simulated, Run.hardware, Run.versions)
    found: dict[Place, dict[str, frozenset[str]]] = defaultdict(dict)
    mine = (Run.experiment_id == experiment_id, Run.rung.is_(None))
    for cluster, workers, variant, *told in session.execute(query.where(*mine)):
        row = found[cluster, workers, variant]
        for name, value in made_by(*told).items():
            row[name] = row.get(name, frozenset()) | {value}
    return dict(found)


def _row(experiment: Experiment, spec: ExperimentSpec, effort: Effort, measured: Measured) -> _Row:
    document, run = measured.document, measured.run
    chosen_by_trials = effort.tuning and not (run and run.trial)
    side = Side(
        experiment=experiment.number,
        cell=measured.cell,
        place=_measured_at(experiment, measured.row, document),
        conditions=conditions(spec, document),
        setting=setting(document),
        has_target=spec.target is not None,
        trials=effort.trials_of(measured.cell) if chosen_by_trials else None,
        of_trials=of_trials(spec),
        refuted=effort.refuted_setting(measured.cell) if chosen_by_trials else None,
        made_by=measured.makers,
        number=run.number if run else None,
    )
    task = json.dumps([document.get("workload"), document.get("target")], sort_keys=True)
    return _Row(experiment, measured.row, side, flat_settings(spec, document), task, run)


def _measured_at(experiment: Experiment, row: Row, document: Mapping[str, Any]) -> str:
    """Return what the cluster of a row is: the same text for the same kinds of workers, constants and server."""
    simulated = row.first.simulated
    kinds = document.get("virtual") if simulated else document.get("groups")
    return json.dumps([row.first.cluster, simulated, kinds, _server(experiment, row)], sort_keys=True)


def _server(experiment: Experiment, row: Row) -> str | None:
    """Return which server's cluster a row was measured on; None: this one's, or a simulation, which has none."""
    if experiment.origin is None or row.first.simulated:
        return None
    server: str = experiment.origin["from"]["server"]
    return server


def _positions(
    session: Session, parts: Sequence[_Part], sides: Sequence[Side], reference: str | None
) -> list[Positions]:
    """Return which rows are contrasted. Raises Invalid for a reference that is not one of the rows."""
    if reference is None:
        return between_clusters(sides)
    selection = parse(reference, "query/against")
    rows: Iterator[_Row] = (row for part in parts for row in part.rows)
    if selection.run:
        found = [i for i, row in enumerate(rows) if row.run and row.run.id == selection.run]
    else:
        mine = _experiment(session, selection.experiment)
        found = [
            i
            for i, row in enumerate(rows)
            if row.run is None and row.experiment is mine and selection.has(row.place)
        ]
    if len(found) != 1:
        why = f"{reference!r} names {len(found) or 'none'} of the compared rows, and should name one"
        raise Invalid(why, [Fault("query/against", why)])
    return against(sides, found[0])


def _too_many(number: int) -> str:
    return (
        f"These rows make {number} pairs of clusters, and at most {MOST_CONTRASTS} are compared at a time: choose "
        "fewer rows, or one row to compare the others with."
    )


def _contrast(found: Contrast) -> ContrastView:
    return ContrastView(
        first=found.first,
        second=found.second,
        speed_up=None if found.verdict is None else speed_up_view(found.verdict, found.sentence),
        sentence=found.sentence,
    )
