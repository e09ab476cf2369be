"""How many evaluations each run has, its accuracy at the target and its best one, without reading them each time.

The number is stored with the run, in the transaction that stores an evaluation. A page asks for the accuracies
with every request; read of a hundred runs with ten thousand evaluations each, they take a second. They are kept
in memory, and of long ended runs in a row of the table of levels (`ThinnedSeries`), each with a mark of what
they follow from: how many records each rank has stored, of which every new one raises the last number, and
which attempts count. With another mark they are read again.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import and_, case, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from hooke_api.base.caches import MIB, Budget, Cache
from hooke_api.models import RankTotals, Run, StoredEvaluation, ThinnedSeries

KEPT = "hooke_evaluated"
"""Key of `Session.info` under which what is kept in memory is."""
WRITES = "hooke_write"
"""Option of a connection whose transaction writes: what it sees may never come to be."""
MOST, NAME = -100, "evaluated"
"""Of the row in the table of levels."""
VERSION = 1
"""Of what is stored: changed with it, it makes stored rows useless."""
IDS = 500
"""Runs of one query."""
Accuracies = tuple[float | None, float | None]
"""At the target, and the best one."""
_Kept = tuple[str, Accuracies]
"""Mark, and what belongs to it."""
_ENTRY = 600
"""Bytes of an entry in memory, about."""
_ROW = struct.Struct("<2d")


def memory() -> Cache[str, _Kept]:
    """Return what keeps some thousand of them in memory, from several threads."""
    return Cache(Budget(2 * MIB), lambda _: _ENTRY)


def counts(session: Session, runs: Sequence[str]) -> dict[str, int]:
    """Return the number of evaluations of each of these runs, all attempts together."""
    found = dict.fromkeys(runs, 0)
    for ids in (runs[i : i + IDS] for i in range(0, len(runs), IDS)):
        found.update(session.execute(select(Run.id, Run.evaluations).where(Run.id.in_(ids))).all())
    return found


def accuracies(session: Session, runs: Sequence[str]) -> dict[str, Accuracies]:
    """Return the accuracies of each of these runs, over the evaluations that count.

    They are those that are kept or stored with its present mark, or are read.
    """
    cache: Cache[str, _Kept] | None = session.info.get(KEPT)
    found: dict[str, Accuracies] = {}
    for ids in (runs[i : i + IDS] for i in range(0, len(runs), IDS)):
        marks = _marks(session, ids)
        for run in ids:
            kept = cache.get(run) if cache is not None else None
            if kept is not None and kept[0] == marks.get(run):
                found[run] = kept[1]
        fresh = _stored(session, [run for run in ids if run not in found], marks)
        fresh |= _accuracies(session, [run for run in ids if run not in found and run not in fresh])
        if cache is not None and not session.connection().get_execution_options().get(WRITES):
            for run in fresh.keys() & marks.keys():
                cache.put(run, (marks[run], fresh[run]))
        found |= fresh
    return found


def row(session: Session, run: str) -> dict[str, Any]:
    """Return the row of a run as it is stored."""
    values = [math.nan if value is None else value for value in accuracies(session, [run])[run]]
    told = {"of_data": _marks(session, [run])[run], "n": counts(session, [run])[run], "gaps": False}
    return {"most": MOST, "metric": NAME, **told, "data": _ROW.pack(*values)}


def _marks(session: Session, runs: Sequence[str]) -> dict[str, str]:
    """Return the marks of those of these runs that are there."""
    counting = (Run.attempt, Run.resume_from, Run.time_to_target)
    stored = (func.count(RankTotals.rank), func.sum(RankTotals.stored))
    query = select(Run.id, *stored, *counting).outerjoin(RankTotals, RankTotals.run_id == Run.id)
    query = query.where(Run.id.in_(runs)).group_by(Run.id, *counting)
    return {
        run: f"{VERSION} {ranks} {int(last or 0)} {' '.join(map(repr, told))}"
        for run, ranks, last, *told in session.execute(query)
    }


def _stored(session: Session, runs: Sequence[str], marks: Mapping[str, str]) -> dict[str, Accuracies]:
    if not runs:
        return {}
    of = ThinnedSeries
    query = select(of.run_id, of.of_data, of.data).where(of.most == MOST, of.run_id.in_(runs))
    found = {}
    for run, mark, data in session.execute(query):
        if mark == marks.get(run) and len(data) == _ROW.size:
            found[run] = _known(_ROW.unpack(data))
    return found


def _known(values: Iterable[float]) -> Accuracies:
    at_target, best = (None if math.isnan(value) else value for value in values)
    return at_target, best


def _accuracies(session: Session, runs: Sequence[str]) -> dict[str, Accuracies]:
    """Read the accuracies of runs.

    Of earlier attempts count the evaluations that come before those of the next one: it went on from there.
    """
    if not runs:
        return {}
    of, later = StoredEvaluation, aliased(StoredEvaluation)
    met = and_(of.reached, of.attempt == Run.attempt, of.clock == Run.time_to_target)
    repeated = exists().where(
        later.run_id == of.run_id,
        later.attempt > of.attempt,
        later.attempt <= Run.attempt,
        later.samples <= of.samples,
    )
    counted = or_(of.attempt == Run.attempt, and_(of.attempt.between(Run.resume_from, Run.attempt), ~repeated))
    query = (
        select(Run.id, func.max(case((met, of.accuracy))), func.max(of.accuracy))
        .select_from(of)
        .join(Run, Run.id == of.run_id)
        .where(Run.id.in_(runs), counted)
        .group_by(Run.id)
    )
    found: dict[str, Accuracies] = dict.fromkeys(runs, (None, None))
    return found | {run: (target, best) for run, target, best in session.execute(query)}
