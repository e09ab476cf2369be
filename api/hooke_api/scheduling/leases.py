"""Leases: a run counts as running only while its supervisor reports.

All times are the API's own. Silence makes a run `lost`, nothing else: a new attempt requires an agent's proof that
the old one is dead and can never start, because training continues while a supervisor cannot reach the API.
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
"""States that become `lost` on silence of the supervisor; for a dispatched run, only after its first report."""


def renew(session: Session, run: Run, attempt: Attempt, until: datetime) -> None:
    """Renew the lease of the attempt that owns a run; a lost run becomes active again."""
    attempt.leased_until = until
    if run.state is RunState.LOST:
        back = RunState.RUNNING if _ran(session, run) else RunState.STARTING
        move(session, run, back, Cause("lease", "its supervisor reports again"))


def _ran(session: Session, run: Run) -> bool:
    query = select(Transition.id).where(
        Transition.run_id == run.id, Transition.attempt == run.attempt, Transition.state == RunState.RUNNING
    )
    return session.execute(query.limit(1)).first() is not None


def due(session: Session, at: datetime) -> bool:
    """Return whether any lease has expired."""
    query = (
        select(Run.id)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.state.in_(LEASED), Attempt.leased_until < at)
    )
    return session.execute(query.limit(1)).first() is not None


def expire(session: Session, at: datetime) -> int:
    """Mark every run with an expired lease as lost; return their number."""
    rows = session.execute(
        select(Run, Attempt)
        .join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))
        .where(Run.state.in_(LEASED), Attempt.leased_until < at)
        .with_for_update(of=Run)
    )
    count = 0
    for run, attempt in rows.all():
        assert attempt.leased_until is not None  # noqa: S101 - the query says so
        silent = f"no report from its supervisor; its lease expired at {attempt.leased_until:%H:%M:%S} UTC"
        attempt.asked_at = None
        count += move(session, run, RunState.LOST, Cause("lease", silent))
    return count


def unproven(session: Session, at: datetime, pause: timedelta) -> list[tuple[Run, Attempt]]:
    """Return the runs to be probed now: lost ones, and those that must end."""
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
    """Apply an agent's proof: no change if the attempt is alive.

    Otherwise end the run or start the next attempt.
    """
    run = session.get(Run, proof.run, with_for_update=True)
    if proof.alive or run is None or run.attempt != proof.attempt or run.state in TERMINAL:
        return
    if run.state is RunState.QUEUED:
        return  # never sent, so it is unknown to the agent
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
"""The figures of a run before the first report of its attempt."""
