"""What runs say that they have, beside the rows that they have."""

from collections import Counter

from hooke_api.models import Chunk, CompactedRun, Run, StoredEvaluation
from sqlalchemy import select
from sqlalchemy.orm import Session


def said(session: Session) -> dict[str, tuple[int, int]]:
    """Return the numbers of chunks and evaluations stored with each run."""
    rows = session.execute(select(Run.id, Run.chunks, Run.evaluations))
    return {run: (chunks, scored) for run, chunks, scored in rows}


def true(session: Session) -> dict[str, tuple[int, int]]:
    """Return the same from every row, and from the objects of compacted runs."""
    chunks = Counter(session.scalars(select(Chunk.run_id)))
    chunks.update(dict(session.execute(select(CompactedRun.run_id, CompactedRun.chunks)).all()))
    scored = Counter(session.scalars(select(StoredEvaluation.run_id)))
    return {run: (chunks[run], scored[run]) for run in session.scalars(select(Run.id))}
