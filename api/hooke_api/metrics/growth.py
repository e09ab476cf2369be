"""Lets the curves of a run grow by the steps that are new; see `hooke_api.metrics.growing`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Literal

import numpy as np
from sqlalchemy.orm import Session

from hooke_api.metrics.attempts import keep_evaluations
from hooke_api.metrics.axes import OF_STEPS, curve
from hooke_api.metrics.brackets import nothing
from hooke_api.metrics.evaluations import Evaluations, joined, place_of, read_evaluations
from hooke_api.metrics.growing import (
    NO_EVALUATIONS,
    OF_ROWS,
    STALENESS,
    Growing,
    Irregular,
    Places,
    Settled,
    Told,
    same_shape,
)
from hooke_api.metrics.level import AXES, EMPTY
from hooke_api.metrics.loading import Curves, Facts, Key, expected_ranks, restored_samples, table_of
from hooke_api.metrics.pieces import Ahead, Anew, Piece, counting, listed, read, that_count
from hooke_api.metrics.rows import joined_rows, part
from hooke_api.metrics.schemas import Axis, Metric
from hooke_api.metrics.table import NOTHING, START, Before, Column, Floats, RankColumns, Table
from hooke_api.storage import steps
from hooke_api.storage.steps_file import StepsFile

FOLD_STEPS = 65_536
"""Steps, over all ranks, after which their rows are settled: so many of a run are in memory while it is read."""
LEAST_ROWS = 256
"""Rows from which on they are settled: the steps of fewer are kept, and take little time to be read again."""
WHOLE_ROWS = 4096
"""Settled rows from which on they are thinned out: so many take as much memory as the points that are kept."""


def grow(
    session: Session,
    run: Facts,
    key: Key,
    told: Told,
    most: int,
    old: Growing | None = None,
    places: Places | None = None,
    ahead: Ahead | None = None,
) -> Growing:
    """Return the curves of a run as of a key, for answers of at most `most` points.

    They go on from `old`, which is of the same run, where that is possible. They watch what it watched, and
    `places`. Where `told` has no evaluations, `old` has all. `ahead` may have the new steps. Raises Irregular,
    Unreadable and Unavailable.
    """
    if old is not None and old.serves(most) and same_shape(old.run, run):
        try:
            if (settled := old.settled.watching(places or {})) is not None:
                return _Growth(session, run, key, told, old, None, ahead).grown(settled, max(most, old.most))
        except Anew:
            pass
    if told.evaluations is None:
        told = replace(told, evaluations=read_evaluations(session, [[run.id]])[run.id])
    watched = dict(places or {})
    for place, some in (old.settled.watched if old is not None else {}).items():
        watched[place] = watched.get(place, frozenset()) | some
    most = max(most, old.most if old is not None else 0)
    known = ahead if ahead is not None and ahead.whole(run.id) else None
    with _object(session, run.id, known) as file:
        try:
            return _Growth(session, run, key, told, None, file, known).grown(_beginning(run, watched), most)
        except Anew as error:
            raise Irregular from error


def _object(session: Session, run: str, known: Ahead | None) -> AbstractContextManager[StepsFile | None]:
    """Open the object of a run; a run of which all rows are known has none."""
    return nullcontext() if known is not None else steps.opened(session, run)


def _beginning(run: Facts, watched: Places) -> Settled:
    """Return what is settled of a run of which nothing was read."""
    unit = {axis: float(run.workers * run.batch) if axis == "samples" else 1.0 for axis in AXES}
    rows = {axis: nothing(unit[axis], len(OF_ROWS), watched.get((axis, False), ())) for axis in AXES}
    stale = {axis: nothing(unit[axis], 1, watched.get((axis, True), ())) for axis in AXES}
    return Settled(START, ((), 0), dict.fromkeys(OF_STEPS, EMPTY), rows, stale)


class _Growth:
    """One growth of the curves of a run: from what is known of it, or without `old` from nothing."""

    def __init__(  # noqa: PLR0913 - what is known of a run, and where the rest is
        self,
        session: Session,
        run: Facts,
        key: Key,
        told: Told,
        old: Growing | None,
        file: StepsFile | None,
        ahead: Ahead | None = None,
    ) -> None:
        self.session, self.run, self.key, self.told, self.old, self.file = session, run, key, told, old, file
        self.ahead = ahead
        self.pieces = listed(session, run.id, old.key[1] if old is not None else None, file, ahead)
        if old is not None and old.key[0] + sum(piece.rows for piece in self.pieces) != key[0]:
            raise Anew  # chunks have other ids now
        ranks, known = range(run.workers + run.servers), old.counting if old is not None else None
        self.counting = counting(session, self.pieces, told.begun, ranks, known, file)
        if self.counting.highest > told.newest:
            raise Irregular  # none of its ranks has begun
        self.ranks: dict[int, RankColumns] = dict(old.ranks) if old is not None else {}
        self.earlier: dict[int, int] = dict(old.earlier) if old is not None else {}
        rows = self.told.later if told.evaluations is None else told.evaluations
        self.scored = np.array([float(row[1]) for row in rows])
        self.scored_to = place_of(rows)
        if told.evaluations is None and old is not None:
            self.scored = np.concatenate((old.scored, self.scored))
            self.scored_to = self.scored_to or old.scored_to
        self.fresh: dict[int, list[dict[str, Column]]] = defaultdict(list)
        self.held = 0
        unthinned = old.settled.unthinned if old is not None else 0
        self.unthinned = [part(old.tail, 0, unthinned)] if old is not None and unthinned else []

    def grown(self, settled: Settled, most: int) -> Growing:
        """Read the new steps, and return what there is now."""
        self.most = most
        self.settled = settled
        if len(settled.rows["samples"].watched):  # somebody has asked what was sent until each evaluation
            self.settled = settled.watching({("samples", False): self._scored_behind(settled)}) or settled
        awaited = {piece.rank for piece in self.pieces}
        for piece, columns in read(self.session, self.pieces, self.file, ahead=self.ahead):
            self._add(piece, that_count(self.counting, piece, columns))
            if self.held >= FOLD_STEPS:
                self._fold(awaited)
        rest = self._fold(set())
        if self.run.ended:  # then an incomplete last row counts, too
            rest = self._rows()
        self._check_order(rest)
        tail = joined_rows([*self.unthinned, rest])
        state = (self.settled, tail, self.ranks, self.counting, self.earlier)
        return Growing(self.run, self.key, most, *state, self.scored, self._evaluations(), self.scored_to)

    def _scored_behind(self, settled: Settled) -> frozenset[float]:
        """Return the samples of evaluations that no settled row has passed: what they sent is that of a row."""
        x = settled.rows["samples"].x
        return frozenset(self.scored[self.scored >= x[-1]].tolist() if len(x) else self.scored.tolist())

    def _add(self, piece: Piece, columns: dict[str, Column]) -> None:
        n = len(columns["step"])
        if n:
            self.fresh[piece.rank].append(columns)
            self.held += n
        if n and piece.attempt < self.told.newest:
            self.earlier[piece.rank] = self.earlier.get(piece.rank, 0) + n

    def _fold(self, awaited: set[int]) -> Table:
        """Settle the rows that no step can change any more; none while one of these ranks is still to be read.

        Return the rows that follow on the settled ones.
        """
        for rank, parts in self.fresh.items():
            self.ranks[rank] = self._joined(rank, parts)
        self.fresh.clear()
        self.held = 0
        if awaited - self.ranks.keys():
            return NOTHING
        ranks = self._expected()
        writers = tuple(r.rank for r in ranks if not r.server and len(r))
        gone = sum(r.left for r in ranks if not r.server and not len(r))
        before = self.settled.before
        if before.rows and self.settled.writers != (writers, gone):
            raise Anew  # rows are of other workers now
        going_on = [float(r["wall"][-1]) for r in ranks if len(r) and not r.left]
        table = table_of(self.run, ranks, False, before)
        rows = int(np.searchsorted(table.wall, min(going_on, default=math.inf), side="left"))
        if rows < LEAST_ROWS:
            return table
        self._settle(part(table, 0, rows), (writers, gone))
        self._leave_out(rows)
        return part(table, rows, len(table))

    def _joined(self, rank: int, parts: Sequence[dict[str, Column]]) -> RankColumns:
        known = self.ranks.get(rank, RankColumns(rank, rank >= self.run.workers, {}))
        all_parts = [known.columns, *parts] if known.columns else parts
        columns = {name: np.concatenate([part[name] for part in all_parts]) for name in parts[0]}
        wall, new = columns["wall"], len(known) if known.columns else 0
        if (np.diff(wall[max(new - 1, 0) :]) < 0).any():
            raise Irregular
        if wall[new] <= self.settled.before.wall:
            raise Anew  # a rank of which no more was expected
        return replace(known, columns=columns)

    def _expected(self) -> list[RankColumns]:
        return expected_ranks(self.run, self.ranks, self.told.left, self.told.newest)

    def _rows(self) -> Table:
        return table_of(self.run, self._expected(), True, self.settled.before)

    def _check_order(self, table: Table) -> None:
        """Raise Irregular if rows do not follow on the settled ones on every axis."""
        for axis, known in self.settled.rows.items():
            last = self._x(self.unthinned[-1], axis) if self.unthinned else known.x
            x = np.concatenate((last[-1:], self._x(table, axis)))
            if len(x) and (x[0] < 0 or (x[1:] < x[:-1]).any()):
                raise Irregular

    def _x(self, table: Table, axis: Axis) -> Floats:
        return self._curve(table, "train_loss", axis)[0]

    def _curve(self, table: Table, metric: Metric, axis: Axis) -> tuple[Floats, Floats]:
        return curve(self.run, Curves(table, NO_EVALUATIONS), metric, axis)

    def _settle(self, table: Table, writers: tuple[tuple[int, ...], int]) -> None:
        """Add rows that follow to what is kept."""
        self._check_order(table)
        rows = self.settled.before.rows + len(table)
        before = Before(rows, float(table.wall[-1]), float(table.clock[-1]))
        unthinned = self.settled.unthinned + len(table)
        self.settled = replace(self.settled, before=before, writers=writers, unthinned=unthinned)
        self.unthinned.append(table)
        if unthinned >= WHOLE_ROWS:
            self._thin_out(joined_rows(self.unthinned))
            self.unthinned.clear()

    def _thin_out(self, table: Table) -> None:
        """Keep of settled rows the points from which answers follow."""
        known = self.settled
        drawn = {(m, axis): self._curve(table, m, axis) for m in OF_STEPS for axis in AXES}
        levels = {}
        for metric, level in known.levels.items():
            x = {axis: drawn[metric, axis][0] for axis in AXES}
            levels[metric] = level.extended(x, drawn[metric, AXES[0]][1], self.most)
        y = np.stack([drawn[metric, AXES[0]][1] for metric in OF_ROWS])
        rows = {axis: each.extended(drawn[OF_ROWS[0], axis][0], y) for axis, each in known.rows.items()}
        stale = {}
        for axis, each in known.stale.items():
            x_of, y_of = drawn[STALENESS, axis]
            stale[axis] = each.extended(x_of, y_of[np.newaxis])
        self.settled = Settled(known.before, known.writers, levels, rows, stale)

    def _leave_out(self, rows: int) -> None:
        """Leave out the steps of the first rows, but for the last one of each rank, which later rows may need."""
        wall = self.settled.before.wall
        writers = sorted((rank for rank in self.ranks.values() if not rank.server), key=lambda each: each.rank)
        taken = dict(zip((w.rank for w in writers), _taken(writers, rows, wall, self.run.lockstep), strict=True))
        for number, rank in self.ranks.items():
            own = taken.get(number)
            self.ranks[number] = _after(rank, _until(rank, wall, "right") if own is None else own)

    def _evaluations(self) -> Evaluations:
        old, rows = self.old, self.told.evaluations
        if rows is None and old is not None and old.earlier == self.earlier:
            return old.evaluations.followed(joined(self.told.later))
        if rows is None:
            rows = read_evaluations(self.session, [[self.run.id]])[self.run.id]
        return joined(keep_evaluations(rows, self.told.begun, restored_samples(self.run, self.earlier)))


def _until(rank: RankColumns, wall: float, side: Literal["left", "right"]) -> int:
    """Return how many of the steps of a rank have ended before a time, or (`right`) not after it."""
    return int(np.searchsorted(rank["wall"], wall, side=side))


def _taken(writers: Sequence[RankColumns], rows: int, wall: float, lockstep: bool) -> list[int]:
    """Return how many of the steps of each worker are in the first rows, the last of which ended at `wall`."""
    if lockstep:
        return [w.done + rows for w in writers]
    taken = [max(_until(w, wall, "left"), w.done) for w in writers]
    more = rows * len(writers) - sum(n - w.done for n, w in zip(taken, writers, strict=True))
    for i, w in enumerate(writers):  # of the steps that ended at this time, those of the first workers come first
        at_once = min(more, _until(w, wall, "right") - taken[i])
        taken[i] += at_once
        more -= at_once
    return taken


def _after(rank: RankColumns, taken: int) -> RankColumns:
    """Return the steps of a rank behind those that are in rows, and the last one of these."""
    begin = max(taken - 1, 0)
    columns = {name: column[begin:].copy() for name, column in rank.columns.items()}
    sent, exposed = (float(rank.so_far(name)[begin]) for name in ("wire", "communicate"))
    return replace(rank, columns=columns, done=taken - begin, sent=sent, exposed=exposed)
