"""Caches of the curves of runs, validated on every request.

Before every response the number of chunks and evaluations of each run is compared with those of what is cached.
Curves at limited resolutions (`growing.py`) go on with the steps that are new; evaluations, which need no steps,
and curves with every row are read again.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from hooke_api.base.caches import MIB, Budget, Cache
from hooke_api.metrics import stored_growth, thinning
from hooke_api.metrics.evaluations import Row, later_evaluations, read_evaluations
from hooke_api.metrics.growing import Growing, Irregular, Places, Told
from hooke_api.metrics.growth import grow
from hooke_api.metrics.loading import (
    Curves,
    Facts,
    Key,
    load,
    parts,
    read_begun,
    read_keys,
    read_left,
    without_steps,
)
from hooke_api.metrics.pieces import Ahead
from hooke_api.storage import steps

LOCKS = 64
"""For runs: of one of them, one request at a time reads new steps, and those that wait need not."""
MANY = 1000
"""Evaluations of a run from which on they are read when it is its turn."""
FEW_ROWS = 1000
"""New rows of a run up to which they are read together with those of others."""
_Key = tuple[str, str]
"""What it is, id of the run."""


@dataclass(frozen=True)
class _Kept:
    """What is kept of a run, and the data that it follows from."""

    key: Key
    value: Curves | Growing | None
    """None: its steps are irregular."""


class CurveStore:
    """The caches of a process; thread-safe, because entries are replaced and never modified."""

    def __init__(self, budget: Budget | None = None) -> None:
        """`budget`: of all caches of the process; None: one of its own."""
        self._kept: Cache[_Key, _Kept] = Cache(budget or Budget(48 * MIB), _size)
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def known(self, runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, Curves]:
        """Return the curves with every row of those runs of which the ones in memory are up to date."""
        return {run.id: kept for run in runs if (kept := self._curves("whole", run, keys[run.id])) is not None}

    def read(
        self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key] | None = None
    ) -> dict[str, Curves]:
        """Return the curves of these runs, with every row, as of the session's transaction; `keys`: theirs."""
        keys = read_keys(session, runs) if keys is None else keys
        found = self.known(runs, keys)
        for name, fresh in load(session, [run for run in runs if run.id not in found]):
            if keys[name][-1]:  # those of a run in progress would soon be of no use
                self._kept.put(("whole", name), _Kept(keys[name], fresh))
            found[name] = fresh
        return found

    def scored(self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, Curves]:
        """Return the evaluations of those runs of which no step is needed for them."""
        of = {run.id: _of_evaluations(keys[run.id]) for run in runs}
        kept = {run.id: self._curves("evaluations", run, of[run.id]) for run in runs}
        found = {name: each for name, each in kept.items() if each is not None}
        for name, fresh in without_steps(session, [run for run in runs if run.id not in found]).items():
            self._kept.put(("evaluations", name), _Kept(of[name], fresh))
            found[name] = fresh
        return found

    def grown(
        self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key], points: int
    ) -> dict[str, Growing]:
        """Return the curves of these runs at a resolution for answers of so many points.

        Without those whose steps are irregular. Raises Unreadable and Unavailable.
        """
        levels = (thinning.LEVELS[0] // 2, *thinning.LEVELS)  # most charts are small, and so is what is kept then
        most = next((level for level in levels if level >= points), points)
        found: dict[str, Growing] = {}
        behind: list[Facts] = []
        for run in runs:
            kept = self._kept.get(("growing", run.id))
            grown = kept.value if kept is not None else None
            if isinstance(grown, Growing) and grown.covers(run, keys[run.id], most):
                found[run.id] = grown
            elif kept is None or grown is not None:  # None: irregular
                behind.append(run)
        told = self._told(session, behind, keys)
        after = self._after(session, behind, keys)
        ahead = Ahead(session, after) if len(after) > 1 else None
        for run in behind:
            fresh = self._grow(session, run, keys[run.id], told[run.id], most, ahead=ahead)
            if fresh is not None:
                found[run.id] = fresh
        return found

    def _after(self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, int]:
        """Return, of runs whose new rows are read together, the ids behind which these are; 0: all are new."""
        known = {run.id: old.key for run in runs if (old := self._growing(run.id)) is not None}
        fresh = [run for run in runs if run.id not in known]
        alone: set[str] = set()
        for ids in parts(fresh):
            alone |= stored_growth.stored(session, ids) | steps.compacted(session, ids)
        few = {run.id for run in runs if keys[run.id][0] - known.get(run.id, (0,))[0] <= FEW_ROWS}
        last = {name: key[1] for name, key in known.items()} | {run.id: 0 for run in fresh if run.id not in alone}
        return {run.id: last[run.id] for run in runs if run.id in last and run.id in few}

    def watching(self, session: Session, grown: Growing, keys: Mapping[str, Key], places: Places) -> Growing:
        """Return the same curves with the points beside further places of bands; `keys`: as `read_keys` tells."""
        settled, name = grown.settled.watching(places), grown.run.id
        if settled is grown.settled:
            return grown
        if settled is None:  # points beside them were left out
            told = self._told(session, [grown.run], keys)[name]
            return self._grow(session, grown.run, keys[name], told, grown.most, places) or grown
        grown = replace(grown, settled=settled)
        self._kept.put(("growing", name), _Kept(grown.key, grown))
        return grown

    def _grow(
        self,
        session: Session,
        run: Facts,
        key: Key,
        told: Told,
        most: int,
        places: Places | None = None,
        ahead: Ahead | None = None,
    ) -> Growing | None:
        with self._locks[hash(run.id) % LOCKS]:
            old = self._growing(run.id)
            if old is not None and not places and old.covers(run, key, most):
                return old  # another request has read the same meanwhile
            if told.evaluations is None and (old is None or old.key[2] != told.of):  # it was another one before
                told = replace(told, evaluations=read_evaluations(session, [[run.id]])[run.id])
            if old is None and not (ahead is not None and ahead.whole(run.id)):
                old = stored_growth.load(session, run)
            grown: Growing | None = None
            with suppress(Irregular):
                grown = grow(session, run, key, told, most, old, places, ahead)
            self._kept.put(("growing", run.id), _Kept(key, grown))
            return grown

    def _growing(self, run: str) -> Growing | None:
        kept = self._kept.get(("growing", run))
        return kept.value if kept is not None and isinstance(kept.value, Growing) else None

    def _told(self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, Told]:
        """Read what is known of runs beside their steps; of their evaluations those that are new, or all.

        Those of a run with many are read when it is its turn, so that not those of all runs are in memory.
        """
        begun, left = read_begun(session, runs), read_left(session, runs)
        later = self._later(session, {run.id: keys[run.id] for run in runs if len(begun[run.id]) <= 1})
        late = {run.id for run in runs if keys[run.id][2] > MANY} - later.keys()
        scored = read_evaluations(session, parts([run for run in runs if run.id not in late | later.keys()]))
        return {
            run.id: Told(
                begun[run.id],
                left[run.id],
                None if run.id in later or run.id in late else scored[run.id],
                *later.get(run.id, ()),
            )
            for run in runs
        }

    def _later(self, session: Session, keys: Mapping[str, Key]) -> dict[str, tuple[int, list[Row]]]:
        """Return, of those runs whose kept evaluations just go on, their number and the rows that follow."""
        known = {name: old for name in keys if (old := self._growing(name)) is not None and not old.earlier}
        places = {name: old.scored_to for name, old in known.items() if old.key[2] < keys[name][2]}
        later = later_evaluations(session, {name: place for name, place in places.items() if place is not None})
        found: dict[str, tuple[int, list[Row]]] = {}
        for name, old in known.items():
            rows = later[name]
            behind = not rows or rows[0][1] > old.scored[-1]
            if behind and len(old.scored) == old.key[2] == keys[name][2] - len(rows):
                found[name] = old.key[2], rows
        return found

    def _curves(self, kind: str, run: Facts, key: Key) -> Curves | None:
        kept = self._kept.get((kind, run.id))
        return kept.value if kept is not None and kept.key == key and isinstance(kept.value, Curves) else None


def _of_evaluations(key: Key) -> Key:
    """Return what evaluations follow from, as a key: their number, and that of ranks that have started."""
    _, _, evaluations, started, _, ended = key
    return (0, 0, evaluations, started, 0, ended)


def _size(kept: _Kept) -> int:
    return kept.value.nbytes if kept.value is not None else 0
