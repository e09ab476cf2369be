"""The steps of a run piece by piece, in an order in which all ranks advance together.

A piece is a row of the table `chunks`, or a segment of the object of a compacted run. Of one rank, pieces are in
the order of its steps; pieces of several ranks are in the order of the share of their rank's pieces that is before
them, whoever delivered them when. So what is computed of all ranks needs few of them at a time.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Text, func, or_, select, type_coerce
from sqlalchemy.orm import Session

from hooke_api.base.workers import still_working
from hooke_api.metrics.attempts import Begun, limits_of
from hooke_api.metrics.table import COLUMNS, Column
from hooke_api.models import Chunk
from hooke_api.storage import blocks, steps
from hooke_api.storage.statements import filled
from hooke_api.storage.steps_file import Segment, StepsFile

FEW_STEPS, MOST_ROWS = 40_000, 10
"""Rows are read for so many steps at a time if they are short, at most so many times as many as otherwise."""
RUNS = 128
"""Of one query."""


@dataclass(frozen=True)
class Piece:
    """Consecutive steps of one rank of one attempt."""

    attempt: int
    rank: int
    source: int | Segment
    """Id of a row, of several of them that of the first; or where it is in an object."""
    rows: int = 1
    """How many rows it stands for, which were read together."""


class Anew(Exception):
    """Steps do not just go on: all of them have to be read."""


@dataclass(frozen=True)
class Counting:
    """Which steps of a run count: see `hooke_api.metrics.attempts`."""

    limits: Mapping[tuple[int, int], float]
    """(attempt, rank) -> the last of its steps that counts."""
    firsts: Mapping[tuple[int, int], int]
    """(attempt, rank) -> its first step, of attempts after the first one."""
    highest: int
    """Number of the newest attempt that has steps."""


Columns = dict[str, Column]
_Stored = tuple[int, Mapping[str, Any], bytes]
"""Number of steps, header and data of a row."""


class Ahead:
    """The new rows of several runs, which few queries read for all of them; runs of very many steps are left out.

    A query of each run takes longer than the computation: its thread waits for the interpreter after each one, and
    on SQLite after each row. So rows are counted first, and then read in one pass, without a list of them.
    Runs are asked for in the order in which they are given, and are read for `FEW_STEPS` at a time.
    """

    def __init__(self, session: Session, after: Mapping[str, int]) -> None:
        """`after`: run -> id, above which its rows are new; 0: all are, and there is no object of it."""
        self.columns: dict[int, Columns] = {}
        """Id of the first row of a piece -> what it holds; to be taken out."""
        self._session, self._after = session, after
        self._pieces: dict[str, list[Piece]] = {}
        """Of runs; empty before they are read."""
        self._groups: dict[str, list[str]] = {}
        """Run -> those that are read with it, if they are not read yet."""
        count, group, held = self._counted(), list[str](), 0
        for run in after:
            if count[run] > FEW_STEPS:
                continue
            self._pieces[run] = []
            if not count[run]:
                continue
            if held + count[run] > FEW_STEPS or len(group) == RUNS:
                group, held = [], 0
            held += count[run]
            group.append(run)
            self._groups[run] = group

    def _counted(self) -> dict[str, int]:
        """Return how many new steps each run has."""
        found, runs = dict.fromkeys(self._after, 0), list(self._after)
        for begin in range(0, len(runs), RUNS):
            query = select(Chunk.run_id, func.sum(Chunk.n)).where(self._new(runs[begin : begin + RUNS]))
            found.update({run: int(n) for run, n in self._session.execute(query.group_by(Chunk.run_id))})
        return found

    def _new(self, runs: Sequence[str]) -> ColumnElement[bool]:
        """Return the condition that a row is new of one of these runs."""
        of = Chunk.__table__.c
        if not any(self._after[run] for run in runs):  # all rows: one condition is made faster than one for each
            return of.run_id.in_(filled(runs, ""))
        new = [(of.run_id == run) & (of.id > self._after[run]) for run in runs]
        return or_(*filled(new, (of.run_id == "") & (of.id > 0)))

    def whole(self, run: str) -> bool:
        """Return whether it has all steps of a run."""
        return self._after.get(run) == 0 and run in self._pieces

    def known(self, run: str, after: int) -> list[Piece] | None:
        """Return the pieces of a run behind an id, or None if they are not to be had, or were taken out."""
        if self._after.get(run) == after and run in self._groups:
            self._read(self._groups[run])
        own = self._pieces.pop(run, None)
        return own if self._after.get(run) == after else None

    def _read(self, runs: Sequence[str]) -> None:
        """Read the new rows of some runs."""
        for run in runs:
            self._groups.pop(run, None)
        wanted = [run for run in runs if run in self._pieces]
        of = Chunk.__table__.c
        place = (of.run_id, of.attempt, of.rank, of.seq)
        query = select(*place, of.id, of.n, type_coerce(of.header, Text), of.data).where(self._new(wanted))
        still_working()
        # in order here: the database would sort the data, too
        rows = sorted(self._session.execute(query).all(), key=itemgetter(0, 1, 2, 3))
        for (run, attempt, rank), own in groupby(rows, key=itemgetter(0, 1, 2)):
            found = [(row[4], (row[5], _header(row[6]), row[7])) for row in own]
            piece = Piece(attempt, rank, found[0][0], len(found))
            self.columns[found[0][0]] = blocks.read_joined([stored for _, stored in found], COLUMNS)
            self._pieces[run].append(piece)


def listed(
    session: Session, run: str, after: int | None, file: StepsFile | None = None, ahead: Ahead | None = None
) -> list[Piece]:
    """Return the pieces of a run: all, with those of its object, or the rows after an id."""
    found: dict[tuple[int, int], list[Piece]] = defaultdict(list)
    for segment in file.segments if file is not None and after is None else ():
        found[segment.attempt, segment.rank].append(Piece(segment.attempt, segment.rank, segment))
    known = ahead.known(run, after or 0) if ahead is not None and file is None else None
    for piece in _of_rows(session, run, after) if known is None else known:
        found[piece.attempt, piece.rank].append(piece)
    placed = [
        (piece.attempt, n / len(pieces), piece.rank, piece)
        for pieces in found.values()
        for n, piece in enumerate(pieces)
    ]
    return [piece for *_, piece in sorted(placed, key=lambda each: each[:3])]


def _of_rows(session: Session, run: str, after: int | None) -> Iterator[Piece]:
    query = select(Chunk.id, Chunk.attempt, Chunk.rank).where(Chunk.run_id == run)
    if after is not None:
        query = query.where(Chunk.id > after)
    for number, attempt, rank in session.execute(query.order_by(Chunk.attempt, Chunk.rank, Chunk.seq)):
        yield Piece(attempt, rank, number)


def counting(
    session: Session,
    pieces: Sequence[Piece],
    begun: Sequence[Begun],
    ranks: Sequence[int],
    old: Counting | None = None,
    file: StepsFile | None = None,
) -> Counting:
    """Return which steps count of ranks that have these pieces; `old`: which did, of those before these.

    Raises Anew if others of the steps before these count now, or if there are now steps before them.
    """
    numbers = {each.number for each in begun} | {piece.attempt for piece in pieces}
    firsts: dict[tuple[int, int], int] = {}
    highest = max((piece.attempt for piece in pieces), default=1)
    if old is not None:
        numbers |= {attempt for attempt, _ in old.limits}
        firsts |= old.firsts
        highest = max(highest, old.highest)
    found: dict[tuple[int, int], Piece] = {}
    for piece in pieces:
        if piece.attempt > min(numbers) and (piece.attempt, piece.rank) not in firsts:
            found.setdefault((piece.attempt, piece.rank), piece)
    for piece, columns in read(session, list(found.values()), file, ("step",)):
        firsts[piece.attempt, piece.rank] = int(columns["step"][0])
    limits = limits_of(sorted(numbers), begun, firsts, ranks)
    if old is not None and (limits != old.limits or any(piece.attempt < old.highest for piece in pieces)):
        raise Anew
    return Counting(limits, firsts, highest)


def read(
    session: Session,
    pieces: Sequence[Piece],
    file: StepsFile | None = None,
    names: Sequence[str] = COLUMNS,
    ahead: Ahead | None = None,
) -> Iterator[tuple[Piece, Columns]]:
    """Yield pieces with their columns, of which few are in memory at a time; `ahead`: with all of `COLUMNS`.

    Rows of one rank that are read together are one piece, the first one: each array of its own takes more time and
    memory than the few steps in it.
    """
    known = ahead.columns if ahead is not None else {}
    if known and all(isinstance(piece.source, int) and piece.source in known for piece in pieces):
        yield from ((piece, known.pop(piece.source)) for piece in pieces if isinstance(piece.source, int))
        return
    begin, count = 0, steps.ROWS
    while some := pieces[begin : begin + count]:
        still_working()
        begin += count
        rows = _stored(session, [piece.source for piece in some if isinstance(piece.source, int)])
        read_steps = sum(n for n, *_ in rows.values())
        count = steps.ROWS * min(MOST_ROWS, max(1, len(some) * FEW_STEPS // max(read_steps, 1) // steps.ROWS))
        for piece, own in _together(some):
            if own:
                yield piece, blocks.read_joined([rows.pop(number) for number in own], names)
            elif file is not None and not isinstance(piece.source, int):
                yield piece, file.columns(piece.source, names)


def _together(pieces: Sequence[Piece]) -> list[tuple[Piece, list[int]]]:
    """Return the first of those pieces of a rank that are rows, with the ids of these; others without any."""
    found: dict[tuple[int, int, int], tuple[Piece, list[int]]] = {}
    for n, piece in enumerate(pieces):
        of_row = isinstance(piece.source, int)
        _, own = found.setdefault((piece.attempt, piece.rank, -1 if of_row else n), (piece, []))
        if isinstance(piece.source, int):
            own.append(piece.source)
    return list(found.values())


def that_count(counts: Counting, piece: Piece, columns: dict[str, Column]) -> dict[str, Column]:
    """Return the steps of a piece that count."""
    below = columns["step"] <= counts.limits.get((piece.attempt, piece.rank), -math.inf)
    return columns if below.all() else {name: column[below] for name, column in columns.items()}


def _stored(session: Session, ids: Sequence[int]) -> dict[int, _Stored]:
    """Return some rows, by their ids.

    The last one is named again up to a power of two: a connection to SQLite keeps what it prepared for each number
    of them, some 200 bytes for each.
    """
    if not ids:
        return {}
    named = filled(ids, ids[-1])
    of = Chunk.__table__.c  # without the mapper, which takes a third of the time
    query = select(of.id, of.n, type_coerce(of.header, Text), of.data).where(of.id.in_(named))
    return {number: (n, _header(header), data) for number, n, header, data in session.execute(query)}


def _header(header: Any) -> Mapping[str, Any]:
    """Return the header of a chunk; PostgreSQL's driver has read the JSON already."""
    return _parsed(header) if isinstance(header, str) else header


@lru_cache(maxsize=64)
def _parsed(header: str) -> Mapping[str, Any]:
    """Return a header that was read: chunks of as many steps have the same one."""
    found: Mapping[str, Any] = json.loads(header)
    return found
