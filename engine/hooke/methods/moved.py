"""The rows that a rank's steps have moved since its latest exchange, where only those travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hooke.comm.touched import Rows, Touched

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Slice


def only_moved(r: Rank) -> bool:
    """Return whether exchanges send the rows that were touched, not whole vectors."""
    return r.spec.communication.rows == "touched"


class Account:
    """Which rows have been noted since they were taken; `at_rest` has a number per row of each slice, 0: noted."""

    def __init__(self, layout: tuple[Slice, ...], at_rest: list[Any]) -> None:
        self._layout, self._resting = layout, at_rest

    def note(self, touched: Touched | None) -> None:
        """Note rows; None: all."""
        for place, resting in enumerate(self._resting):
            rows = None if touched is None else touched.slices[place]
            if rows is None or rows.ids is None:
                resting.zero_()
            else:
                resting.index_fill_(0, rows.at(resting), 0.0)

    def take(self) -> Touched | None:
        """Return the rows noted since this was called before; None: all. From now on none is."""
        found = []
        for part, resting in zip(self._layout, self._resting, strict=True):
            ids = (resting == 0).nonzero().flatten()
            found.append(Rows(part, None if len(ids) == len(resting) else ids))
            resting.fill_(1.0)
        return None if all(rows.ids is None for rows in found) else Touched(tuple(found))


class Moved(Account):
    """An account of the rows that steps move; it is part of checkpoints.

    With `at_first` all rows count as moved before the first exchange, which is then that of whole vectors.
    """

    def __init__(self, r: Rank, at_first: bool) -> None:
        state = r.state("rows at rest")  # 1: not moved
        resting: list[Any] = []
        first = 0
        for part in r.layout:  # in front of the vector, so that the rest of its memory is never touched
            count = Rows(part, None).count
            resting.append(state[first : first + count])
            first += count
        super().__init__(r.layout, resting)
        if not at_first and r.t == 0:
            for each in resting:
                each.add_(1)
