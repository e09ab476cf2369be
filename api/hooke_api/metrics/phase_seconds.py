"""Seconds of phases in parts of the wall time, which grow with the steps of a run.

What the steps of a rank say of a part does not change once one has ended behind it. So of the steps that were read
only sums are kept, and where the parts are still the same, those that are new are read, a few at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hooke.trace.phases import PHASES
from sqlalchemy.orm import Session

from hooke_api.base.caches import MIB, Budget, Cache
from hooke_api.metrics.attempts import Begun
from hooke_api.metrics.pieces import Anew, Counting, Piece, counting, listed, read, that_count
from hooke_api.metrics.table import Column, Floats
from hooke_api.storage import steps
from hooke_api.storage.steps import Count

MEASURED = (*map(str, PHASES), "hidden")
"""Columns of seconds; the last one runs at the same time as the others."""
NAMES = ("step", "wall", *MEASURED)
LOCKS = 64
"""For runs: of one of them, one request at a time reads new steps."""


@dataclass(frozen=True)
class RankSeconds:
    """The seconds of one rank until each edge of the parts, as far as its steps go."""

    found: Floats
    """Until each edge that a step has ended behind, in the order of MEASURED. Shape (8, edges)."""
    so_far: Floats
    """Of all steps, shape (8,)."""
    ended: float = 0.0
    """The latest end of a step, s."""
    wall: float = 0.0
    """The end of the last step, s."""

    def extended(self, columns: Mapping[str, Column], edges: Floats) -> RankSeconds:
        """Return them with the steps that follow, at least one. `edges`: of all parts, s, ascending."""
        wall = columns["wall"].astype(np.float64)
        ended = np.maximum.accumulate(np.concatenate(([self.ended], wall)))
        values = np.stack([columns[name] for name in MEASURED]).astype(np.float64)
        so_far = np.cumsum(np.concatenate((self.so_far[:, np.newaxis], values), axis=1), axis=1)
        known = self.found.shape[1]
        some = edges[known : np.searchsorted(edges, ended[-1])]
        at = np.searchsorted(ended[1:], some)  # the step in which each edge lies
        length = values[:-1, at].sum(axis=0)
        began = np.maximum(ended[1:][at] - length, ended[at])
        room = ended[1:][at] - began
        gone = np.clip((some - began) / np.where(room > 0, room, 1.0), 0.0, 1.0)
        gone = np.where(room > 0, gone, some >= ended[1:][at])
        more = so_far[:, 1:][:, at] - (1 - gone) * values[:, at]
        last = so_far[:, -1].copy()  # a view would keep the sums of all these steps in memory
        return RankSeconds(np.hstack((self.found, more)), last, float(ended[-1]), float(wall[-1]))

    def in_parts(self, edges: int) -> Floats:
        """Return the seconds in each part between so many edges. Shape (8, edges - 1)."""
        rest = np.repeat(self.so_far[:, np.newaxis], edges - self.found.shape[1], axis=1)
        return np.diff(np.hstack((self.found, rest)))


NO_SECONDS = RankSeconds(np.empty((len(MEASURED), 0)), np.zeros(len(MEASURED)))


@dataclass(frozen=True)
class Stored:
    """What is stored of the steps of a run."""

    count: Count
    """Of its chunks, as `hooke_api.storage.steps.counts` tells."""
    begun: tuple[Begun, ...]


@dataclass(frozen=True)
class _Kept:
    """The seconds of a run, and the steps that they follow from."""

    stored: Stored
    counting: Counting
    ranks: Mapping[int, RankSeconds]

    @property
    def nbytes(self) -> int:
        return sum(int(rank.found.nbytes) + 500 for rank in self.ranks.values())

    def covers(self, stored: Stored) -> bool:
        """Return whether it follows from these steps, or from later ones of the same attempts as well."""
        (mine, last), (count, newest) = self.stored.count, stored.count
        return self.stored.begun == stored.begun and mine >= count and last >= newest


class PhaseStore:
    """The cache of a process; thread-safe, because entries are replaced and never modified."""

    def __init__(self, budget: Budget | None = None) -> None:
        """`budget`: of all caches of the process; None: one of its own."""
        kept: Cache[tuple[str, float, int], _Kept] = Cache(budget or Budget(8 * MIB), lambda each: each.nbytes)
        self._kept = kept
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def seconds(
        self, session: Session, run: str, stored: Stored, ranks: Sequence[int], edges: Floats
    ) -> list[RankSeconds]:
        """Return the seconds of those of some ranks of a run that have steps, in their order.

        Raises Unreadable and Unavailable.
        """
        key = (run, float(edges[-1]), len(edges))
        with self._locks[hash(run) % LOCKS]:
            now = self._kept.get(key)
            if now is None or not now.covers(stored):
                try:
                    now = _grown(session, run, stored, ranks, edges, now)
                except Anew:
                    now = _grown(session, run, stored, ranks, edges, None)
                self._kept.put(key, now)
        return [now.ranks[rank] for rank in ranks if rank in now.ranks]


def _grown(
    session: Session, run: str, stored: Stored, ranks: Sequence[int], edges: Floats, old: _Kept | None
) -> _Kept:
    """Return the seconds of a run, from those known if they go on. Raises Anew if they do not."""
    if old is None:
        with steps.opened(session, run) as file:
            pieces = listed(session, run, None, file)
            counts = counting(session, pieces, stored.begun, ranks, None, file)
            return _Kept(stored, counts, _extended({}, counts, read(session, pieces, file, NAMES), edges))
    pieces = listed(session, run, old.stored.count[1])
    if old.stored.count[0] + len(pieces) != stored.count[0]:
        raise Anew
    counts = counting(session, pieces, stored.begun, ranks, old.counting)
    return _Kept(stored, counts, _extended(old.ranks, counts, read(session, pieces, None, NAMES), edges))


def _extended(
    known: Mapping[int, RankSeconds],
    counts: Counting,
    pieces: Iterable[tuple[Piece, dict[str, Column]]],
    edges: Floats,
) -> dict[int, RankSeconds]:
    found = dict(known)
    for piece, columns in pieces:
        kept = that_count(counts, piece, columns)
        if len(kept["step"]):
            found[piece.rank] = found.get(piece.rank, NO_SECONDS).extended(kept, edges)
    return found
