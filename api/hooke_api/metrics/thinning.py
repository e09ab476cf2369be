"""Series of ended runs at limited resolutions, stored, so that the first look at a long run reads little.

A level has, of every metric, the points that M4 keeps at its limit, with all axes (`hooke_api.metrics.level`). It
belongs to the data that it was computed from (`of_data`); if the run has others now, its steps are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from hooke_api.metrics import stored_brackets
from hooke_api.metrics.axes import OF_STEPS, curve
from hooke_api.metrics.evaluations import read_evaluations
from hooke_api.metrics.growing import Growing, Irregular, Told
from hooke_api.metrics.growth import grow
from hooke_api.metrics.level import AXES, Thinned
from hooke_api.metrics.loading import (
    Curves,
    Facts,
    Key,
    load,
    parts,
    read_begun,
    read_facts,
    read_keys,
    read_left,
)
from hooke_api.metrics.m4 import m4
from hooke_api.metrics.schemas import BYTES_SENT, Axis, CommonMetric, Metric
from hooke_api.metrics.table import Floats
from hooke_api.models import RankTotals, Run, ThinnedSeries
from hooke_api.storage import evaluated
from hooke_api.storage.database import Database

LEVELS = (1024, 10_000)
"""Limits of points: that of charts, and that of a query."""
LEAST_STEPS = 2 * LEVELS[0]
"""Steps of a rank from which on a run gets levels; the steps of shorter runs are read quickly."""
VERSION = 2
"""Of what is computed: changed with it, it makes stored levels invalid."""


def thinned(run: Facts, curves: Curves, metric: Metric, most: int) -> Thinned:
    """Return the points of a metric of a run that M4 keeps at a limit."""
    axes = {axis: curve(run, curves, metric, axis) for axis in AXES}
    y = axes[AXES[0]][1]
    kept = m4(y, most)
    gaps = not bool(np.isfinite(y).all())
    return Thinned(len(y), gaps, kept, {axis: x[kept] for axis, (x, _) in axes.items()}, y[kept])


def mark(run: Facts, key: Key) -> str:
    """Return what stands for the data that the curves of a run follow from."""
    return " ".join(map(str, (VERSION, *key[:-1], int(run.lockstep), run.workers, run.batch)))


def read(
    session: Session,
    runs: Sequence[Facts],
    keys: Mapping[str, Key],
    metrics: Sequence[Metric],
    points: int,
) -> dict[str, dict[Metric, Thinned]]:
    """Return the stored series of those runs that have a level for answers of so many points.

    A metric that is missing has no points. No run for `BYTES_SENT`, which is not stored.
    """
    if BYTES_SENT in metrics:
        return {}
    most = next((level for level in LEVELS if level >= points), None)
    of = ThinnedSeries
    columns = (of.run_id, of.of_data, of.metric, of.n, of.gaps, of.data)
    query = select(*columns).where(of.most == most, of.metric.in_(metrics))
    marks = marks_of(runs, keys)
    found: dict[str, dict[Metric, Thinned]] = {}
    for ids in parts([run for run in runs if run.ended]) if most is not None else ():
        for run, of_data, metric, n, gaps, data in session.execute(query.where(of.run_id.in_(ids))):
            if of_data == marks[run]:
                found.setdefault(run, {})[metric] = Thinned.unpacked(n, gaps, data)
    return found


def marks_of(runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, str]:
    """Return the marks of those runs that have ended, by id."""
    return {run.id: mark(run, keys[run.id]) for run in runs if run.ended}


def store(database: Database, run_id: str, again: bool = False) -> bool:
    """Store the levels of a run, and its points beside the places of bands, if it has ended; return if it did.

    Not if it has those of its present data, but `again`: other runs of its group have ended since. Of a short one,
    only where it ends, which others have to know, and what its evaluations say (`hooke_api.storage.evaluated`).
    """
    with database.read() as session:
        runs = read_facts(session, Run.id == run_id)
        if not runs or not runs[0].ended:
            return False
        run = runs[0]
        keys = read_keys(session, runs)
        of_data = mark(run, keys[run_id])
        of = ThinnedSeries
        present = select(of.of_data).where(of.run_id == run_id, of.most == stored_brackets.PLACES)
        if not again and session.scalars(present).first() == of_data:
            return False
        places = stored_brackets.united(list(stored_brackets.others_of(session, run).values()))
        found = _curves(session, run, keys[run_id], places)
        steps = session.scalar(select(func.max(RankTotals.steps)).where(RankTotals.run_id == run_id)) or 0
        known = evaluated.row(session, run_id)
    made = [known, stored_brackets.places_row(run, found, places)]
    if not again or steps > LEAST_STEPS:
        made += _rows(run, found)
        made += stored_brackets.rows(run, found, places, LEVELS[0]) if isinstance(found, Growing) else ()
    rows = [{"run_id": run_id, "of_data": of_data} | row for row in made]
    with database.write() as session:
        if session.get(Run, run_id) is None:  # purged meanwhile
            return False
        session.execute(delete(ThinnedSeries).where(ThinnedSeries.run_id == run_id))
        session.execute(insert(ThinnedSeries), rows)
    return True


def _curves(session: Session, run: Facts, key: Key, places: Mapping[Axis, Floats]) -> Growing | Curves:
    """Return what levels follow from, beside these places, too; with every row only where steps are irregular."""
    evaluations = read_evaluations(session, parts([run]))[run.id]
    told = Told(read_begun(session, [run])[run.id], read_left(session, [run])[run.id], evaluations)
    try:
        watched = {(axis, kind): frozenset(places[axis].tolist()) for axis in AXES for kind in (False, True)}
        watched["samples", False] |= {float(row[1]) for row in evaluations}  # what was sent until each
        return grow(session, run, key, told, LEVELS[-1], places=watched)
    except Irregular:
        return dict(load(session, [run]))[run.id]


def _rows(run: Facts, found: Growing | Curves) -> Iterator[dict[str, Any]]:
    """Yield the rows of every level that is much smaller than the run.

    Metrics of all runs have a row even without points: a level that is there can then be told from none.
    """
    grown, curves = (found, found.curves) if isinstance(found, Growing) else (None, found)
    rows = len(curves.table) if grown is None else grown.rows
    longest = max(rows, len(curves.evaluations.samples))
    for most in LEVELS:
        if most != LEVELS[0] and longest <= 2 * most:
            continue
        for metric in (*get_args(CommonMetric), *curves.evaluations.further):
            if grown is not None and metric in OF_STEPS:
                line = grown.line(metric).thinner(most)
            else:
                line = thinned(run, curves, metric, most)
            if line.n or metric in get_args(CommonMetric):
                told = {"metric": metric, "n": line.n, "gaps": line.gaps}
                yield {"most": most, **told, "data": line.packed()}
