"""A cache of the curves of runs, validated on every request.

Before every response the number of chunks and evaluations of each run is compared with those of the cached curves;
for a run in progress, only new chunks are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from hooke_api.base.caches import MIB, Budget, Cache
from hooke_api.metrics.loading import Curves, Facts, Kept, Key, load, read_keys


class CurveStore:
    """The cache of a process; thread-safe, because entries are replaced and never modified."""

    def __init__(self, budget: Budget | None = None) -> None:
        """`budget`: of all caches of the process; None: one of its own, in which 60 runs of 10,000 steps fit."""
        self._kept: Cache[str, Kept] = Cache(budget or Budget(48 * MIB), lambda kept: kept.size)

    def known(self, runs: Sequence[Facts], keys: Mapping[str, Key]) -> dict[str, Curves]:
        """Return the curves of those runs of which the ones in memory are up to date."""
        kept = {run.id: self._kept.get(run.id) for run in runs}
        return {run: each.curves for run, each in kept.items() if each is not None and each.key == keys[run]}

    def read(
        self, session: Session, runs: Sequence[Facts], keys: Mapping[str, Key] | None = None
    ) -> dict[str, Curves]:
        """Return the curves of these runs as of the session's transaction; `keys`: theirs, if they are known."""
        keys = read_keys(session, runs) if keys is None else keys
        found: dict[str, Curves] = {}
        old: dict[str, Kept] = {}
        for run in runs:
            kept = self._kept.get(run.id)
            if kept is not None and kept.key == keys[run.id]:
                found[run.id] = kept.curves
            elif kept is not None:
                old[run.id] = kept
        missing = [run for run in runs if run.id not in found]
        for name, fresh in load(session, missing, keys, old) if missing else ():
            self._kept.put(name, fresh)
            found[name] = fresh.curves
        return found
