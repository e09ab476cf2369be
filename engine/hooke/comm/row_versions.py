"""How often each row of a shared vector has been changed: a reader fetches only rows that are new to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hooke.comm.base import Comm, Slice
from hooke.comm.elements import tensor
from hooke.comm.touched import Rows, Touched

WHOLE = 1 << 24
"""Largest whole number up to which float32 counts without gaps."""


class RowVersions:
    """A window with one count per row; construction and `close` are collective.

    Whoever has added to rows increments their counts afterwards, atomically. A reader looks at the counts before
    it reads rows: those whose addition it finds incomplete have another count later, and are read again.
    Counts are float32 and stay right for 2^24 changes of a row; a row changed more often is always read.
    """

    def __init__(self, comm: Comm, layout: tuple[Slice, ...]) -> None:
        self._layout = layout
        counts = [Rows(part, None).count for part in layout]
        self._firsts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._window = comm.window(tensor(_zeros(int(self._firsts[-1]))), 0)
        self._known: Any = None

    def changed(self) -> Touched | None:
        """Return the rows that were changed since this rank called this before; None: all, as at first."""
        found = _zeros(int(self._firsts[-1]))
        self._window.get(tensor(found))
        known, self._known = self._known, found
        if known is None:
            return None
        new = (found != known) | (found >= WHOLE)
        if new.all():
            return None
        spans = zip(self._layout, self._firsts, self._firsts[1:], strict=False)
        return Touched(tuple(Rows(part, tensor(np.flatnonzero(new[first:stop]))) for part, first, stop in spans))

    def count(self, rows: Touched | None) -> None:
        """Note that this rank has changed these rows; None: all."""
        if rows is None:
            self._window.accumulate(tensor(_zeros(int(self._firsts[-1])) + np.float32(1)))
            return
        at = [
            first + (np.arange(each.count) if each.ids is None else each.ids.cpu().numpy())
            for each, first in zip(rows, self._firsts, strict=False)
        ]
        places = np.concatenate(at)
        self._window.accumulate(tensor(np.ones(len(places), np.float32)), places)

    def close(self) -> None:
        """Free it; collective."""
        self._window.close()


def _zeros(elements: int) -> Any:
    return np.zeros(elements, np.float32)
