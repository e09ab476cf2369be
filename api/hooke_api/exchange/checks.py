"""What the values of imported rows must be where their types alone do not say it.

What is stored is read without further checks, so a row that passes here must not make any answer fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np
from hooke.spec.events import ABSENT, STEP_COLUMNS
from hooke.spec.further import FurtherMetric, MetricName
from hooke.spec.retry import RetryCause
from hooke.spec.states import TERMINAL
from pydantic import BaseModel, FiniteFloat, TypeAdapter, ValidationError

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
from hooke_api.runs.schemas import DroppedView, PhaseTotals, RunSummary, TransitionView
from hooke_api.storage import blocks

MOST_TOLD = 20_000
"""Characters of all notes, versions or hardware of a row: answers hold them for many runs at a time."""
MOST_STEPS = 10_000_000
"""Steps of a chunk; its bytes are limited by those of a line."""


def _check_run(row: Mapping[str, Any]) -> None:
    if row["state"] not in TERMINAL:
        raise BundleError(f"'state': a run that is {row['state']} has not ended, and only such runs travel")
    if not (1 <= row["workers"] <= 1_000_000 and row["servers"] in (0, 1)):
        raise BundleError("'workers' and 'servers': there are no such runs")
    _check_texts(row["versions"], "versions", str)
    _check_texts(row["hardware"], "hardware", str, int, float)
    try:
        TypeAdapter(list[FurtherMetric]).validate_python(row["further_metrics"] or [])
    except ValidationError:
        raise BundleError("'further_metrics' does not declare metrics") from None


def _check_evaluation(row: Mapping[str, Any]) -> None:
    try:
        TypeAdapter(dict[MetricName, FiniteFloat]).validate_python(row["further"] or {}, strict=True)
    except ValidationError:
        raise BundleError("'further' holds other values than numbers by name") from None


def _check_texts(values: Mapping[str, Any], name: str, *kinds: type) -> None:
    if not all(type(each) in kinds for each in values.values()):
        raise BundleError(f"{name!r} holds other values than texts{' and numbers' if len(kinds) > 1 else ''}")
    if sum(len(each) + len(str(value)) for each, value in values.items()) > MOST_TOLD:
        raise BundleError(f"{name!r} has more than {MOST_TOLD} characters")


def _check_attempt(row: Mapping[str, Any]) -> None:
    wanted = {"rank": (int, type(None)), "seq": (int,), "pointer": (str,), "message": (str,)}
    for told in row["refusals"]:
        if not isinstance(told, dict) or told.keys() != wanted.keys():
            raise BundleError("'refusals' does not tell rank, seq, pointer and message")
        if not all(type(told[name]) in kinds for name, kinds in wanted.items()):
            raise BundleError("'refusals' has a value of another kind")


def _check_transition(row: Mapping[str, Any]) -> None:
    if row["cause"] is not None and row["cause"] not in get_args(RetryCause):
        raise BundleError("'cause': this version does not know it")


def _check_totals(row: Mapping[str, Any]) -> None:
    _check_texts(row["notes"], "notes", str)
    for staleness, count in row["staleness"].items():
        if not (staleness.isascii() and staleness.isdigit() and len(staleness) < 19 and type(count) is int):
            raise BundleError("'staleness' is not a table from staleness to number of exchanges")


def _check_chunk(row: Mapping[str, Any]) -> None:
    """A chunk is read without further checks: every column has to lie in its data."""
    header, n, size = row["header"], row["n"], len(row["data"])
    if not 1 <= n <= MOST_STEPS:
        raise BundleError("'n': there is no such number of steps")
    if missing := [name for name in STEP_COLUMNS if name not in header and name not in ABSENT]:
        raise BundleError(f"'header' lacks the column {missing[0]!r}")
    for name, place in header.items():
        if name not in STEP_COLUMNS or not isinstance(place, list) or len(place) != 2:
            raise BundleError(f"'header' has the column {name[:60]!r}, which this version does not know")
        offset, dtype = place
        if dtype != STEP_COLUMNS[name] or type(offset) is not int or offset < 0:
            raise BundleError(f"'header': the column {name!r} is of another type")
        if offset + n * np.dtype(dtype).itemsize > size:
            raise BundleError(f"'data' ends within the column {name!r}")
    for name, column in blocks.read(n, header, row["data"], ("clock", "wall")).items():
        if not np.isfinite(column).all():
            raise BundleError(f"'data' has a value of {name!r} that is not a number")


VIEWS: Mapping[type[Base], type[BaseModel]] = {
    Run: RunSummary,
    Transition: TransitionView,
    RankTotals: PhaseTotals,
    DroppedWorker: DroppedView,
}
"""What answers make of a row: one that does not fit would make lists fail that have rows of others, too."""
_OF_THIS_SERVER = {"id": "", "experiment_id": "", "not_before": None, "cancel_requested": False}


def check_row(model: type[Base], row: Mapping[str, Any]) -> None:
    """Raise BundleError, or ValidationError, for a row with which an answer would fail."""
    if model in CHECKS:
        CHECKS[model](row)
    if model in VIEWS:
        VIEWS[model].model_validate(_OF_THIS_SERVER | dict(row))


CHECKS: Mapping[type[Base], Callable[[Mapping[str, Any]], None]] = {
    Run: _check_run,
    Attempt: _check_attempt,
    Transition: _check_transition,
    StoredEvaluation: _check_evaluation,
    RankTotals: _check_totals,
    Chunk: _check_chunk,
}
