"""Rows of tables as JSON, and back: which columns travel, and what their values may be.

A column's type decides how a value is written and which values are accepted; there is no second list of columns
to keep in step with the tables. What belongs to one server stays there: leases, orders, owners, ids of events.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Enum,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
)
from sqlalchemy.types import TypeDecorator

from hooke_api.base.errors import ApiError
from hooke_api.base.shape import ShapeLimits, check_shape
from hooke_api.exchange.checks import check_row
from hooke_api.exchange.manifest import BundleError
from hooke_api.models import (
    Attempt,
    Base,
    Chunk,
    DroppedWorker,
    RankTotals,
    Run,
    StoredEvaluation,
    Transition,
)

SHAPE = ShapeLimits(marks=200_000, members=20_000, depth=60)
"""Of a line: a specification with its calibration has some 10,000 marks."""
MOST_TEXT = 100_000
LISTS = frozenset({"refusals", "further_metrics"})
"""JSON columns that hold lists; all others hold objects."""
HERE = "~"
"""Before the name of the host of an imported run: no cluster of this server has such a name."""


def table_of(model: type[Base]) -> Table:
    """Return the table of a model."""
    found = model.__table__
    assert isinstance(found, Table)  # noqa: S101 - no model is of a query
    return found


@dataclass(frozen=True)
class Carried:
    """A table whose rows travel."""

    part: str
    model: type[Base]
    left: frozenset[str]
    """Columns that stay."""

    @property
    def columns(self) -> list[Column[Any]]:
        """Return the columns that travel."""
        return [each for each in table_of(self.model).columns if each.name not in self.left]


RUN = "run"
"""Field of a record in place of the column `run_id`: the number of its run, which is the same on every server."""
LATER: Mapping[str, float] = {"rebuild": 0.0}
"""Columns that earlier bundles lack, with their value there: where they have it, they do not travel."""
_OWN = frozenset({"id", "project_id", "created_by", "experiment_id", "not_before", "cancel_requested"}) | {
    *("chunks", "evaluations"),  # they are counted where they are stored
}
CARRIED: Mapping[str, Carried] = {
    each.part: each
    for each in (
        Carried("runs.jsonl", Run, _OWN),
        Carried("attempts.jsonl", Attempt, frozenset({"run_id", "leased_until", "asked_at"})),
        Carried("transitions.jsonl", Transition, frozenset({"id", "run_id"})),
        Carried("evaluations.jsonl", StoredEvaluation, frozenset({"run_id"})),
        Carried("totals.jsonl", RankTotals, frozenset({"run_id"})),
        Carried("dropped.jsonl", DroppedWorker, frozenset({"run_id"})),
        Carried("steps.jsonl", Chunk, frozenset({"id", "run_id"})),
    )
}


def written(carried: Carried, row: Mapping[str, Any], run: int) -> bytes:
    """Return a row as a line; `run`: number of its run."""
    record = {
        column.name: _plain(row[column.name])
        for column in carried.columns
        if column.name not in LATER or row[column.name] != LATER[column.name]
    }
    if carried.model is Run:
        record["host"] = str(record["host"]).removeprefix(HERE)
    else:
        record[RUN] = run
    return line_of(record)


def line_of(record: object) -> bytes:
    """Return a JSON value as a line."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one for each type
    """Return a value as JSON has it: NaN and Inf, which only notes of ranks may hold, as null."""
    match value:
        case RunState():
            return value.value
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            return value.astimezone(UTC).isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def parsed(line: bytes) -> Any:
    """Return the value of a JSON text. Raises BundleError, before objects are made of a text with too many."""
    try:
        check_shape(line, SHAPE)
        return _storable(json.loads(line, parse_constant=_refuse_constant))
    except ApiError as error:
        raise BundleError(error.detail) from None
    except (ValueError, RecursionError) as error:
        raise BundleError(f"it is not JSON: {error}") from None


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a JSON number")


def _storable(value: Any) -> Any:
    """Return a value that every database can store. Raises ValueError for other texts and numbers."""
    match value:
        case str():
            if "\0" in value:
                raise ValueError("a text contains a zero byte")
            value.encode()  # raises UnicodeEncodeError for half of a pair
        case float() if not math.isfinite(value):
            raise ValueError("a number is too large")
        case dict():
            for name, each in value.items():
                _storable(name)
                _storable(each)
        case list():
            for each in value:
                _storable(each)
    return value


def read(carried: Carried, line: bytes, runs: Mapping[int, str]) -> dict[str, Any]:
    """Return the values of a row's columns; `runs`: the id of each run here, by number.

    Raises BundleError with the column that is wrong.
    """
    record = parsed(line)
    if not isinstance(record, dict):
        raise BundleError("it is not an object")
    names = {column.name for column in carried.columns}
    row: dict[str, Any] = {}
    if carried.model is not Run:
        row["run_id"] = run_of(record.pop(RUN, None), runs)
    if unknown := sorted(record.keys() - names):
        raise BundleError(f"it has {unknown[0][:60]!r}, which this version does not know")
    for column in carried.columns:
        if column.name not in record and column.name in LATER:
            record[column.name] = LATER[column.name]
        if column.name not in record:
            raise BundleError(f"{column.name!r} is missing")
        try:
            row[column.name] = _value(column, record[column.name])
        except (ValueError, TypeError, OverflowError) as error:
            raise BundleError(f"{column.name!r}: {error}") from None
    check_row(carried.model, row)
    return row


def run_of(number: object, runs: Mapping[int, str]) -> str:
    """Return the id here of the run with a number. Raises BundleError if the bundle has none."""
    found = runs.get(number) if type(number) is int else None
    if found is None:
        raise BundleError(f"'run': the bundle has no run with the number {str(number)[:40]}")
    return found


def _value(column: Column[Any], value: Any) -> Any:  # noqa: PLR0911 - one for each type
    """Return the value of a column. Raises ValueError with what it has to be."""
    if value is None:
        if not column.nullable:
            raise ValueError("it is null")
        return None
    kind = column.type.impl_instance if isinstance(column.type, TypeDecorator) else column.type
    match kind:
        case Enum():
            return RunState(value)
        case String():
            return _text(value, kind.length or MOST_TEXT)
        case Boolean():
            return _of_type(value, bool)
        case Integer():
            return _integer(value, 63 if isinstance(kind, BigInteger) else 31)
        case Float():
            return float(_of_type(value, int if type(value) is int else float))
        case DateTime():
            return _moment(value)
        case LargeBinary():
            return _bytes(value)
        case JSON():
            return _of_type(value, list if column.name in LISTS else dict)
    raise ValueError("this version cannot read it")


def _of_type(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise ValueError(f"it is no {kind.__name__}")
    return value


def _text(value: Any, most: int) -> str:
    if len(_of_type(value, str)) > most:
        raise ValueError(f"it has more than {most} characters")
    return str(value)


def _integer(value: Any, bits: int) -> int:
    if not -(2**bits) <= _of_type(value, int) < 2**bits:
        raise ValueError(f"{value} does not fit")
    return int(value)


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(_of_type(value, str))
    if found.tzinfo is None:
        raise ValueError("a time without zone")
    return found.astimezone(UTC)


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_of_type(value, str), validate=True)
    except binascii.Error:
        raise ValueError("it is not base64") from None
