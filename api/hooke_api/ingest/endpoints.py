"""Ingest: one request per attempt and second, one transaction, idempotent by (run, attempt, rank, seq)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter, Request
from hooke.errors import Fault
from hooke.spec.events import IngestAnswer
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy import insert
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.base.errors import Invalid, Unauthorized
from hooke_api.base.security import bearer
from hooke_api.base.settings import Settings
from hooke_api.ingest.figures import Figures
from hooke_api.ingest.received import Received, inflate, read
from hooke_api.ingest.reports import Reports
from hooke_api.models import Attempt, Log, Run, database_time
from hooke_api.scheduling import attempt_tokens, leases
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce

router = APIRouter(tags=["agents"])


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
        owner = attempt_tokens.owner(session, token)
    if owner is None:
        raise Unauthorized("send the token of the attempt: Authorization: Bearer <token of its launch order>")
    received = read(inflate(body, encoding, settings.inflated_limit))
    if (received.ingest.run, received.ingest.attempt) != (owner.run_id, owner.attempt):
        raise Unauthorized("this token belongs to another attempt")
    with database.write() as session:
        return store(session, received, settings)


def store(session: Session, received: Received, settings: Settings) -> IngestAnswer:
    """Store the new records of a request in the transaction of `session`; return the acknowledgements."""
    sent = received.ingest
    run = session.get_one(Run, sent.run, with_for_update=True, populate_existing=True)
    attempt = session.get_one(Attempt, (sent.run, sent.attempt), populate_existing=True)
    _check_ranks(run, received)
    current = run.attempt == attempt.number
    figures = Figures(session, run, attempt)
    acknowledged = {rank: figures.add(rank, items) for rank, items in received.ranks}
    figures.finish(current)
    _store_logs(session, run, attempt, received)
    if current:
        all_sent = not sent.ranks and not sent.logs
        Reports(session, run, attempt, settings, figures, all_sent).apply(sent.reports)
    else:
        attempt.reports = max(attempt.reports, len(sent.reports))
    current = run.attempt == attempt.number  # unless the next attempt follows
    # one that has ended still delivers what it wrote, so it is not lost meanwhile
    if current and run.state not in TERMINAL and (sent.renew or sent.ranks or sent.logs):
        until = database_time(session) + timedelta(seconds=settings.lease_seconds)
        leases.renew(session, run, attempt, until)
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
