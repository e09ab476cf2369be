"""The output of a run as text, read page by page while it is sent."""

from __future__ import annotations

from collections.abc import Iterator

from hooke_api.runs import service
from hooke_api.runs.schemas import LogLineView
from hooke_api.storage.database import Database

PAGE = 2000
"""Lines of a part."""


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
            page = service.logs(session, run_id, after, PAGE, rank)
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
