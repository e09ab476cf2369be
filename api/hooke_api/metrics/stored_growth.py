"""Curves of long runs in progress as they are stored, so that a process that does not know them reads few steps.

Stored is what `hooke_api.metrics.growing` keeps of a run, in a row of the table of levels whose limit is 0. It is
ignored where it does not fit: curves are then made of all steps.

    8 bytes      size of the header, little-endian
    header       JSON; `arrays` has name, dtype and shape of each array
    arrays       one after the other
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from hooke.spec.states import TERMINAL, RunState
from numpy.typing import NDArray
from sqlalchemy import and_, delete, func, insert, or_, select
from sqlalchemy.orm import Session

from hooke_api.metrics.brackets import Brackets
from hooke_api.metrics.evaluations import joined, read_evaluations
from hooke_api.metrics.growing import Growing, Irregular, Settled, Told, shape_of
from hooke_api.metrics.growth import grow
from hooke_api.metrics.level import AXES, Thinned
from hooke_api.metrics.loading import Facts, parts, read_begun, read_facts, read_keys, read_left
from hooke_api.metrics.pieces import Counting
from hooke_api.metrics.rows import part
from hooke_api.metrics.table import NOTHING, Before, RankColumns, Table
from hooke_api.models import RankTotals, Run, ThinnedSeries
from hooke_api.storage.database import Database

LIMIT, NAME = 0, "growing"
"""Of the row."""
VERSION = 2
"""Of what is stored: changed with it, it makes stored rows useless."""
LEAST_STEPS = 50_000
"""Steps of all ranks from which on a run in progress is stored: those of a shorter one are read quickly."""
GROWN, MORE_STEPS = 1.25, 50_000
"""How many times as many steps as the last time it has, or how many more, when it is stored again: each is read
once for that, and so many at most by the first look of a process."""
_SIZE = struct.Struct("<Q")
_Arrays = dict[str, NDArray[Any]]


def due(session: Session) -> list[str]:
    """Return the runs in progress that are to be stored, or stored again."""
    going_on = [state for state in RunState if state not in TERMINAL]
    total = func.sum(RankTotals.steps)
    runs = select(RankTotals.run_id, total.label("steps")).join(Run, Run.id == RankTotals.run_id)
    runs = runs.where(Run.state.in_(going_on)).group_by(RankTotals.run_id).having(total >= LEAST_STEPS)
    steps, of = runs.subquery(), ThinnedSeries
    query = select(steps.c.run_id).outerjoin(of, and_(of.run_id == steps.c.run_id, of.most == LIMIT))
    more = or_(steps.c.steps > GROWN * of.n, steps.c.steps > of.n + MORE_STEPS)
    return list(session.scalars(query.where(or_(of.n.is_(None), of.of_data != str(VERSION), more))))


def save(database: Database, run_id: str, most: int) -> bool:
    """Store the curves of a run for answers of at most `most` points if it is in progress; return whether it is.

    Of one with irregular steps nothing is stored but their number. Raises Unreadable and Unavailable.
    """
    with database.read() as session:
        runs = read_facts(session, Run.id == run_id)
        if not runs or runs[0].ended:
            return False
        steps = session.scalar(select(func.sum(RankTotals.steps)).where(RankTotals.run_id == run_id))
        key = read_keys(session, runs)[run_id]
        evaluations = read_evaluations(session, parts(runs))[run_id]
        told = Told(read_begun(session, runs)[run_id], read_left(session, runs)[run_id], evaluations)
        try:
            scored = frozenset(float(row[1]) for row in evaluations)  # what was sent until each may be asked for
            known = load(session, runs[0])
            data = packed(grow(session, runs[0], key, told, most, known, {("samples", False): scored}))
        except Irregular:
            data = b""
    row = {"run_id": run_id, "most": LIMIT, "metric": NAME, "of_data": str(VERSION), "n": int(steps or 0)}
    with database.write() as session:
        run = session.get(Run, run_id)
        if run is None or run.state in TERMINAL:  # meanwhile
            return False
        mine = (ThinnedSeries.run_id == run_id, ThinnedSeries.most == LIMIT)
        session.execute(delete(ThinnedSeries).where(*mine))
        session.execute(insert(ThinnedSeries), [{**row, "gaps": False, "data": data}])
    return True


def stored(session: Session, runs: Sequence[str]) -> set[str]:
    """Return those of some runs of which something is stored."""
    of = ThinnedSeries
    return set(session.scalars(select(of.run_id).where(of.run_id.in_(runs), of.most == LIMIT)))


def load(session: Session, run: Facts) -> Growing | None:
    """Return the stored curves of a run, which still have to grow, or None if there are none that fit."""
    of = ThinnedSeries
    query = select(of.data).where(of.run_id == run.id, of.most == LIMIT, of.of_data == str(VERSION))
    data = session.scalars(query).first()
    try:
        return unpacked(run, data) if data else None
    except (ValueError, KeyError, IndexError, TypeError, struct.error):  # damaged, or of another program
        return None


def packed(grown: Growing) -> bytes:
    """Return what is kept of a run as it is stored: without evaluations, and rows that are not settled."""
    settled = grown.settled
    arrays = dict(_arrays(grown))
    header = {
        "key": grown.key,
        "most": grown.most,
        "shape": shape_of(grown.run),
        "before": [settled.before.rows, settled.before.wall, settled.before.clock],
        "writers": settled.writers,
        "unthinned": settled.unthinned,
        "levels": {metric: [level.n, level.gaps] for metric, level in settled.levels.items()},
        "units": {axis: brackets.unit for axis, brackets in settled.rows.items()},
        "ranks": [[r.rank, r.server, r.done, r.sent, r.exposed, list(r.columns)] for r in grown.ranks.values()],
        "limits": [[*place, limit] for place, limit in grown.counting.limits.items()],
        "firsts": [[*place, step] for place, step in grown.counting.firsts.items()],
        "highest": grown.counting.highest,
        "earlier": list(grown.earlier.items()),
        "arrays": [[name, array.dtype.str, array.shape] for name, array in arrays.items()],
    }
    text = json.dumps(header).encode()
    return b"".join((_SIZE.pack(len(text)), text, *(array.tobytes() for array in arrays.values())))


def _arrays(grown: Growing) -> Iterator[tuple[str, NDArray[Any]]]:
    settled = grown.settled
    for metric, level in settled.levels.items():
        yield from ((f"{metric} at", level.at), (f"{metric} y", level.y))
        yield from ((f"{metric} {axis}", level.x[axis]) for axis in AXES)
    for kind, of in (("rows", settled.rows), ("stale", settled.stale)):
        for axis, each in of.items():
            yield from ((f"{kind} {axis} x", each.x), (f"{kind} {axis} y", each.y))
            yield f"{kind} {axis} watched", each.watched
    for name, column in vars(part(grown.tail, 0, settled.unthinned)).items():
        yield f"unthinned {name}", column
    for rank in grown.ranks.values():
        yield from ((f"{rank.rank} {name}", column) for name, column in rank.columns.items())


def unpacked(run: Facts, data: bytes) -> Growing | None:
    """Return what was stored; None if the rows of the run are made of steps in another way now."""
    size = _SIZE.unpack_from(data)[0]
    begin = _SIZE.size + size
    header = json.loads(data[_SIZE.size : begin])
    if header["shape"] != json.loads(json.dumps(shape_of(run))):
        return None
    arrays: _Arrays = {}
    for name, dtype, shape in header["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        # a copy: one array that is never extended, also an empty one, would keep all of the data in memory
        arrays[name] = np.frombuffer(data, dtype, count, begin).reshape(shape).copy()
        begin += arrays[name].nbytes
    levels = {
        metric: Thinned(n, gaps, arrays[f"{metric} at"], _x(arrays, metric), arrays[f"{metric} y"])
        for metric, (n, gaps) in header["levels"].items()
    }
    ranks = {
        rank: RankColumns(
            rank, server, {name: arrays[f"{rank} {name}"] for name in names}, False, done, sent, exposed
        )
        for rank, server, done, sent, exposed, names in header["ranks"]
    }
    workers, gone = header["writers"]
    rows, stale = (_brackets(arrays, kind, header["units"]) for kind in ("rows", "stale"))
    before, unthinned = Before(*header["before"]), int(header["unthinned"])
    settled = Settled(before, (tuple(workers), gone), levels, rows, stale, unthinned)
    tail = Table(**{name: arrays[f"unthinned {name}"] for name in vars(NOTHING)})
    limits, firsts = ({(a, r): value for a, r, value in header[name]} for name in ("limits", "firsts"))
    counting = Counting(limits, firsts, header["highest"])
    earlier, key = dict(header["earlier"]), tuple(header["key"])
    return Growing(run, key, header["most"], settled, tail, ranks, counting, earlier, np.empty(0), joined([]))


def _x(arrays: _Arrays, metric: str) -> dict[Any, NDArray[Any]]:
    return {axis: arrays[f"{metric} {axis}"] for axis in AXES}


def _brackets(arrays: _Arrays, kind: str, units: Mapping[str, float]) -> dict[Any, Brackets]:
    return {
        axis: Brackets(units[axis], *(arrays[f"{kind} {axis} {name}"] for name in ("x", "y", "watched")))
        for axis in AXES
    }
