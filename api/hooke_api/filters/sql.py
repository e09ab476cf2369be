"""Compiles a filter to a condition on experiments, with bound parameters.

A comparison with a figure that does not exist is false. `!=`, `!~` and `not` are negations: of a field that may
have several values (algorithm, variant, cluster, tag), `=` and `~` mean any of them, `!=` and `!~` none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import ColumnElement, Exists, Integer, and_, case, exists, false, func, not_, or_, select

from hooke_api.filters.fields import Kind
from hooke_api.filters.language import All, Condition, Not, Some, Tree, Value
from hooke_api.models import Experiment, ExperimentTag, Project, Run

_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
POSITIVE = {"!=": "=", "!~": "~"}
MOST_INTEGER = 2**31
"""What every column of whole numbers can hold; PostgreSQL refuses to compare it with what it cannot hold."""


def condition(tree: Tree, at: datetime) -> ColumnElement[bool]:
    """Return the condition of a tree; times relative to now count from `at`."""
    if isinstance(tree, Not):
        return not_(condition(tree.part, at))
    if isinstance(tree, All):
        return and_(*(condition(part, at) for part in tree.parts))
    if isinstance(tree, Some):
        return or_(*(condition(part, at) for part in tree.parts))
    if tree.operator in POSITIVE:
        return not_(_positive(tree, POSITIVE[tree.operator], at))
    return _positive(tree, tree.operator, at)


def _positive(tree: Condition, how: str, at: datetime) -> ColumnElement[bool]:
    if how == "in":
        return or_(*(_one(tree, "=", value, at) for value in tree.values))
    return _one(tree, how, tree.values[0], at)


def _one(tree: Condition, how: str, value: Value, at: datetime) -> ColumnElement[bool]:
    name = tree.field.name
    if tree.field.kind in (Kind.TEXT, Kind.CHOICE):
        return _text(name, how, str(value))
    if tree.field.kind is Kind.FLAG:
        column = getattr(Experiment, name)
        flag: ColumnElement[bool] = column if value else not_(column)
        return flag
    if tree.field.kind is Kind.TIME:
        value = at + value if isinstance(value, timedelta) else value
        return compared(Experiment.created_at, how, value)
    # without a figure the comparison is null, which a negation would leave null
    return func.coalesce(compared(_figure(name), how, value), false())


def compared(column: Any, how: str, value: Value) -> ColumnElement[bool]:
    """Return the comparison of a column with a value.

    Whole numbers are compared as such: of `workers > 0.0` PostgreSQL expects a third of all runs.
    """
    if isinstance(value, float) and isinstance(column.type, Integer) and value.is_integer():
        value = int(value) if abs(value) < MOST_INTEGER else value
    found: ColumnElement[bool] = column == value if how == "=" else _COMPARED[how](column, value)
    return found


def _text(name: str, how: str, text: str) -> ColumnElement[bool]:
    if name == "tag":
        mine = exists().where(ExperimentTag.experiment_id == Experiment.id)
        return mine.where(matches(ExperimentTag.tag, how, text))
    if name == "project":
        return exists().where(Project.id == Experiment.project_id, matches(Project.name, how, text))
    if name in ("algorithm", "variant", "cluster"):
        return _some_run(matches(getattr(Run, name), how, text))
    column = {"name": Experiment.name, "workload": Experiment.workload, "state": state()}[name]
    return matches(column, how, text)


def matches(column: Any, how: str, text: str) -> ColumnElement[bool]:
    """Return whether a column contains a text (`~`), or is it."""
    found: ColumnElement[bool] = column.icontains(text, autoescape=True) if how == "~" else column == text
    return found


def _some_run(*conditions: ColumnElement[bool]) -> Exists:
    # a column of the index: where all columns are asked for, SQLite reads the rows
    return select(Run.experiment_id).where(Run.experiment_id == Experiment.id, *conditions).exists()


def _figure(name: str) -> ColumnElement[Any]:
    """Return a number of an experiment, null if it does not exist."""
    if name == "number":
        return Experiment.number.expression
    mine = Run.experiment_id == Experiment.id
    if name == "runs":
        return select(func.count()).where(mine).scalar_subquery()
    metric, _, part = name.partition(".")
    column = getattr(Run, metric)
    reported = mine & Run.rung.is_(None)
    if part != "last":
        least = func.min(column) if part == "min" else func.max(column)
        return select(least).where(reported).scalar_subquery()
    known = select(column).where(reported, Run.finished_at.is_not(None), column.is_not(None))
    return known.order_by(Run.finished_at.desc(), Run.number.desc()).limit(1).scalar_subquery()


def state() -> ColumnElement[str]:
    """Return the state of an experiment, as `hooke_api.scheduling.derived.derived_state` derives it."""
    reported = Run.rung.is_(None)
    well = (RunState.SUCCEEDED, RunState.CANCELLED)
    return case(
        (~_some_run(Run.state != RunState.QUEUED), "queued"),
        (Experiment.planning | _some_run(Run.state.not_in(TERMINAL)), "running"),
        (~_some_run(reported) & _some_run(Run.state == RunState.CANCELLED), "cancelled"),
        (~_some_run(reported), "failed"),
        (~_some_run(reported, Run.state != RunState.SUCCEEDED), "succeeded"),
        (~_some_run(reported, Run.state.not_in(well)), "cancelled"),
        else_="failed",
    )
