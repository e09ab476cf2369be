"""Removes the rows of experiments whose undo period is over, in small transactions, and does what retention says.

Rows are found by the columns `run_id` and `experiment_id` of the tables, so a new table is purged, too. Between
two transactions other writers have their turn. What clusters hold of the runs is noted before (`Removal`), and
then removed by their agents (`hooke_api.scheduling.forgetting`).
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy import (
    ColumnElement,
    CursorResult,
    LargeBinary,
    Table,
    delete,
    exists,
    insert,
    literal,
    or_,
    select,
    tuple_,
)
from sqlalchemy.orm import Session

from hooke_api.base.durations import kept
from hooke_api.base.settings import Settings
from hooke_api.base.workers import Repeating, every
from hooke_api.experiments.deleting import begun, retire
from hooke_api.models import Attempt, AttemptToken, Base, Experiment, Project, Removal, Run, database_time
from hooke_api.scheduling import fetches
from hooke_api.scheduling.leader import Leadership
from hooke_api.scheduling.passed import Deadline, Watch
from hooke_api.storage import ended_tokens
from hooke_api.storage.compacting import discard_of
from hooke_api.storage.database import Database
from hooke_api.storage.fetched import FetchedFiles
from hooke_api.storage.outbox import announce

ROWS, LARGE_ROWS = 500, 40
"""Rows of a table that one transaction removes; of tables with packed columns or blocks."""
RETIRED = 20
"""Experiments that one transaction of retention deletes."""
TERM = timedelta(seconds=60)
TOKENS_SECONDS = 3600.0
"""Interval between two looks for tokens that ended long ago, s."""

log = structlog.get_logger("hooke.purge")


class Purger(Repeating):
    """The thread that deletes and purges; one process at a time does."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("purger", settings.purge_seconds)
        self.database = database
        self.settings = settings
        self.fetched = FetchedFiles(settings)
        self.leadership = Leadership(database, TERM, "purger")
        undo = Deadline(Experiment.purge_at, Experiment.deleted_at, settings.undo)
        self._watch = Watch("purger", undo)
        self._tokens_at = 0.0

    def look(self) -> None:
        """Delete what retention says, then purge every experiment whose undo period is over."""
        if not self.leadership.hold():
            return
        passed = self._watch.look(self.database)
        if self._tokens_at <= time.monotonic():
            ended_tokens.remove(self.database, passed.certain)
            self._tokens_at = time.monotonic() + TOKENS_SECONDS
        self._retire(passed.certain)
        due = self._due(passed.at)
        every(partial(self._purge_one, experiment_id, number, passed.at) for experiment_id, number in due)

    def _purge_one(self, experiment_id: str, number: int, at: datetime) -> None:
        if not self.ended.is_set() and self.leadership.hold() and self._purge(experiment_id, at):
            log.info("an experiment was purged", experiment=experiment_id, number=number)

    def close(self) -> None:
        """Let another process do it at once."""
        self.leadership.give_back()
        self.fetched.close()

    def _retire(self, at: datetime) -> None:
        with self.database.read() as session:
            projects = session.execute(select(Project.id, Project.keep_runs).order_by(Project.id)).all()
        for project, own in projects:
            keep = kept(own, self.settings.keep_runs)
            count = RETIRED
            while keep is not None and count == RETIRED and self.lives():
                with self.database.write() as session:
                    numbers = retire(session, project, at - keep, self.settings.undo, RETIRED)
                count = len(numbers)
                if numbers:
                    about = {"project": project, "numbers": numbers, "keep_runs": str(keep)}
                    log.info("experiments were deleted by retention", **about)

    def _due(self, at: datetime) -> list[tuple[str, int]]:
        with self.database.read() as session:
            ended = or_(Experiment.purge_at <= at, Experiment.purge_at <= Experiment.deleted_at)
            over = Experiment.deleted_at.is_not(None) & ended
            rows = session.execute(
                select(Experiment.id, Experiment.number).where(over).order_by(Experiment.number)
            )
            return [(experiment_id, number) for experiment_id, number in rows]

    def _purge(self, experiment_id: str, at: datetime) -> bool:
        with self.database.write() as session:
            if not _begin(session, experiment_id, at):
                return True  # restored in the last moment
        count = ROWS
        while count == ROWS:  # the compactor removes what is discarded
            if not (self.lives() and self.leadership.hold()):
                return False
            with self.database.write() as session:
                count = discard_of(session, experiment_id, ROWS)
        fetches.drop(self.database, self.fetched, experiment_id)
        for table, condition in _tables(experiment_id):
            most = LARGE_ROWS if any(isinstance(each.type, LargeBinary) for each in table.c) else ROWS
            count = most
            while count == most:
                if not (self.lives() and self.leadership.hold()):
                    return False
                with self.database.write() as session:
                    count = _delete_some(session, table, condition, most)
        with self.database.write() as session:
            session.execute(delete(Experiment).where(Experiment.id == experiment_id))
            announce(session, "experiment", {"id": experiment_id})
        return True


def _begin(session: Session, experiment_id: str, at: datetime) -> bool:
    """Note what clusters hold of an experiment; from now on it cannot be restored. Return whether it is due."""
    experiment = session.get(
        Experiment, experiment_id, with_for_update={"key_share": True}, populate_existing=True
    )
    if experiment is None or experiment.purge_at is None or not (experiment.purge_at <= at or begun(experiment)):
        return False
    experiment.purge_at = experiment.deleted_at  # however the clock may jump
    session.flush()
    columns = ("run_id", "cluster", "created_at")
    attempted = exists().where(Attempt.run_id == Run.id)
    noted = exists().where(Removal.run_id == Run.id)
    rows = select(Run.id, Run.host, literal(database_time(session), Removal.created_at.type)).where(
        Run.experiment_id == experiment_id, attempted, ~noted
    )
    if experiment.origin is None:  # of an imported one, no cluster of this server has anything
        session.execute(insert(Removal).from_select(columns, rows))
    return True


def _tables(experiment_id: str) -> list[tuple[Table, ColumnElement[bool]]]:
    """Return every table with rows of an experiment and their condition, in the order in which rows may go.

    Tokens first, so that a supervisor that still sends is refused before anything else is missing.
    """
    runs = select(Run.id).where(Run.experiment_id == experiment_id)
    of_runs: list[tuple[Table, ColumnElement[bool]]] = []
    of_experiment: list[tuple[Table, ColumnElement[bool]]] = []
    for table in reversed(Base.metadata.sorted_tables):
        if table.name == Removal.__tablename__:
            continue
        if "run_id" in table.c:
            of_runs.append((table, table.c.run_id.in_(runs)))
        if "experiment_id" in table.c:
            of_experiment.append((table, table.c.experiment_id == experiment_id))
    of_runs.sort(key=lambda found: found[0].name != AttemptToken.__tablename__)
    return [*of_runs, *of_experiment]


def _delete_some(session: Session, table: Table, condition: ColumnElement[bool], most: int) -> int:
    """Delete up to `most` rows of a table; return their number."""
    key: list[ColumnElement[Any]] = list(table.primary_key.columns)
    some = select(*key).where(condition).limit(most)
    chosen = key[0].in_(some) if len(key) == 1 else tuple_(*key).in_(some)
    result = session.execute(delete(table).where(chosen))
    assert isinstance(result, CursorResult)  # noqa: S101 - a DELETE has a count
    return result.rowcount
