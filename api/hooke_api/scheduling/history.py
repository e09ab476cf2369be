"""Runs of a cluster that have ended, and durations of similar runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.models import Attempt, Cluster, Experiment, Run
from hooke_api.queue.likeness import Kind, history_of_runs
from hooke_api.queue.prediction import History

REMEMBERED = 2000
"""Runs of a cluster that predictions are computed from: the newest."""
WHOLE = frozenset({RunState.SUCCEEDED, RunState.TIMED_OUT})
"""States whose durations say how long a run takes; one that failed or was cancelled ended early."""
ABOUT = (
    Experiment.workload,
    Experiment.spec[("budget", "max_seconds")].as_float().label("limit"),
    Experiment.spec[("target", "value")].as_float().label("target"),
)
"""Columns of an experiment that the durations of its runs depend on."""
Columns = Any
"""A row of a query, or a Run, with the columns that a function reads."""


@dataclass(frozen=True)
class Ended:
    """One run that has ended, and the time for which it kept its cluster."""

    kind: Kind
    experiment: str
    user: str
    slots: int
    """Slots that others could not use meanwhile: all of the cluster, as a launch has it to itself."""
    whole: bool
    """Whether its duration says how long such a run takes."""
    samples: int
    """Samples that it trained on."""
    began_at: float
    """Seconds since 1970."""
    trained_at: float
    """When its ranks had started."""
    ended_at: float

    @property
    def seconds(self) -> float:
        """Return for how long it kept the cluster, start-up included; at least 0, whatever clocks say."""
        return max(0.0, self.ended_at - self.began_at)

    @property
    def starting(self) -> float:
        """Return how much of that was start-up."""
        return self.trained_at - self.began_at


@dataclass(frozen=True)
class Known:
    """The history of one cluster."""

    runs: tuple[Ended, ...]
    durations: History[Kind]


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
                    durations.add(run.kind, run.seconds, run.starting, run.samples)
    read = Known(tuple(runs), durations)
    with _LOCK:
        _CACHE[key] = stamp, read
    return read


def ended_runs(session: Session, host: str, slots: int, limit: int = REMEMBERED) -> list[Ended]:
    """Return the newest runs of a cluster that have ended after they were sent, in the order of their ends.

    A run keeps its cluster from its dispatch, or from the end of the one before it, to its own end. One whose
    ranks never started did, too.
    """
    query = (
        select(
            Run.experiment_id, Run.algorithm, Run.simulated, Run.workers, Run.servers, Run.budget, Run.state,
            Run.attempt, Run.samples, Run.started_at, Run.finished_at, *ABOUT, Experiment.created_by,
            Attempt.created_at.label("sent"),
        )
        .join(Experiment, Experiment.id == Run.experiment_id)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.host == host, Run.finished_at.is_not(None))
        .order_by(Run.finished_at.desc(), Run.id.desc())
        .limit(limit)
    )  # fmt: skip
    return _occupations(session.execute(query).all()[::-1], host, slots)


def kind_of(host: str, about: Columns, run: Columns) -> Kind:
    """Return what the duration of a run depends on; `about`: a row with the columns ABOUT."""
    ranks = run.workers + run.servers
    return Kind(host, run.simulated, about.workload, run.algorithm, ranks, run.budget, about.limit, about.target)


def _occupations(rows: Sequence[Columns], host: str, slots: int) -> list[Ended]:
    found: list[Ended] = []
    previous = 0.0
    for row in rows:
        ended = row.finished_at.timestamp()
        began = max(row.sent.timestamp(), previous)
        started = ended if row.started_at is None else row.started_at.timestamp()
        # a succeeded run without figures did its budget; a later attempt goes on from where an earlier one was
        samples = row.samples or (row.budget if row.state is RunState.SUCCEEDED else 0)
        found.append(
            Ended(
                kind=kind_of(host, row, row),
                experiment=row.experiment_id,
                user=row.created_by,
                slots=slots,
                whole=row.state in WHOLE and row.attempt == 1 and samples > 0,
                samples=samples,
                began_at=began,
                trained_at=min(max(started, began), max(ended, began)),
                ended_at=ended,
            )
        )
        previous = max(previous, ended)
    return found
