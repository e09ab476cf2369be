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
from typing import Any

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session

from hooke_api.metrics.attempts import Begun, limits_of
from hooke_api.metrics.table import COLUMNS, Column
from hooke_api.models import Chunk
from hooke_api.storage import blocks, steps
from hooke_api.storage.steps_file import Segment, StepsFile

FEW_STEPS, MOST_ROWS = 40_000, 10
"""Rows are read for so many steps at a time if they are short, at most so many times as many as otherwise."""


@dataclass(frozen=True)
class Piece:
    """Consecutive steps of one rank of one attempt."""

    attempt: int
    rank: int
    source: int | Segment
    """Id of a row, or where it is in an object."""


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


def listed(session: Session, run: str, after: int | None, file: StepsFile | None = None) -> list[Piece]:
    """Return the pieces of a run: all, with those of its object, or the rows after an id."""
    found: dict[tuple[int, int], list[Piece]] = defaultdict(list)
    for segment in file.segments if file is not None and after is None else ():
        found[segment.attempt, segment.rank].append(Piece(segment.attempt, segment.rank, segment))
    query = select(Chunk.id, Chunk.attempt, Chunk.rank).where(Chunk.run_id == run)
    if after is not None:
        query = query.where(Chunk.id > after)
    for number, attempt, rank in session.execute(query.order_by(Chunk.attempt, Chunk.rank, Chunk.seq)):
        found[attempt, rank].append(Piece(attempt, rank, number))
    placed = [
        (piece.attempt, n / len(pieces), piece.rank, piece)
        for pieces in found.values()
        for n, piece in enumerate(pieces)
    ]
    return [piece for *_, piece in sorted(placed, key=lambda each: each[:3])]


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
    session: Session, pieces: Sequence[Piece], file: StepsFile | None = None, names: Sequence[str] = COLUMNS
) -> Iterator[tuple[Piece, dict[str, Column]]]:
    """Yield pieces with their columns, of which few are in memory at a time."""
    begin, count = 0, steps.ROWS
    while some := pieces[begin : begin + count]:
        begin += count
        rows = _rows(session, [piece.source for piece in some if isinstance(piece.source, int)], names)
        read_steps = sum(len(columns["step"]) for columns in rows.values())
        count = steps.ROWS * min(MOST_ROWS, max(1, len(some) * FEW_STEPS // max(read_steps, 1) // steps.ROWS))
        for piece in some:
            if isinstance(piece.source, int):
                yield piece, rows.pop(piece.source)
            elif file is not None:
                yield piece, file.columns(piece.source, names)


def that_count(counts: Counting, piece: Piece, columns: dict[str, Column]) -> dict[str, Column]:
    """Return the steps of a piece that count."""
    below = columns["step"] <= counts.limits.get((piece.attempt, piece.rank), -math.inf)
    return columns if below.all() else {name: column[below] for name, column in columns.items()}


def _rows(session: Session, ids: Sequence[int], names: Sequence[str]) -> dict[int, dict[str, Column]]:
    """Return the columns of some rows, by their ids: copies, as the rows have others, too."""
    if not ids:
        return {}
    query = select(Chunk.id, Chunk.n, type_coerce(Chunk.header, Text), Chunk.data).where(Chunk.id.in_(ids))
    return {
        number: {name: column.copy() for name, column in blocks.read(n, _header(header), data, names).items()}
        for number, n, header, data in session.execute(query)
    }


def _header(header: Any) -> Mapping[str, Any]:
    """Return the header of a chunk; PostgreSQL's driver has read the JSON already."""
    return _parsed(header) if isinstance(header, str) else header


@lru_cache(maxsize=64)
def _parsed(header: str) -> Mapping[str, Any]:
    """Return a header that was read: chunks of as many steps have the same one."""
    found: Mapping[str, Any] = json.loads(header)
    return found
