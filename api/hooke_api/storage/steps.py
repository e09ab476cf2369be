"""Steps of runs, wherever they are: in rows, in the object of a compacted run, or in both."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from hooke_api.base.errors import Unavailable, Unreadable
from hooke_api.models import Chunk, CompactedRun, Run, StoredEvaluation
from hooke_api.storage.objects import DamagedObject, MissingObject, ObjectError, ObjectFault, ObjectStore
from hooke_api.storage.steps_file import StepsFile, StoredChunk

STORE = "hooke_objects"
"""Key of `Session.info` under which the store of the database's objects is."""
ROWS = 20
"""Chunks that are read from the database at a time."""
Count = tuple[int, int]
"""Number of chunks of a run, wherever they are, and highest id that one has, or had as a row."""


def counts(session: Session, runs: Sequence[str]) -> dict[str, Count]:
    """Return the count of each of some runs that has chunks. Compaction does not change it; new chunks do.

    It takes as long for many chunks as for few: their number is stored with the run, an index has the last one.
    """
    # ids of rows are given anew after a deletion: those of present rows go on behind those of the object
    newest = select(func.max(Chunk.id)).where(Chunk.run_id == Run.id).correlate(Run).scalar_subquery()
    last = func.coalesce(newest, CompactedRun.last_chunk, 0)
    query = select(Run.id, Run.chunks, last).outerjoin(CompactedRun, CompactedRun.run_id == Run.id)
    found = session.execute(query.where(Run.id.in_(runs), Run.chunks > 0))
    return {run: (count, last_id) for run, count, last_id in found}


def recount(session: Session, experiment: str) -> None:
    """Store with each run of an experiment how many rows of chunks and evaluations it has."""
    for name, of in (("chunks", Chunk), ("evaluations", StoredEvaluation)):
        rows = select(func.count()).where(of.run_id == Run.id).correlate(Run).scalar_subquery()
        mine = update(Run).where(Run.experiment_id == experiment).values({name: rows})
        session.execute(mine, execution_options={"synchronize_session": False})


def compacted(session: Session, runs: Sequence[str]) -> set[str]:
    """Return those of some runs that have an object."""
    return set(session.scalars(select(CompactedRun.run_id).where(CompactedRun.run_id.in_(runs))))


@contextmanager
def opened(session: Session, run: str) -> Iterator[StepsFile | None]:
    """Yield the object of a run, or None.

    Raises Unreadable if it is missing, damaged, or of another run, and Unavailable if the store does not answer.
    """
    known = session.get(CompactedRun, run, populate_existing=True)
    if known is None:
        yield None
        return
    store: ObjectStore | None = session.info.get(STORE)
    if store is None:
        raise Unreadable(f"{_told(run, known)}: this program was started without a store of objects")
    try:
        with reading(store, known) as file:
            yield file
    except (ObjectError, OSError) as error:
        why = f"{_told(run, known)} in {store.name}: {error}"
        store.note(ObjectFault.READING, why, run)
        kind = Unreadable if isinstance(error, MissingObject | DamagedObject) else Unavailable
        raise kind(why) from error
    store.note(ObjectFault.READING, None, run)


def _told(run: str, known: CompactedRun) -> str:
    return f"the steps of run {run} cannot be read, object {known.key}"


@contextmanager
def reading(store: ObjectStore, known: CompactedRun) -> Iterator[StepsFile]:
    """Yield the object of a run. Raises ObjectError, and OSError."""
    with store.open(known.key) as content:
        file = StepsFile(content)
        if file.run != known.run_id:
            raise DamagedObject(f"it is the one of run {file.run}")
        yield file


def check_objects(session: Session, experiment: str) -> None:
    """Raise Unreadable if an object of an experiment's runs is seen at once to be missing or damaged."""
    store: ObjectStore | None = session.info.get(STORE)
    if store is None:
        return
    query = select(CompactedRun).join(Run, Run.id == CompactedRun.run_id).where(Run.experiment_id == experiment)
    for known in session.scalars(query):
        if why := store.absent(known.key, known.size):
            why = f"{_told(known.run_id, known)} in {store.name}: {why}"
            store.note(ObjectFault.READING, why, known.run_id)
            raise Unreadable(why)


def chunks(session: Session, run: str) -> Iterator[StoredChunk]:
    """Yield all chunks of a run, by attempt, rank and seq. Raises Unreadable."""
    with opened(session, run) as file:
        if file is None:
            yield from rows(session, run)
        else:
            yield from heapq.merge(file.chunks(), rows(session, run), key=lambda chunk: chunk[:3])


def rows(session: Session, run: str) -> Iterator[StoredChunk]:
    """Yield the chunks of a run that are rows, by attempt, rank and seq."""
    query = select(Chunk.attempt, Chunk.rank, Chunk.seq, Chunk.n, Chunk.header, Chunk.data)
    query = query.where(Chunk.run_id == run).order_by(Chunk.attempt, Chunk.rank, Chunk.seq)
    for row in session.execute(query.execution_options(yield_per=ROWS)):
        yield StoredChunk(*row)
