"""Moves the steps of ended runs from rows to objects, and back; removes objects that no run has any more.

    1  read rows, and the object that the run may have, and write both to a draft
    2  note the name of the new object                                       transaction: LooseObject
    3  store the draft, read the object back, compare it with what was read
    4  lock the run; if nothing has come meanwhile, record the object, forget its name as a loose one, discard the
       former object, delete the rows                                        one transaction

Before 4 the rows are the truth, after it the object: whatever ends a process, no step is lost or counted twice. A
name that was noted and not recorded is discarded after a while, and cannot be recorded from then on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import structlog
from hooke.spec.states import TERMINAL
from sqlalchemy import ColumnElement, CursorResult, and_, delete, exists, func, insert, or_, select, update
from sqlalchemy.orm import Session
from sqlalchemy.sql.dml import UpdateBase

from hooke_api.models import Chunk, CompactedRun, Event, Experiment, LooseObject, Run, ThinnedSeries, database_time
from hooke_api.storage import steps
from hooke_api.storage.database import Database
from hooke_api.storage.objects import DamagedObject, ObjectError, ObjectStore, digest_of, new_key, system_errors
from hooke_api.storage.steps_file import StepsFile, StepsWriter, StoredChunk

READ_FOR = timedelta(hours=6)
"""Time for which an object stays after it was discarded: a request, or the database in a backup that is being
made, may have its name from before."""
WRITTEN_FOR = timedelta(hours=12)
"""Time after which an object that is not recorded is discarded."""
SWEPT = 200
"""Objects that one look removes."""

log = structlog.get_logger("hooke.compaction")


class Stopped(Exception):
    """The process ends, or another one leads."""


class _State(NamedTuple):
    """What a run has of steps: equal ones stand for the same steps, as chunks are only added."""

    key: str | None
    """Its object."""
    chunks: int
    """Rows."""
    last: int
    steps: int
    """Steps in rows."""


def due(session: Session, after: timedelta) -> list[str]:
    """Return the runs with rows that ended so long ago, and of which nothing was heard since, in that order."""
    before = database_time(session) - after
    heard = exists().where(Event.run_id == Run.id, Event.at > before)
    query = (
        select(Run.id)
        .join(Experiment, Experiment.id == Run.experiment_id)
        .where(Run.id.in_(select(Chunk.run_id).distinct()), Run.state.in_(TERMINAL), ~heard)
        .where(Run.finished_at < before, Experiment.deleted_at.is_(None))
        .where(or_(Experiment.imported_at.is_(None), Experiment.imported_at < before))
    )
    return list(session.scalars(query.order_by(Run.finished_at, Run.id)))


def compact(database: Database, run: str, go_on: Callable[[], bool] = lambda: True) -> bool:
    """Move the rows of an ended run to its object; return whether that was done, which it is not without rows.

    `go_on` is asked now and then. Raises ObjectError, UnusualChunk, Stopped; then nothing has changed.
    """
    store = _store(database)
    with store.draft() as draft:
        with database.read() as session:
            known = _state(session, run)
            if not known.chunks:
                return False
            writer, told = StepsWriter(draft, run), hashlib.sha256()
            for chunk in steps.chunks(session, run):
                _check(go_on)
                _tell(told, chunk)
                with system_errors():
                    writer.add(chunk)
        with system_errors():
            writer.close()
            draft.flush()
        key = new_key(run)
        with database.write() as session:
            session.add(LooseObject(key=key, at=database_time(session), discarded=False))
        try:
            made = digest_of(draft)
            store.put(key, draft, partial(_check, go_on))
            _compare(store, key, made, told.hexdigest(), go_on)
            counted = {"chunks": writer.chunks, "steps": writer.steps, "raw": writer.raw}
            told_of_it = {"key": key, "size": made[0], "sha256": made[1], **counted}
            with database.write() as session:
                recorded = _record(session, run, known, told_of_it)
        except Exception:  # whatever it is: what was written is of no use, and would stay for hours
            with suppress(Exception):  # then it goes with the discarded ones
                _abandon(database, store, key)
            raise
    if recorded:
        log.info("the steps of a run were compacted", run=run, **counted, bytes=made[0])
    return recorded


def _abandon(database: Database, store: ObjectStore, key: str) -> None:
    """Remove an object at once unless it was recorded: its name, which was noted, tells. Nobody else has it."""
    with database.write() as session:
        given_up = _give_up(session, key)
    if given_up:
        store.delete(key)


def expand(database: Database, run: str) -> bool:
    """Move the steps in the object of a run back to rows; return whether it had one. Raises ObjectError."""
    with database.write() as session:
        session.get(Run, run, with_for_update=True, populate_existing=True)
        known = session.get(CompactedRun, run, populate_existing=True)
        if known is None:
            return False
        try:
            with steps.reading(_store(database), known) as file:
                for chunk in file.chunks():
                    session.execute(insert(Chunk), [{"run_id": run, **chunk._asdict()}])
        except (ObjectError, OSError) as error:
            raise ObjectError(f"the steps of run {run} cannot be read, object {known.key}: {error}") from error
        _discard(session, [known.key])
        session.execute(delete(CompactedRun).where(CompactedRun.run_id == run))
        session.execute(delete(ThinnedSeries).where(ThinnedSeries.run_id == run))  # they name other chunks
    return True


def check(database: Database, known: CompactedRun, quick: bool = False) -> str | None:
    """Return what is wrong with the object of a run, or None; `quick`: as far as that is seen at once."""
    store = _store(database)
    try:
        if quick:
            return store.absent(known.key, known.size)
        with store.open(known.key) as content:
            if digest_of(content) != (known.size, known.sha256):
                return "it is damaged: its size or SHA-256 is not that which was recorded"
    except (ObjectError, OSError) as error:
        return str(error)
    return None


def sweep(database: Database, read_for: timedelta = READ_FOR) -> int:
    """Remove the objects that no run has, and that nobody reads or writes any more; return their number.

    Raises ObjectError if one of them cannot be removed, after all others.
    """
    store = _store(database)
    with database.read() as session:
        over = _over(session, read_for)
        if session.scalars(select(LooseObject.key).where(over).limit(1)).first() is None:
            return 0
    with database.write() as session:  # from now on nobody records them, and nobody does between these two
        some = select(LooseObject.key).where(_over(session, read_for)).limit(SWEPT)
        keys = list(session.scalars(some.with_for_update()))
        session.execute(update(LooseObject).where(LooseObject.key.in_(keys)).values(discarded=True))
    removed: list[str] = []
    failed: ObjectError | None = None
    for key in keys:
        try:
            store.delete(key)
            removed.append(key)
        except ObjectError as error:  # one that has to stay, or a store that is away, which says so at once
            failed = error
    with database.write() as session:
        session.execute(delete(LooseObject).where(LooseObject.key.in_(removed)))
    if failed is not None:
        raise failed
    return len(removed)


def discard_of(session: Session, experiment: str, limit: int) -> int:
    """Discard the objects of some runs of an experiment, which has been deleted; return their number."""
    mine = select(CompactedRun.run_id, CompactedRun.key).join(Run, Run.id == CompactedRun.run_id)
    found = session.execute(mine.where(Run.experiment_id == experiment).limit(limit)).all()
    _discard(session, [key for _, key in found])
    session.execute(delete(CompactedRun).where(CompactedRun.run_id.in_([run for run, _ in found])))
    return len(found)


def _over(session: Session, read_for: timedelta) -> ColumnElement[bool]:
    at = database_time(session)
    discarded = and_(LooseObject.discarded, LooseObject.at <= at - read_for)
    return or_(discarded, and_(~LooseObject.discarded, LooseObject.at < at - WRITTEN_FOR))


def _store(database: Database) -> ObjectStore:
    if database.objects is None:
        raise ObjectError("this program was started without a store of objects")
    return database.objects


def _state(session: Session, run: str) -> _State:
    key = session.scalars(select(CompactedRun.key).where(CompactedRun.run_id == run)).first()
    count = select(func.count(), func.max(Chunk.id), func.sum(Chunk.n)).where(Chunk.run_id == run)
    chunks, last, total = session.execute(count).one()
    return _State(key, chunks, last or 0, int(total or 0))


def _tell(told: Any, chunk: StoredChunk) -> None:
    """Add a chunk to a digest, every bit of it."""
    told.update(json.dumps([*chunk[:4], list(chunk.header.items()), len(chunk.data)]).encode())
    told.update(chunk.data)


def _check(go_on: Callable[[], bool]) -> None:
    if not go_on():
        raise Stopped


def _compare(store: ObjectStore, key: str, made: tuple[int, str], wanted: str, go_on: Callable[[], bool]) -> None:
    """Read an object back. Raises DamagedObject unless it has the chunks that it was made of."""
    told = hashlib.sha256()
    with store.open(key, partial(_check, go_on)) as content:
        if digest_of(content) != made:
            raise DamagedObject(f"object {key} in {store.name} is not what was stored")
        for chunk in StepsFile(content).chunks():
            _check(go_on)
            _tell(told, chunk)
    if told.hexdigest() != wanted:
        raise DamagedObject(f"object {key} in {store.name} does not have the steps that it was made of")


def _record(session: Session, run: str, known: _State, made: dict[str, Any]) -> bool:
    """Record an object as that of a run, and delete the rows that are in it; discard it if they have changed."""
    owner = session.get(Run, run, with_for_update=True, populate_existing=True)  # ingest waits for this lock
    if owner is None or owner.state not in TERMINAL or _state(session, run) != known or _deleted(session, owner):
        _give_up(session, made["key"])
        return False
    still = delete(LooseObject).where(LooseObject.key == made["key"], ~LooseObject.discarded)
    if _count(session, still) != 1:
        return False  # this took so long that it was discarded
    former = session.get(CompactedRun, run, populate_existing=True)
    if former is not None:
        _discard(session, [former.key])
    session.merge(CompactedRun(run_id=run, last_chunk=known.last, at=database_time(session), **made))
    session.flush()
    with _freed_as_they_are(session):
        removed = _count(session, delete(Chunk).where(Chunk.run_id == run))
    if removed != known.chunks:
        raise ObjectError(f"{removed} rows of run {run} were to be deleted instead of {known.chunks}")
    return True


@contextmanager
def _freed_as_they_are(session: Session) -> Iterator[None]:
    """Let SQLite free pages without overwriting them: that would write all of a run while it has its lock.

    Systems such as Debian build it with SQLITE_SECURE_DELETE.
    """
    connection = session.connection()
    if connection.dialect.name != "sqlite":
        yield
        return
    before = connection.exec_driver_sql("PRAGMA secure_delete").scalar_one()
    connection.exec_driver_sql("PRAGMA secure_delete = FAST")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA secure_delete = {('OFF', 'ON', 'FAST')[before]}")


def _give_up(session: Session, key: str) -> bool:
    """Discard an object that is not recorded; return whether there is one of this name."""
    return _count(session, update(LooseObject).where(LooseObject.key == key).values(discarded=True)) == 1


def _deleted(session: Session, run: Run) -> bool:
    mode = {"key_share": True}
    owner = session.get(Experiment, run.experiment_id, with_for_update=mode, populate_existing=True)
    return owner is None or owner.deleted_at is not None


def _discard(session: Session, keys: Iterable[str]) -> None:
    at = database_time(session)
    if rows := [{"key": key, "at": at, "discarded": True} for key in keys]:
        session.execute(insert(LooseObject), rows)


def _count(session: Session, query: UpdateBase) -> int:
    result = session.execute(query)
    assert isinstance(result, CursorResult)  # noqa: S101 - both have a count
    return result.rowcount
