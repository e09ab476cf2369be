"""Leases: a run counts as running only while its supervisor reports.

All times are the database's. Silence makes a run `lost`, nothing else: a new attempt requires an agent's proof
that the old one is dead and can never start, because training continues while a supervisor cannot reach the API.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from hooke.spec.attempts import AgentProof, FailedLaunch
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Forbidden
from hooke_api.base.settings import Settings
from hooke_api.models import Attempt, Cluster, Run, Transition
from hooke_api.scheduling import attempt_tokens
from hooke_api.scheduling.lifecycle import Cause, move
from hooke_api.scheduling.retries import end_attempt, queue_again

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


def due(session: Session, at: datetime, settings: Settings) -> bool:
    """Return whether any lease has expired, or an order was sent too often."""
    rows = _silent(at).with_only_columns(Run.id), _unheard(at, settings).with_only_columns(Run.id)
    return any(session.execute(query.limit(1)).first() is not None for query in rows)


def expire(session: Session, at: datetime, settings: Settings) -> int:
    """Mark runs with an expired lease as lost, and those whose orders were sent in vain; return their number.

    The agent is then asked what has become of them.
    """
    count = 0
    for run, attempt in session.execute(_silent(at).with_for_update(of=Run)).all():
        assert attempt.leased_until is not None  # noqa: S101 - the query says so
        silent = f"no report from its supervisor; its lease expired at {attempt.leased_until:%H:%M:%S} UTC"
        count += _lose(session, run, attempt, silent)
    for run, attempt in session.execute(_unheard(at, settings).with_for_update(of=Run)).all():
        seconds = attempt.sends * settings.resend_seconds
        unanswered = f"its order was sent {attempt.sends} times in {seconds:g} s without an answer"
        count += _lose(session, run, attempt, unanswered)
    return count


def _lose(session: Session, run: Run, attempt: Attempt, why: str) -> bool:
    attempt.asked_at = None
    return move(session, run, RunState.LOST, Cause("lease", why))


def _silent(at: datetime) -> Select[Run, Attempt]:
    return _of_present_attempts().where(Run.state.in_(LEASED), Attempt.leased_until < at)


def _unheard(at: datetime, settings: Settings) -> Select[Run, Attempt]:
    """Dispatched runs whose orders were sent for `start_seconds`, which counts only while the agent reports."""
    most = max(1, math.ceil(settings.start_seconds / settings.resend_seconds))
    return _of_present_attempts().where(
        Run.state == RunState.DISPATCHED,
        Attempt.leased_until.is_(None),
        Attempt.sends >= most,
        Attempt.sent_at < at - timedelta(seconds=settings.resend_seconds),
    )


def _of_present_attempts() -> Select[Run, Attempt]:
    return select(Run, Attempt).join(Attempt, (Attempt.run_id == Run.id) & (Attempt.number == Run.attempt))


def unproven(session: Session, at: datetime, settings: Settings) -> list[tuple[Run, Attempt]]:
    """Return the runs to be probed now: lost ones, and those that must end, of clusters whose agent reports."""
    online = at - timedelta(seconds=settings.agent_seconds)
    asked = at - timedelta(seconds=settings.probe_seconds)
    rows = session.execute(
        _of_present_attempts()
        .join(Cluster, Cluster.name == Run.host)
        .where(
            or_(Run.state == RunState.LOST, Run.cancel_requested & Run.state.in_(LEASED)),
            or_(Attempt.asked_at.is_(None), Attempt.asked_at < asked),
            Cluster.seen_at >= online,
        )
        .order_by(Run.id)
        .limit(64)
    )
    return [(run, attempt) for run, attempt in rows]


def prove(session: Session, proof: AgentProof, settings: Settings) -> None:
    """Apply an agent's proof: no change if the attempt is alive.

    Otherwise end the run or start the next attempt. Raises Forbidden for a death without the token of an attempt
    that has reported.
    """
    run = session.get(Run, proof.run, with_for_update=True)
    if proof.alive or run is None or run.attempt != proof.attempt or run.state in TERMINAL:
        return
    if run.state is RunState.QUEUED:
        return  # never sent, so it is unknown to the agent
    _check_token(session, run, proof)
    if run.cancel_requested:
        move(session, run, RunState.CANCELLED, Cause("agent", f"no process is left: {proof.why}"))
        return
    if run.state is RunState.DISPATCHED:  # asked for another reason than silence: its order did not arrive
        queue_again(session, run, Cause("agent", f"attempt {run.attempt} never began: {proof.why}", cause="lost"))
        return
    if run.state in (RunState.STARTING, RunState.RUNNING):
        move(session, run, RunState.LOST, Cause("agent", proof.why))
    end_attempt(session, run, "lost", RunState.FAILED_INFRA, Cause("agent", f"it died: {proof.why}"), settings)


def _check_token(session: Session, run: Run, proof: AgentProof) -> None:
    attempt = session.get(Attempt, (run.id, run.attempt))
    if attempt is None or attempt.leased_until is None:
        return
    if not attempt_tokens.belongs(session, proof.token_sha256, run.id, run.attempt):
        raise Forbidden(
            f"attempt {run.attempt} of {run.id} has reported with its token; a proof of its death must come from "
            "the agent that has received this token, with its home folder: if that is gone, abandon the run"
        )


def failed_launch(session: Session, failed: FailedLaunch, run_ids: list[str]) -> int:
    """Queue attempts that could not be started again, which does not count as a failure; return their number.

    `run_ids`: those of the sender's cluster.
    """
    count = 0
    for name in failed.attempts:
        run = session.get(Run, name.run, with_for_update=True) if name.run in run_ids else None
        if run is None or run.attempt != name.attempt or run.state not in (RunState.DISPATCHED, RunState.LOST):
            continue
        attempt = session.get(Attempt, (run.id, run.attempt))
        if attempt is not None and attempt.leased_until is not None:
            continue  # its supervisor has reported
        why = f"its launch failed {failed.why}"
        if run.cancel_requested:
            count += move(session, run, RunState.CANCELLED, Cause("agent", why))
        else:
            count += queue_again(session, run, Cause("agent", why, cause="infrastructure"))
    return count
