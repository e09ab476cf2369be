"""Filters and orders of runs: the fields that a run has, and the condition that a tree of the same language means.

What is said of the experiment of a run (its name, tags, workload, project) is a set of experiments, which the
database makes once; figures and settings are columns of one index. Projects are looked up before: where none fits,
PostgreSQL would look through all runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import ColumnElement, Select, and_, exists, false, not_, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from hooke_api.filters.fields import FIELDS, METRICS, Field, Kind
from hooke_api.filters.language import All, Condition, Not, Some, Tree, Value, conditions, parse
from hooke_api.filters.sql import POSITIVE, compared, matches
from hooke_api.models import Experiment, ExperimentTag, Project, Run, now
from hooke_api.storage.reach import in_reach

_OF_EXPERIMENT = ("name", "workload", "project", "tag", "starred", "archived", "protected", "created")
_FAILED = (RunState.FAILED_USER, RunState.FAILED_INFRA)


def _fields() -> dict[str, Field]:
    own = [
        Field("state", Kind.CHOICE, "its state; failed: either", "state = running", ("failed", *RunState)),
        Field("algorithm", Kind.TEXT, "its algorithm", "algorithm ~ easgd"),
        Field("variant", Kind.TEXT, "its variant", 'variant = "Sync SGD"'),
        Field("cluster", Kind.TEXT, "its cluster", "cluster = local"),
        Field("workers", Kind.NUMBER, "the number of its workers", "workers = 8"),
        Field("seed", Kind.NUMBER, "its seed", "seed = 0"),
        Field("simulated", Kind.FLAG, "whether it is simulated", "not simulated"),
        Field("reported", Kind.FLAG, "whether it is reported; trials of a search are not", "reported"),
        Field("number", Kind.NUMBER, "its number within its experiment", "number = 1"),
        Field("experiment", Kind.NUMBER, "the number of its experiment", "experiment = 12"),
    ]
    of_experiment = [
        Field(each.name, each.kind, f"of its experiment: {each.description}", each.example, each.values)
        for each in (FIELDS[name] for name in _OF_EXPERIMENT)
    ]
    figures = [Field(name, Kind.NUMBER, what, f"{name} > 0") for name, what in METRICS.items()]
    return {field.name: field for field in [*own, *of_experiment, *figures]}


RUN_FIELDS = _fields()
"""Name -> field of runs."""
ORDERS = ("created", "number", "workers", "seed", *METRICS)
"""What runs may be sorted by."""


def run_condition(session: Session, tree: Tree, at: datetime) -> ColumnElement[bool]:
    """Return the condition of a tree on runs; times relative to now count from `at`."""
    if isinstance(tree, Not):
        return not_(run_condition(session, tree.part, at))
    if isinstance(tree, All):
        return and_(*(run_condition(session, part, at) for part in tree.parts))
    if isinstance(tree, Some):
        return or_(*(run_condition(session, part, at) for part in tree.parts))
    how = POSITIVE.get(tree.operator, tree.operator)
    found = _positive(session, tree, how, at)
    return not_(found) if tree.operator in POSITIVE else found


def _positive(session: Session, tree: Condition, how: str, at: datetime) -> ColumnElement[bool]:
    if tree.field.name == "project":
        return _in_projects(session, how, tree.values)
    if how == "in":
        return or_(*(_one(tree.field, "=", value, at) for value in tree.values))
    return _one(tree.field, how, tree.values[0], at)


def _one(field: Field, how: str, value: Value, at: datetime) -> ColumnElement[bool]:
    if field.name in _OF_EXPERIMENT or field.name == "experiment":
        return Run.experiment_id.in_(select(Experiment.id).where(_experiment(field, how, value, at)))
    if field.name == "state":
        return Run.state.in_(_FAILED) if value == "failed" else Run.state == RunState(str(value))
    if field.name == "reported":
        return Run.rung.is_(None) if value else Run.rung.is_not(None)
    column = getattr(Run, field.name)
    if field.kind is Kind.FLAG:
        flag: ColumnElement[bool] = column if value else not_(column)
        return flag
    if field.kind is Kind.TEXT:
        return matches(column, how, str(value))
    return _figure(column, compared(column, how, value))


def _figure(column: InstrumentedAttribute[Any], found: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return a comparison of a number, which is false where there is none.

    Not by `coalesce`: PostgreSQL would expect half of all runs, and read their rows.
    """
    return and_(column.is_not(None), found) if column.expression.nullable else found


def _in_projects(session: Session, how: str, values: Sequence[Value]) -> ColumnElement[bool]:
    """Return the condition that the experiment of a run is in a project with such a name."""
    named = or_(*(matches(Project.name, "~" if how == "~" else "=", str(value)) for value in values))
    query = select(Project.id).where(named, exists().where(Experiment.project_id == Project.id))
    found = session.scalars(query).all()
    if not found:
        return false()
    return Run.experiment_id.in_(select(Experiment.id).where(Experiment.project_id.in_(found)))


def _experiment(field: Field, how: str, value: Value, at: datetime) -> ColumnElement[bool]:
    match field.name:
        case "experiment":
            return compared(Experiment.number, how, value)
        case "created":
            return compared(Experiment.created_at, how, at + value if isinstance(value, timedelta) else value)
        case "tag":
            tagged = select(ExperimentTag.experiment_id).where(matches(ExperimentTag.tag, how, str(value)))
            return Experiment.id.in_(tagged)
    column = getattr(Experiment, field.name)
    if field.kind is Kind.FLAG:
        flag: ColumnElement[bool] = column if value else not_(column)
        return flag
    return matches(column, how, str(value))


class RunQuery:
    """A filter of runs and an order, as texts."""

    def __init__(self, text: str, sort: str) -> None:
        """Raises FilterError, or ValueError for an order that there is not."""
        self.text, self.sort = text.strip(), sort
        self.order = Order(sort)
        self._tree = parse(self.text, RUN_FIELDS) if self.text else None

    def condition(self, session: Session) -> ColumnElement[bool]:
        """Return the condition on runs: of what is not deleted, not archived unless asked for, and in reach."""
        named = {each.field.name for each in conditions(self._tree)} if self._tree else set()
        present = and_(Experiment.deleted_at.is_(None), in_reach(Experiment.project_id))
        if "archived" not in named:
            present = and_(present, ~Experiment.archived)
        found: ColumnElement[bool] = Run.experiment_id.in_(select(Experiment.id).where(present))
        return found if self._tree is None else and_(found, run_condition(session, self._tree, now()))


class Order:
    """An order of runs: by a figure or setting, those without it last, and then the newest first."""

    def __init__(self, asked: str) -> None:
        """`asked`: one of ORDERS, after a minus for the largest first. Raises ValueError."""
        self.name = asked.removeprefix("-")
        self.descending = asked.startswith("-")
        if self.name not in ORDERS:
            raise ValueError(f"runs are sorted by {', '.join(ORDERS)}; -{ORDERS[-1]}: the largest first")
        self.column: InstrumentedAttribute[Any] = Run.id if self.name == "created" else getattr(Run, self.name)

    @property
    def by(self) -> tuple[ColumnElement[Any], ...]:
        """Return what a query is ordered by."""
        return (self.first,) if self.name == "created" else (self.first, Run.id.desc())

    @property
    def first(self) -> ColumnElement[Any]:
        """Return what it is ordered by where figures differ.

        Runs without one come last by `NULLS LAST`: of a first column that is the same for nearly all runs
        (`figure IS NULL`) PostgreSQL takes the others out of two rows for each comparison.
        """
        column = self.column.desc() if self.descending else self.column.asc()
        return column.nulls_last() if self.column.expression.nullable else column

    def ids(self, session: Session, found: Select[str, Any], most: int) -> list[str]:
        """Return the ids of the first runs of a query, which asks for id and figure.

        Nearly all runs may have the same figure. Indexes have the oldest first, so each of these would take the
        place of another one among the first, after many comparisons of ids. PostgreSQL orders by the figure alone,
        and then finds the newest of those that have the last one; SQLite is no slower in one query.
        """
        if self.name == "created" or session.get_bind().dialect.name == "sqlite":
            return [id for id, _ in session.execute(found.order_by(*self.by).limit(most))]
        rows = [(figure, id) for id, figure in session.execute(found.order_by(self.first).limit(most + 1))]
        if len(rows) > most and rows[most - 1][0] == rows[most][0]:
            last = rows[most][0]
            rows = [row for row in rows if row[0] != last]
            ties = found.where(self.column.is_(None) if last is None else self.column == last)
            newest = ties.order_by(Run.id.desc()).limit(most - len(rows))
            rows += [(last, id) for id, _ in session.execute(newest)]
        rows.sort(key=self._place, reverse=True)
        return [id for _, id in rows[:most]]

    def _place(self, row: tuple[Any, str]) -> tuple[bool, Any, str]:
        """Return what a figure and an id are sorted by, the largest first."""
        figure, id = row
        if figure is None:
            return False, 0, id
        return True, figure if self.descending else -figure, id

    def key(self, run: Run) -> str:
        """Return the place of a run in the order."""
        return run.id if self.name == "created" else json.dumps([getattr(run, self.name), run.id])

    def after(self, key: str) -> ColumnElement[bool]:
        """Return the condition that a run comes after a place."""
        if self.name == "created":
            return Run.id < key if self.descending else Run.id > key
        value, id = json.loads(key)
        newer = Run.id < id
        if value is None:
            return and_(self.column.is_(None), newer)
        beyond = self.column < value if self.descending else self.column > value
        return or_(beyond, and_(self.column == value, newer), self.column.is_(None))
