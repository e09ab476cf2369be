"""Names, tags, notes and marks of experiments, and the fields by which lists are filtered."""

from __future__ import annotations

import re
from collections.abc import Collection

from hooke.errors import Fault
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.base.errors import Invalid, PreconditionFailed
from hooke_api.experiments.schemas import ExperimentChange
from hooke_api.filters.fields import FIELDS
from hooke_api.filters.runs import RUN_FIELDS
from hooke_api.filters.views import FilterFieldView, FilterLanguage
from hooke_api.models import CatalogueEntry, Cluster, Experiment, ExperimentTag, Project
from hooke_api.storage.outbox import announce
from hooke_api.storage.present import present_experiment
from hooke_api.storage.reach import in_reach
from hooke_api.storage.trail import tell

MARKS = ("name", "starred", "archived", "protected", "note")
MOST_TAGS = 20
MOST_VALUES = 200
"""Values of a field that are offered for completion."""


def change(session: Session, experiment_id: str, asked: ExperimentChange, expected: str | None) -> Experiment:
    """Change what a request names, and nothing else: of two writers of one field, the last one counts.

    Tags are added and removed one by one, so that two writers do not undo each other. `expected`: the header
    If-Match; raises PreconditionFailed unless it is the present revision. Raises ResourceNotFound, and Invalid for
    too many tags.
    """
    experiment = present_experiment(session, experiment_id)
    session.refresh(experiment, with_for_update={"key_share": True})
    present_experiment(session, experiment_id)  # it may have been deleted meanwhile
    _check_revision(experiment, expected)
    after = asked.model_dump(mode="json", exclude_defaults=True)
    tell(session, before={name: getattr(experiment, name) for name in after if name in MARKS}, after=after)
    for name in MARKS:
        value = getattr(asked, name)
        if value is not None:
            setattr(experiment, name, storable_text(value) if isinstance(value, str) else value)
    _change_tags(session, experiment_id, asked)
    experiment.revision += 1
    session.flush()
    announce(session, "experiment", {"id": experiment_id}, experiment_id=experiment_id)
    return experiment


def _check_revision(experiment: Experiment, expected: str | None) -> None:
    if expected is None or expected.strip() == "*":
        return
    given = re.findall(r'(?:W/)?"([^"]*)"', expected) or [expected.strip()]
    if str(experiment.revision) not in given:
        raise PreconditionFailed(
            f"experiment {experiment.number} has been changed: its revision is {experiment.revision}, not "
            f"{expected}; read it again"
        )


def _change_tags(session: Session, experiment_id: str, asked: ExperimentChange) -> None:
    present = set(tags_of(session, [experiment_id]).get(experiment_id, []))
    removed = present & set(asked.remove_tags)
    added = set(asked.add_tags) - present
    if len(present - removed | added) > MOST_TAGS:
        raise Invalid("too many tags", [Fault("/add_tags", f"an experiment has at most {MOST_TAGS} tags")])
    mine = ExperimentTag.experiment_id == experiment_id
    if removed:
        session.execute(delete(ExperimentTag).where(mine, ExperimentTag.tag.in_(removed)))
    if added:
        rows = [{"experiment_id": experiment_id, "tag": tag} for tag in sorted(added)]
        session.execute(insert(ExperimentTag), rows)


def tags_of(session: Session, experiments: Collection[str]) -> dict[str, list[str]]:
    """Return experiment -> its tags in alphabetical order; those without any are left out."""
    query = select(ExperimentTag.experiment_id, ExperimentTag.tag).where(
        ExperimentTag.experiment_id.in_(experiments)
    )
    found: dict[str, list[str]] = {}
    for experiment_id, tag in session.execute(query.order_by(ExperimentTag.tag)):
        found.setdefault(experiment_id, []).append(tag)
    return found


def language(session: Session, of_runs: bool = False) -> FilterLanguage:
    """Return the fields of filters, of experiments or of runs, with known values to choose from."""
    present = Experiment.deleted_at.is_(None) & in_reach(Experiment.project_id)
    algorithm = CatalogueEntry.kind == "algorithm"
    known = {
        "tag": select(ExperimentTag.tag)
        .join(Experiment, Experiment.id == ExperimentTag.experiment_id)
        .where(present),
        "workload": select(Experiment.workload).where(present),
        "cluster": select(Cluster.name),
        "project": select(Project.name).where(in_reach(Project.id)),
        "algorithm": select(CatalogueEntry.name).where(algorithm),
    }
    values = {
        name: session.scalars(query.distinct().order_by(*query.selected_columns).limit(MOST_VALUES)).all()
        for name, query in known.items()
    }
    fields = [
        FilterFieldView(
            name=field.name,
            kind=field.kind,
            description=field.description,
            example=field.example,
            operators=list(field.operators),
            values=list(field.values or values.get(field.name, ())),
        )
        for field in (RUN_FIELDS if of_runs else FIELDS).values()
    ]
    return FilterLanguage(fields=fields)
