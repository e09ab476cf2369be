"""A thread that stores series of runs at limited resolutions: of ended ones, and of long ones in progress.

See `hooke_api.metrics.thinning` and `hooke_api.metrics.stored_growth`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import timedelta

import structlog
from hooke.spec.states import TERMINAL
from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from hooke_api.base.errors import ApiError
from hooke_api.base.workers import Repeating
from hooke_api.metrics import stored_brackets, stored_growth, thinning
from hooke_api.models import Event, NumberSequence, RankTotals, Run, ThinnedSeries
from hooke_api.scheduling.leader import Leadership
from hooke_api.storage.database import Database

SECONDS = 2.0
"""Interval between two looks for runs that have ended, s."""
TERM = timedelta(seconds=60)
QUIET_SECONDS = 10.0
"""Time without the end of a run after which those are stored again beside whose ends others were not, s."""
AGAIN_SECONDS = 600.0
"""Time after which a run is tried again whose steps could not be read."""

log = structlog.get_logger("hooke.thinner")


class Thinner(Repeating):
    """The thread; one process at a time does it. Ended runs are found by events, at first by what is missing."""

    def __init__(self, database: Database, seconds: float = SECONDS) -> None:
        super().__init__("thinner", seconds)
        self.database = database
        self.leadership = Leadership(database, TERM, "thinner")
        self._seen: int | None = None
        """Position of the newest event that has been looked at; None: nothing yet, or another process led."""
        self._touched: set[str] = set()
        """Experiments of which runs were stored since all of their groups were looked at."""
        self._ended = 0.0
        """When a run was stored last, by the clock that never jumps."""
        self._left: dict[str, float] = {}
        """Runs whose steps could not be read -> when they are tried again, by the clock that never jumps."""

    def look(self) -> None:
        """Store what is missing of every run that has ended or changed since the last look."""
        if not self.leadership.hold():
            self._seen = None
            return
        with self.database.read() as session:
            newest = session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0
            runs = _missing(session) if self._seen is None else _changed(session, self._seen)
            going_on = stored_growth.due(session)
        again = [run for run, at in self._left.items() if at <= time.monotonic()]
        for run in dict.fromkeys((*runs, *again)):
            if not (self.lives() and self.leadership.hold()):
                return  # what is left is found again
            self._store(run, lambda run: thinning.store(self.database, run))
        self._seen = newest
        self._catch_up(runs)
        for run in going_on:
            if run not in self._left and self.lives() and self.leadership.hold():
                self._store(run, lambda run: stored_growth.save(self.database, run, thinning.LEVELS[0]))

    def _catch_up(self, runs: Sequence[str]) -> None:
        """Note whose runs were stored; once none was for a while, store what bands of these experiments lack."""
        if runs:
            with self.database.read() as session:
                self._touched |= set(session.scalars(select(Run.experiment_id).where(Run.id.in_(runs))))
            self._ended = time.monotonic()
        elif self._touched and time.monotonic() - self._ended >= QUIET_SECONDS:
            with self.database.read() as session:
                behind = set(stored_brackets.behind(session, sorted(self._touched))) - self._left.keys()
            for run in sorted(behind):
                if not (self.lives() and self.leadership.hold()):
                    return
                self._store(run, lambda run: thinning.store(self.database, run, again=True))
            if not behind:  # those that were stored now may have told of further ends
                self._touched.clear()

    def close(self) -> None:
        """Let another process do it at once."""
        self.leadership.give_back()

    def _store(self, run: str, store: Callable[[str], object]) -> None:
        """Store what is to be stored of a run; one of which this fails keeps no other from it."""
        self._left.pop(run, None)
        try:
            store(run)
        except SQLAlchemyError:
            raise
        except ApiError as error:  # its object is missing, the store away, or too many write
            self._left[run] = time.monotonic() + AGAIN_SECONDS
            log.warning("the series of a run cannot be thinned out now", run=run, why=error.detail)
        except Exception:  # any other error
            self._left[run] = time.monotonic() + AGAIN_SECONDS
            log.exception("the series of a run cannot be thinned out", run=run)


def _long() -> ColumnElement[bool]:
    """Return the condition that a run has ended, and is so long that reading it whole takes a while."""
    steps = exists().where(RankTotals.run_id == Run.id, RankTotals.steps > thinning.LEAST_STEPS)
    return Run.state.in_(TERMINAL) & steps


def _missing(session: Session, *where: ColumnElement[bool]) -> list[str]:
    """Return the long ended runs of which nothing is stored for bands, and perhaps no level, newest first."""
    totals = select(RankTotals.run_id).where(RankTotals.steps > thinning.LEAST_STEPS)
    none = ~exists().where(ThinnedSeries.run_id == Run.id, ThinnedSeries.most == stored_brackets.PLACES)
    query = select(Run.id).where(Run.id.in_(totals), Run.state.in_(TERMINAL), none, *where)
    return list(session.scalars(query.order_by(Run.id.desc())))


def _changed(session: Session, seen: int) -> list[str]:
    """Return the long ended runs with an event after a position, and those that were imported since."""
    events = select(Event.run_id).where(Event.position > seen, Event.run_id.is_not(None)).distinct()
    found = list(session.scalars(select(Run.id).where(Run.id.in_(events), _long()).order_by(Run.id)))
    whole = select(Event.experiment_id).where(Event.position > seen, Event.kind == "experiment").distinct()
    experiments = [each for each in session.scalars(whole) if each]
    return found + (_missing(session, Run.experiment_id.in_(experiments)) if experiments else [])
