"""A cache of the curves of runs, validated on every request.

Before every response the number of chunks and evaluations of each run is compared with those of the cached curves;
for a run in progress, only new chunks are read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from hooke_api.metrics.loading import Curves, Facts, Kept, Key, load, read_keys

KEPT_BYTES = 96 * 1024 * 1024
"""Size of the cache; least recently used curves are evicted. 100 runs of 10,000 steps fit."""


class CurveStore:
    """The cache of a process; thread-safe, because entries are replaced and never modified."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def known(self, runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, Curves]:
        """Return the curves of those runs of which the ones in memory are up to date."""
        kept = {run.id: self._get(run.id) for run in runs}
        return {run: each.curves for run, each in kept.items() if each is not None and each.key == keys[run]}

    def read(
        self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key] | None = None
    ) -> dict[str, Curves]:
        """Return the curves of these runs as of the session's transaction; `keys`: theirs, if they are known."""
        keys = read_keys(session, runs) if keys is None else keys
        found: dict[str, Curves] = {}
        old: dict[str, Kept] = {}
        for run in runs:
            kept = self._get(run.id)
            if kept is not None and kept.key == keys[run.id]:
                found[run.id] = kept.curves
            elif kept is not None:
                old[run.id] = kept
        missing = [run for run in runs if run.id not in found]
        for name, fresh in load(session, missing, keys, old).items() if missing else ():
            self._put(name, fresh)
            found[name] = fresh.curves
        return found

    def _get(self, run: str) -> Kept | None:
        with self._lock:
            if run in self._kept:
                self._kept.move_to_end(run)
            return self._kept.get(run)

    def _put(self, run: str, kept: Kept) -> None:
        with self._lock:
            before = self._kept.pop(run, None)
            self._size += kept.size - (before.size if before else 0)
            self._kept[run] = kept
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1].size
