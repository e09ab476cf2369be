"""The output of a run: a page of its lines, and all of it as text, read page by page while it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import LogBlock
from hooke_api.runs import service
from hooke_api.runs.schemas import LogLineView, LogPage
from hooke_api.storage.database import Database
from hooke_api.storage.lines import LINES, StoredLine, unpack

PAGE = 2000
"""Lines of a part."""


def logs(session: Session, run_id: str, after: int, limit: int, rank: int | None) -> LogPage:
    """Return lines of output after a position, in the order of arrival, and marks where lines were cut."""
    service.get(session, run_id)
    query = select(LogBlock).where(LogBlock.run_id == run_id, LogBlock.id >= after // LINES).order_by(LogBlock.id)
    found: list[LogLineView] = []
    for block in session.scalars(query.execution_options(yield_per=8)):
        for place, line in enumerate(unpack(block.data)):
            position = block.id * LINES + place
            if position > after and (rank is None or line.rank == rank or block.cut_lines):
                found.append(_line_view(block.attempt, position, line))
        if len(found) > limit:
            break
    lines = found[:limit]
    last = lines[-1].position if lines else after
    return LogPage(lines=lines, next_after=last, more=len(found) > limit)


def _line_view(attempt: int, position: int, line: StoredLine) -> LogLineView:
    at = datetime.fromtimestamp(line.unix, UTC)
    told = {"rank": line.rank, "stream": line.stream, "text": line.text}
    return LogLineView(position=position, attempt=attempt, at=at, **told)


def lines_of(database: Database, run_id: str, rank: int | None) -> Iterator[str]:
    """Return the lines of a run over all its attempts, in parts; `rank` None: of all ranks, -1: of mpirun.

    Raises ResourceNotFound before the first line.
    """
    with database.read() as session:
        service.get(session, run_id)
    return _parts(database, run_id, rank)


def _parts(database: Database, run_id: str, rank: int | None) -> Iterator[str]:
    after, more, attempt = 0, True, 1
    while more:
        with database.read() as session:
            page = logs(session, run_id, after, PAGE, rank)
        text = ""
        for line in page.lines:
            if line.attempt != attempt:
                attempt = line.attempt
                text += f"--- attempt {attempt}\n"
            text += _text(line)
        yield text
        after, more = page.next_after, page.more


def _text(line: LogLineView) -> str:
    who = "mpirun" if line.rank < 0 else f"rank {line.rank}"
    return f"{line.at.isoformat(timespec='milliseconds')} {who} {line.stream}: {line.text}\n"
