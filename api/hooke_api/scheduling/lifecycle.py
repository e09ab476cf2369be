"""Changes of a run's state, which are made only here.

Every change is a compare-and-set in the database on state and attempt, so of two concurrent sessions only one
succeeds. Changes that are not in `hooke.spec.states.TRANSITIONS` are rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hooke.spec.retry import RetryCause
from hooke.spec.states import TERMINAL, TRANSITIONS, RunState
from sqlalchemy import CursorResult, func, select, update
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from hooke_api.models import Experiment, Run, Transition, database_time
from hooke_api.scheduling.derived import ended_state
from hooke_api.scheduling.overlaps import COMPUTING, mark
from hooke_api.storage.outbox import announce, wake_scheduler

ACTIVE = frozenset({RunState.DISPATCHED, RunState.STARTING, RunState.RUNNING, RunState.LOST})
"""States in which a run occupies slots of its cluster."""


class IllegalTransition(Exception):
    """A change of state that is not allowed."""


@dataclass(frozen=True)
class Cause:
    """Actor, reason and evidence of a change."""

    who: str
    why: str
    exit_code: int | None = None
    signal: int | None = None
    rank: int | None = None
    host: str | None = None
    cause: RetryCause | None = None
    """Of the end of an attempt without a fault of its run."""
    reported_at: datetime | None = None
    """When it happened by the clock of the host that reported it; only displayed."""


def move(session: Session, run: Run, state: RunState, evidence: Cause, **changes: Any) -> bool:
    """Change the state of a run, provided its state and attempt are those of `run`; return whether they were.

    `changes` are further columns to set (`attempt=2`). On success `run` has the new values, and the transition is
    stored, with the time of the database, and announced. Raises IllegalTransition if it is not allowed.
    """
    source = run.state
    if state not in TRANSITIONS.get(source, frozenset()):
        raise IllegalTransition(f"run {run.id} is {source} and cannot become {state}")
    at = database_time(session)
    values: dict[str, Any] = {"state": state, **changes}
    if state in COMPUTING:
        values["overlap"] = mark(session, run)
    if state is RunState.RUNNING and run.started_at is None:
        values["started_at"] = at
    if state in TERMINAL:
        values["finished_at"] = at
    if not _compare_and_set(session, run, values):
        return False
    for name, value in values.items():
        set_committed_value(run, name, value)  # already written to the database
    session.add(transition(run.id, run.attempt, source, state, evidence, at))
    announce_run(session, run, _event(state, first="started_at" in values))
    if state in TERMINAL:
        finish_experiment(session, run.experiment_id, at)
    wake_scheduler(session)
    return True


def tell(session: Session, run: Run, evidence: Cause) -> None:
    """Store and announce another reason for the present state, as a scheduler's why a run still waits."""
    session.add(transition(run.id, run.attempt, run.state, run.state, evidence, database_time(session)))
    announce_run(session, run)


def _compare_and_set(session: Session, run: Run, values: dict[str, Any]) -> bool:
    session.flush()
    result = session.execute(
        update(Run)
        .where(Run.id == run.id, Run.state == run.state, Run.attempt == run.attempt)
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    assert isinstance(result, CursorResult)  # noqa: S101 - an UPDATE has a count; this tells the type checker
    return result.rowcount == 1


def transition(
    run_id: str, attempt: int, source: RunState | None, state: RunState, evidence: Cause, at: datetime
) -> Transition:
    """Return the row that records a change of state."""
    return Transition(
        run_id=run_id,
        attempt=attempt,
        source=source,
        state=state,
        at=at,
        reported_at=evidence.reported_at,
        who=evidence.who,
        why=evidence.why,
        cause=evidence.cause,
        exit_code=evidence.exit_code,
        signal=evidence.signal,
        rank=evidence.rank,
        host=evidence.host,
    )


def _event(state: RunState, first: bool) -> str | None:
    """Return the event of webhooks that a run's change to a state is. `first`: it has not been running before."""
    if state is RunState.RUNNING:
        return "run.started" if first else None
    if state not in TERMINAL:
        return None
    return f"run.{state.value}" if state in (RunState.SUCCEEDED, RunState.CANCELLED) else "run.failed"


def announce_run(session: Session, run: Run, event: str | None = None) -> None:
    """Announce that a run's state, attempt or request to be cancelled changed. `event`: that of webhooks."""
    data = {"id": run.id, "experiment_id": run.experiment_id, "state": run.state.value, "attempt": run.attempt}
    if event is not None:
        data["event"] = event
    announce(session, "run", data, experiment_id=run.experiment_id, run_id=run.id)


def finish_experiment(session: Session, experiment_id: str, at: datetime | None = None) -> None:
    """Record the end, once, of an experiment that has no open runs, and to which none will be added."""
    # the row lock makes the last two runs of an experiment, ending at once, see each other; a weak lock, because
    # PostgreSQL itself holds a shared lock on the row for every run that refers to it
    lock = select(Experiment.planning).where(Experiment.id == experiment_id)
    planning = session.execute(lock.with_for_update(key_share=True)).scalar_one()
    session.flush()
    open_runs = select(func.count()).where(Run.experiment_id == experiment_id, Run.state.not_in(TERMINAL))
    if not planning and session.execute(open_runs).scalar_one() == 0:
        ended = session.execute(
            update(Experiment)
            .where(Experiment.id == experiment_id, Experiment.finished_at.is_(None))
            .values(finished_at=at or database_time(session))
            .execution_options(synchronize_session="fetch")
        )
        assert isinstance(ended, CursorResult)  # noqa: S101 - an UPDATE has a count; this tells the type checker
        if ended.rowcount:
            data = {"id": experiment_id, "event": f"experiment.{ended_state(session, experiment_id)}"}
            announce(session, "experiment", data, experiment_id=experiment_id)


def cancel(session: Session, run: Run, who: str) -> bool:
    """Cancel a run: a queued one ends at once, an active one when its supervisor or agent confirms.

    Return whether anything changed.
    """
    if run.state in TERMINAL or run.cancel_requested:
        return False
    if run.state is RunState.QUEUED and move(
        session, run, RunState.CANCELLED, Cause(who, "cancelled before it started"), cancel_requested=True
    ):
        return True
    run.cancel_requested = True
    announce_run(session, run)
    wake_scheduler(session)
    return True
