"""Which rows of a vector ranks exchange: the union of what each of them has touched, or what one tells another."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.comm.base import Comm, Pending, Slice
from hooke.comm.elements import tensor
from hooke.comm.touched import Rows, Touched

UNKNOWN, ALL = -2, -1
"""In place of a number of rows: nothing is known of the vector; all rows of the slice."""


def row_counts(comm: Comm, slices: int, mine: Touched | None) -> Any:
    """Return the number of rows of every slice on every rank, int32 (P, 1 + slices); collective.

    The first column is UNKNOWN for a rank that passes None.
    """
    told = [UNKNOWN] if mine is None else [0, *_counts(mine)]
    counts: Any = np.full((comm.size, 1 + slices), UNKNOWN, dtype=np.int32)
    counts[comm.rank, : len(told)] = told
    comm.allgather(counts.view(np.uint8).reshape(-1))
    return counts


def union(comm: Comm, mine: Touched, counts: Any) -> Touched:
    """Return the rows that some rank has touched, given the result of `row_counts`; collective."""
    known = counts[:, 1:]
    sent = [k for k in range(known.shape[1]) if not (known[:, k] == ALL).any()]
    longest = int(known[:, sent].sum(axis=1).max(initial=0))
    ids: Any = np.zeros((comm.size, longest), dtype=np.int32)
    own = _ids(Touched(tuple(mine.slices[k] for k in sent)))
    ids[comm.rank, : len(own)] = own
    if longest:
        comm.allgather(ids.view(np.uint8).reshape(-1))
    found: list[Rows] = []
    starts = np.zeros(comm.size, dtype=np.int64)
    for k, rows in enumerate(mine):
        if k not in sent:
            found.append(Rows(rows.part, None))
            continue
        theirs = [ids[r, starts[r] : starts[r] + known[r, k]] for r in range(comm.size)]
        starts += known[:, k]
        found.append(Rows(rows.part, tensor(np.unique(np.concatenate(theirs)).astype(np.int64))))
    return Touched(tuple(found))


def agreed(comm: Comm, layout: tuple[Slice, ...], mine: Touched | None) -> Touched | None:
    """Return the rows that some rank has touched; None stands for all rows; collective."""
    own = all_rows(layout) if mine is None else mine
    return _unless_all(union(comm, own, row_counts(comm, len(layout), own)))


def all_rows(layout: tuple[Slice, ...]) -> Touched:
    """Return all rows of every slice."""
    return Touched(tuple(Rows(part, None) for part in layout))


def tell(comm: Comm, rows: Touched, to: int) -> list[Pending]:
    """Begin to tell another rank which rows are meant: one message of 4 bytes per slice, one of 4 per id."""
    parts = [np.array(_counts(rows), np.int32), _ids(rows)]
    return [comm.isend(_bytes(part), to) for part in parts if len(part)]


def hear(comm: Comm, layout: tuple[Slice, ...], source: int) -> Touched | None:
    """Return the rows that another rank tells; None stands for all rows."""
    counts = np.zeros(len(layout), np.int32)
    comm.recv(_bytes(counts), source)
    ids = np.zeros(int(counts[counts != ALL].sum()), np.int32)
    if len(ids):
        comm.recv(_bytes(ids), source)
    found, first = [], 0
    for part, count in zip(layout, counts.tolist(), strict=True):
        if count == ALL:
            found.append(Rows(part, None))
            continue
        found.append(Rows(part, tensor(ids[first : first + count].astype(np.int64))))
        first += count
    return _unless_all(Touched(tuple(found)))


def _counts(rows: Touched) -> list[int]:
    return [ALL if each.ids is None else len(each.ids) for each in rows]


def _ids(rows: Touched) -> Any:
    """Return the ids of all slices of which not all rows are meant, int32."""
    listed = [each.ids.cpu().numpy().astype(np.int32) for each in rows if each.ids is not None]
    return np.concatenate([np.zeros(0, np.int32), *listed])


def _bytes(array: Any) -> Any:
    return tensor(array.view(np.uint8))


def _unless_all(rows: Touched) -> Touched | None:
    """Return None in place of all rows: then whole vectors are exchanged, by the operations for these."""
    every = all(each.ids is None or len(each.ids) == each.count for each in rows)
    return None if every else rows
