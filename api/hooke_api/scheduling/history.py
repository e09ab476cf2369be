"""Runs of a cluster that have ended: durations of similar runs, and how much each user has used."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hooke.spec.states import RunState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.models import Attempt, Cluster, Experiment, Run
from hooke_api.queue.prediction import History, Kind, history_of_runs

REMEMBERED = 2000
"""Runs of a cluster that predictions and shares are computed from: the newest."""
WHOLE = frozenset({RunState.SUCCEEDED, RunState.TIMED_OUT})
"""States whose durations say how long a run takes; one that failed or was cancelled ended early,
and a later attempt may have gone on from a checkpoint."""


@dataclass(frozen=True)
class Ended:
    """One run that has ended, and the time for which it kept its cluster."""

    kind: Kind
    experiment: str
    user: str
    ranks: int
    """Slots that it occupied; of a simulated run the ranks of its specification do not matter."""
    whole: bool
    began_at: float
    """Seconds since 1970."""
    ended_at: float

    @property
    def seconds(self) -> float:
        """Return for how long it kept the cluster, start-up included."""
        return self.ended_at - self.began_at


@dataclass(frozen=True)
class Known:
    """The history of one cluster."""

    runs: tuple[Ended, ...]
    durations: History[Kind]

    def usage(self, now: float, half_life_hours: float) -> dict[str, float]:
        """Return the slot seconds that each user has used; use counts half after every half-life."""
        used: dict[str, float] = {}
        for run in self.runs:
            share = 0.5 ** (max(0.0, now - run.ended_at) / (3600 * half_life_hours))
            used[run.user] = used.get(run.user, 0.0) + share * run.ranks * run.seconds
        return used


_CACHE: dict[tuple[str, str], tuple[object, Known]] = {}
"""Address of the database, cluster -> the state that a history was read in, and the history."""
_LOCK = threading.Lock()


def known(session: Session, host: str, slots: int) -> Known:
    """Return the history of a cluster; read again only after another run has ended."""
    newest = select(func.max(Run.finished_at)).where(Run.host == Cluster.name).scalar_subquery()
    ends = session.execute(select(Cluster.name, newest).order_by(Cluster.name)).all()
    stamp = (slots, tuple(tuple(row) for row in ends))
    key = (str(session.connection().engine.url), host)
    with _LOCK:
        found = _CACHE.get(key)
    if found is not None and found[0] == stamp:
        return found[1]
    runs = ended_runs(session, host, slots)
    durations = history_of_runs()
    for other, end in ends:
        if end is not None:
            for run in runs if other == host else ended_runs(session, other, slots):
                if run.whole:
                    durations.add(run.kind, run.seconds)
    read = Known(tuple(runs), durations)
    with _LOCK:
        _CACHE[key] = stamp, read
    return read


def ended_runs(session: Session, host: str, slots: int, limit: int = REMEMBERED) -> list[Ended]:
    """Return the newest runs of a cluster that have ended, in the order of their ends.

    A run keeps its cluster from its dispatch, or from the end of the one before it, to its own end.
    """
    query = (
        select(
            Run.experiment_id, Run.algorithm, Run.simulated, Run.workers, Run.servers, Run.budget,
            Run.state.in_(WHOLE) & (Run.attempt == 1),
            Run.started_at, Run.finished_at, Experiment.workload, Experiment.created_by, Attempt.created_at,
        )
        .join(Experiment, Experiment.id == Run.experiment_id)
        .outerjoin(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.host == host, Run.finished_at.is_not(None), Run.started_at.is_not(None))
        .order_by(Run.finished_at.desc(), Run.id.desc())
        .limit(limit)
    )  # fmt: skip
    return _occupations(session.execute(query).all()[::-1], host, slots)


def _occupations(rows: Sequence[Sequence[object]], host: str, slots: int) -> list[Ended]:
    found: list[Ended] = []
    previous: float | None = None
    for row in rows:
        experiment, algorithm, simulated, workers, servers, budget, whole, began, ended, workload, user, sent = row
        assert isinstance(began, datetime) and isinstance(ended, datetime)  # noqa: S101, PT018 - by the query
        dispatched = sent if isinstance(sent, datetime) else began
        start = dispatched.timestamp()
        if previous is not None:
            start = max(start, previous)
        previous = ended.timestamp()
        ranks = int(workers) + int(servers)  # type: ignore[call-overload]
        kind = Kind(host, bool(simulated), str(workload), str(algorithm), ranks, int(budget))  # type: ignore[call-overload]
        taken = slots if simulated else min(ranks, slots)
        found.append(Ended(kind, str(experiment), str(user), taken, bool(whole), start, previous))
    return found
