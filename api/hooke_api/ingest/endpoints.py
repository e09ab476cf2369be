"""Ingest: one request per attempt and second, one transaction, idempotent by (run, attempt, rank, seq)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import structlog
from fastapi import APIRouter, Request
from hooke.errors import Fault
from hooke.spec.events import IngestAnswer, StateReport
from hooke.spec.states import DIVERGED, TERMINAL, TRANSITIONS, RunState
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.base.errors import Invalid, Unauthorized
from hooke_api.base.security import bearer, digest
from hooke_api.base.settings import Settings
from hooke_api.ingest.figures import Figures
from hooke_api.ingest.received import Received, inflate, read
from hooke_api.models import Attempt, Log, Run, now
from hooke_api.scheduling import leases
from hooke_api.scheduling.lifecycle import Cause, move, tell
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce

router = APIRouter(tags=["agents"])
log = structlog.get_logger("hooke.ingest")


@router.post("/ingest", operation_id="ingest")
async def ingest(request: Request) -> IngestAnswer:
    """Store journal records of an attempt and renew its lease; gzip; bearer token of the attempt.

    The response contains the highest sequence numbers stored without gap, and whether the run must end.
    """
    state = request.app.state
    token = bearer(request.headers)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    body = await request.body()
    return await asyncio.to_thread(receive, state.database, state.settings, token, encoding, body)


def receive(database: Database, settings: Settings, token: str | None, encoding: str, body: bytes) -> IngestAnswer:
    """Check the token, then decode and store the body."""
    with database.read() as session:
        owner = session.scalar(select(Attempt).where(Attempt.token_sha256 == digest(token or "")))
    if owner is None:
        raise Unauthorized("send the token of the attempt: Authorization: Bearer <token of its launch order>")
    received = read(inflate(body, encoding, settings.inflated_limit))
    if (received.ingest.run, received.ingest.attempt) != (owner.run_id, owner.number):
        raise Unauthorized("this token belongs to another attempt")
    with database.write() as session:
        return store(session, received, timedelta(seconds=settings.lease_seconds))


def store(session: Session, received: Received, lease: timedelta) -> IngestAnswer:
    """Store the new records of a request in the transaction of `session`; return the acknowledgements."""
    sent = received.ingest
    run = session.get_one(Run, sent.run, with_for_update=True, populate_existing=True)
    attempt = session.get_one(Attempt, (sent.run, sent.attempt), populate_existing=True)
    _check_ranks(run, received)
    current = run.attempt == attempt.number
    _apply_reports(session, run, attempt, sent.reports, current)
    figures = Figures(session, run, attempt)
    acknowledged = {rank: figures.add(rank, items) for rank, items in received.ranks}
    figures.finish(current)
    _store_logs(session, run, attempt, received)
    if current and sent.renew and run.state not in TERMINAL:
        leases.renew(session, run, attempt, now() + lease)
    session.flush()
    return IngestAnswer(
        acknowledged=acknowledged,
        logs=attempt.logs,
        reports=attempt.reports,
        cancel=current and (run.cancel_requested or run.state is RunState.CANCELLED),
        checkpoints=attempt.checkpoints_asked,
        fenced=not current,
    )


def _check_ranks(run: Run, received: Received) -> None:
    ranks = run.workers + run.servers
    faults = [
        Fault(pointer=f"/ranks/{i}/rank", message=f"the run has ranks 0 to {ranks - 1}")
        for i, (rank, _) in enumerate(received.ranks)
        if rank >= ranks
    ]
    if faults:
        raise Invalid("the run has no such rank", faults)


def _apply_reports(
    session: Session, run: Run, attempt: Attempt, reports: list[StateReport], current: bool
) -> None:
    for report in reports[attempt.reports :]:
        attempt.reports += 1
        state = RunState(report.state)
        if current and state in TRANSITIONS.get(run.state, frozenset()):
            diverged = state is RunState.FAILED_USER and report.exit_code == DIVERGED
            move(session, run, state, _evidence(report), **({"diverged": True} if diverged else {}))
        elif current and state is run.state is RunState.STARTING:
            tell(session, run, _evidence(report))  # another reason why its ranks have not started
        elif current and state is not run.state:
            log.warning("report refused", run=run.id, attempt=attempt.number, state=run.state, report=report.state)


def _evidence(report: StateReport) -> Cause:
    return Cause(
        "supervisor",
        storable_text(report.why),
        exit_code=report.exit_code,
        signal=report.signal,
        rank=report.rank,
        host=storable_text(report.host)[:255] if report.host is not None else None,
        at=datetime.fromtimestamp(report.unix, UTC),
    )


def _store_logs(session: Session, run: Run, attempt: Attempt, received: Received) -> None:
    rows = []
    for line in received.ingest.logs:
        if line.seq == attempt.logs + 1:
            attempt.logs = line.seq
            rows.append(
                {
                    "run_id": run.id,
                    "attempt": attempt.number,
                    "seq": line.seq,
                    "rank": line.rank,
                    "stream": line.stream,
                    "at": datetime.fromtimestamp(line.unix, UTC),
                    "text": storable_text(line.text),
                }
            )
    if rows:
        session.execute(insert(Log), rows)
        data = {"id": run.id, "experiment_id": run.experiment_id}
        announce(session, "logs", data, experiment_id=run.experiment_id, run_id=run.id)
