"""A thread that moves the steps of ended runs to objects (`hooke_api.storage.compacting`)."""

from __future__ import annotations

import time
from datetime import timedelta

import structlog
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from hooke_api.base.settings import Settings
from hooke_api.base.workers import Repeating
from hooke_api.models import Run
from hooke_api.scheduling.leader import Leadership
from hooke_api.storage import compacting
from hooke_api.storage.database import Database
from hooke_api.storage.objects import ObjectError, ObjectFault, ObjectStore
from hooke_api.storage.steps_file import UnusualChunk

SECONDS = 30.0
"""Interval between two looks, s."""
TERM = timedelta(seconds=60)
AGAIN_SECONDS = 600.0
"""Time after which a run is tried again whose steps could not be moved."""
TIDY_SECONDS = 3600.0
"""Interval between two looks for what interrupted writers have left, s."""
MOST_PAUSE_SECONDS = 5.0
"""Longest pause after a run; it is as long as the run has taken, so that requests have half of a core."""

log = structlog.get_logger("hooke.compaction")


class Compactor(Repeating):
    """The thread; one process at a time does it. What fails is logged, and told in the warnings of `readyz`."""

    def __init__(self, database: Database, settings: Settings, seconds: float = SECONDS) -> None:
        super().__init__("compactor", seconds)
        self.database = database
        self.after = settings.compact_after
        self.leadership = Leadership(database, TERM, "compactor")
        self._tidy_at = 0.0
        self._not_before: dict[str, float] = {}
        """Runs that could not be moved -> when they are tried again, by the clock that never jumps."""

    def look(self) -> None:
        """Remove objects that no run has; move the steps of every run that is due."""
        store = self.database.objects
        if store is None:
            return
        self._forget_gone(store)
        if not self.leadership.hold():
            return
        try:
            if self._tidy_at <= time.monotonic():
                store.tidy()
                self._tidy_at = time.monotonic() + TIDY_SECONDS
            compacting.sweep(self.database)
            store.note(ObjectFault.REMOVING, None)
        except ObjectError as error:
            store.note(ObjectFault.REMOVING, str(error))
        if self.after is None:
            return
        with self.database.read() as session:
            runs = compacting.due(session, self.after)
        for run in runs:
            if not self._goes_on():
                return
            if self._not_before.get(run, 0.0) <= time.monotonic():
                self._compact(store, run)

    def close(self) -> None:
        """Let another process do it at once."""
        self.leadership.give_back()

    def _goes_on(self) -> bool:
        return self.lives() and self.leadership.hold()

    def _forget_gone(self, store: ObjectStore) -> None:
        """Forget what has failed of runs that have been purged; in every process, for each has its own faults."""
        if faulty := sorted(store.faulty()):
            with self.database.read() as session:
                there = set(session.scalars(select(Run.id).where(Run.id.in_(faulty))))
            for run in faulty:
                if run not in there:
                    store.forget(run)

    def _compact(self, store: ObjectStore, run: str) -> None:
        """Move the steps of a run; what fails waits a while, and keeps no other run from being moved."""
        began = time.monotonic()
        self._not_before.pop(run, None)
        try:
            compacting.compact(self.database, run, self._goes_on)
            store.note(ObjectFault.MOVING, None, run)
        except compacting.Stopped:
            return
        except UnusualChunk as error:
            self._not_before[run] = float("inf")  # it was imported so
            log.info("the steps of a run stay rows", run=run, why=str(error))
        except Exception as error:  # any error; those of the database end the look if they go on
            self._not_before[run] = began + AGAIN_SECONDS
            store.note(ObjectFault.MOVING, f"{type(error).__name__}: {error}"[:300], run)
            if isinstance(error, SQLAlchemyError):
                raise
        self.ended.wait(min(time.monotonic() - began, MOST_PAUSE_SECONDS))
