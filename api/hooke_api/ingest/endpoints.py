"""Ingest: one request per attempt and second, one transaction, idempotent by (run, attempt, rank, seq)."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from datetime import timedelta
from functools import partial

import structlog
from fastapi import APIRouter, Request
from hooke.errors import Fault
from hooke.spec.events import IngestAnswer
from hooke.spec.states import TERMINAL, RunState
from sqlalchemy.orm import Session

from hooke_api.base.documents import storable_text
from hooke_api.base.errors import UNSTORABLE, Invalid, Unauthorized
from hooke_api.base.security import bearer
from hooke_api.base.settings import Settings
from hooke_api.ingest.apart import halves, refused, size
from hooke_api.ingest.figures import Figures
from hooke_api.ingest.output import append
from hooke_api.ingest.received import Received, inflate, read
from hooke_api.ingest.records import RefusedLine
from hooke_api.ingest.reports import Reports
from hooke_api.models import Attempt, AttemptToken, Run, database_time
from hooke_api.scheduling import attempt_tokens, leases
from hooke_api.storage.database import Database
from hooke_api.storage.files import append as append_parts
from hooke_api.storage.lines import StoredLine
from hooke_api.storage.outbox import announce

router = APIRouter(tags=["agents"])
log = structlog.get_logger("hooke.ingest")

THREADS = 4
"""Threads that read and store requests: their own, so that they leave those of other requests free, and each holds
64 MiB at most."""


@router.post("/ingest", operation_id="ingest")
async def ingest(request: Request) -> IngestAnswer:
    """Store journal records of an attempt and renew its lease; gzip; bearer token of the attempt.

    The response contains the highest sequence numbers stored without gap, and whether the run must end. A record
    that cannot be stored is acknowledged, counted and shown in `refusals` of the run.
    """
    state = request.app.state
    token = bearer(request.headers)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    body = await request.body()
    threads: Executor = state.ingesting
    work = partial(receive, state.database, state.settings, token, encoding, body)
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def check_token(request: Request) -> None:
    """Raise Unauthorized unless a request has the token of an attempt: before its body is read."""
    database: Database = request.app.state.database
    with database.read() as session:
        _owner(session, bearer(request.headers))


def _owner(session: Session, token: str | None) -> AttemptToken:
    owner = attempt_tokens.owner(session, token)
    if owner is None:
        raise Unauthorized("send the token of the attempt: Authorization: Bearer <token of its claimed launch>")
    return owner


def receive(database: Database, settings: Settings, token: str | None, encoding: str, body: bytes) -> IngestAnswer:
    """Decode a body and store it, if its token, which was checked before it was read, is still valid."""
    received = read(inflate(body, encoding, settings.inflated_limit))
    del body
    return _store(database, received, settings, token)


def _store(database: Database, received: Received, settings: Settings, token: str | None) -> IngestAnswer:
    """Store a request; if the database refuses it, in halves, until the record is found that it refuses."""
    try:
        with database.write() as session:
            return store(session, received, settings, _owner(session, token))
    except UNSTORABLE as error:
        if not size(received):
            raise  # its reports are refused
        if size(received) == 1:
            log.warning("the database refuses a record", run=received.ingest.run, error=str(error)[:300])
            with database.write() as session:
                return store(session, refused(received), settings, _owner(session, token))
    first, second = (_store(database, half, settings, token) for half in halves(received))
    return second.model_copy(update={"acknowledged": first.acknowledged | second.acknowledged})


def store(session: Session, received: Received, settings: Settings, mine: AttemptToken) -> IngestAnswer:
    """Store the new records of a request in the transaction of `session`; return the acknowledgements.

    `mine`: the token that it was sent with; with the first request, it becomes the only one of its attempt. Raises
    Unauthorized if it is that of another attempt.
    """
    sent = received.ingest
    if (sent.run, sent.attempt) != (mine.run_id, mine.attempt):
        raise Unauthorized("this token belongs to another attempt")
    run = session.get_one(Run, sent.run, with_for_update=True, populate_existing=True)
    attempt = session.get_one(Attempt, (sent.run, sent.attempt), populate_existing=True)
    _check_ranks(run, received)
    if attempt.leased_until is None:
        attempt_tokens.settle(session, mine)
    current = run.attempt == attempt.number
    figures = Figures(session, run, attempt)
    acknowledged = {rank: figures.add(rank, items) for rank, items in received.ranks}
    figures.finish(current)
    _store_logs(session, figures, received, settings.logs_limit)
    files = (
        append_parts(session, run.id, attempt.number, received.files, settings.files_limit)
        if received.files
        else {}
    )
    if current:
        all_sent = not received.ranks and not received.logs
        reports = Reports(session, run, attempt, settings, figures, all_sent).apply(received.reports)
    else:
        reports = attempt.reports = max(attempt.reports, len(received.reports))
    current = run.attempt == attempt.number  # unless the next attempt follows
    # one that has ended still delivers what it wrote, so it is not lost meanwhile
    if current and run.state not in TERMINAL and (sent.renew or received.ranks or received.logs):
        until = database_time(session) + timedelta(seconds=settings.lease_seconds)
        leases.renew(session, run, attempt, until)
    session.flush()
    over = run.state in TERMINAL  # a supervisor that still renews would train for nothing, beside the next run
    return IngestAnswer(
        acknowledged=acknowledged,
        logs=attempt.logs,
        reports=reports,
        cancel=current and (run.cancel_requested or run.state is RunState.CANCELLED or (over and sent.renew)),
        checkpoints=attempt.checkpoints_asked,
        files=files,
        fenced=not current,
    )


def _check_ranks(run: Run, received: Received) -> None:
    ranks = run.workers + run.servers
    faults = [
        Fault(pointer=f"/ranks/{i}/rank", message=f"the run has ranks 0 to {ranks - 1}")
        for i, (rank, _) in enumerate(received.ranks)
        if rank >= ranks
    ]
    faults += [
        Fault(pointer=f"/files/{i}/name", message=f"the run has ranks 0 to {ranks - 1}")
        for i, (part, _) in enumerate(received.files)
        if (owner := part.rank) is not None and owner >= ranks
    ]
    if faults:
        raise Invalid("the run has no such rank", faults)


def _store_logs(session: Session, figures: Figures, received: Received, limit: int) -> None:
    run, attempt = figures.run, figures.attempt
    fresh = []
    for line in received.logs:
        if line.seq != attempt.logs + 1:
            continue
        attempt.logs = line.seq
        if isinstance(line, RefusedLine):
            figures.refuse(None, line)
        else:
            fresh.append(StoredLine(line.rank, line.stream, line.unix, storable_text(line.text)))
    if fresh:
        append(session, attempt, fresh, limit)
        data = {"id": run.id, "experiment_id": run.experiment_id}
        announce(session, "logs", data, experiment_id=run.experiment_id, run_id=run.id)
