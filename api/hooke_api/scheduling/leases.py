"""Leases: a run is believed to run only while its supervisor is heard.

All times are the API's own. Silence makes a run `lost`, never more: a new attempt needs an agent's proof that
the old one is dead and can never start, because a supervisor that cannot reach the API goes on training.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hooke.spec.events import AgentProof
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from hooke_api.base.settings import Settings
from hooke_api.models import Attempt, Run, Transition
from hooke_api.scheduling.lifecycle import Cause, move

LEASED = (RunState.DISPATCHED, RunState.STARTING, RunState.RUNNING)
"""States that a silent supervisor makes `lost`; a dispatched run only once it was heard."""


def renew(session: Session, run: Run, attempt: Attempt, until: datetime) -> None:
    """Renew the lease of the attempt that owns a run; a lost run is found again."""
    attempt.leased_until = until
    if run.state is RunState.LOST:
        back = RunState.RUNNING if _ran(session, run) else RunState.STARTING
        move(session, run, back, Cause("lease", "its supervisor was heard again"))


def _ran(session: Session, run: Run) -> bool:
    query = select(Transition.id).where(
        Transition.run_id == run.id, Transition.attempt == run.attempt, Transition.state == RunState.RUNNING
    )
    return session.execute(query.limit(1)).first() is not None


def due(session: Session, at: datetime) -> bool:
    """Return whether any lease has run out."""
    query = (
        select(Run.id)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.state.in_(LEASED), Attempt.leased_until < at)
    )
    return session.execute(query.limit(1)).first() is not None


def expire(session: Session, at: datetime) -> int:
    """Make every run whose lease has run out lost; return how many."""
    rows = session.execute(
        select(Run, Attempt)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.state.in_(LEASED), Attempt.leased_until < at)
        .with_for_update(of=Run)
    )
    count = 0
    for run, attempt in rows.all():
        assert attempt.leased_until is not None  # noqa: S101 - the query says so
        silent = f"no word from its supervisor; its lease ended at {attempt.leased_until:%H:%M:%S} UTC"
        attempt.asked_at = None
        count += move(session, run, RunState.LOST, Cause("lease", silent))
    return count


def unproven(session: Session, at: datetime, pause: timedelta) -> list[tuple[Run, Attempt]]:
    """Return the runs about which their agents are to be asked now: lost ones, and those that are to end."""
    rows = session.execute(
        select(Run, Attempt)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(
            or_(Run.state == RunState.LOST, Run.cancel_requested & Run.state.in_(LEASED)),
            or_(Attempt.asked_at.is_(None), Attempt.asked_at < at - pause),
        )
        .order_by(Run.id)
        .limit(64)
    )
    return list(rows)


def prove(session: Session, proof: AgentProof, settings: Settings) -> None:
    """Act on an agent's word: life changes nothing, death ends the attempt or begins the next one."""
    run = session.get(Run, proof.run, with_for_update=True)
    if proof.alive or run is None or run.attempt != proof.attempt or run.state in TERMINAL:
        return
    if run.state is RunState.QUEUED:
        return  # never sent: an agent that does not know it says nothing new
    if run.cancel_requested:
        move(session, run, RunState.CANCELLED, Cause("agent", f"no process is left: {proof.why}"))
        return
    if run.state in (RunState.STARTING, RunState.RUNNING):
        move(session, run, RunState.LOST, Cause("agent", proof.why))
    if run.attempt >= settings.max_attempts:
        tried = f"attempt {run.attempt} of {settings.max_attempts} died: {proof.why}"
        move(session, run, RunState.FAILED_INFRA, Cause("agent", tried))
        return
    again = Cause("agent", f"attempt {run.attempt} died: {proof.why}")
    move(session, run, RunState.QUEUED, again, attempt=run.attempt + 1, **UNTRAINED)


UNTRAINED: dict[str, Any] = {
    "samples": 0,
    "accuracy": None,
    "loss": None,
    "time_to_target": None,
    "target_after": None,
    "communication_fraction": None,
    "clock": 0.0,
}
"""The figures of a run whose attempt has not reported yet."""
