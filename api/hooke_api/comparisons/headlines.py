"""Keeps the headlines of experiments, and the curves beside them, in their rows: a list reads them like a name.

A comparison costs some milliseconds, and a page of a list shows 100. So a thread computes both when runs of an
experiment have changed, which it learns from the events, and stores them; requests compute nothing.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import structlog
from hooke.comparison.headline import headlines
from hooke.errors import HookeError
from sqlalchemy import Text, cast, or_, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from hooke_api.base.settings import Settings
from hooke_api.base.workers import Repeating
from hooke_api.comparisons.best_curve import best_curve
from hooke_api.comparisons.service import reported
from hooke_api.models import Event, Experiment, NumberSequence, database_time
from hooke_api.scheduling.leader import Leadership
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce

KINDS = ("run", "experiment")
"""Events after which the answer of a comparison may be another one; points alone do not end a run."""
TERM = timedelta(seconds=15)
RULE = 2
"""Of what is computed, stored with it: changed with the rule, it makes stored answers stale."""
PAUSES = 9.0
"""The next look begins after at least so many times what one took: large experiments cost a tenth of a core."""

log = structlog.get_logger("hooke.headlines")


class Headlines(Repeating):
    """The thread; one process at a time does it."""

    def __init__(self, database: Database, settings: Settings) -> None:
        super().__init__("headlines", settings.headline_seconds)
        self.database = database
        self._least = settings.headline_seconds
        self.leadership = Leadership(database, TERM, "headlines")
        self._seen: int | None = None
        """Position of the newest event that has been looked at; None: nothing yet, or another process led."""

    def look(self) -> None:
        """Compute the lines of every experiment that has changed since the last look."""
        if not self.leadership.hold():
            self._seen = None
            return
        began = time.monotonic()
        with self.database.read() as session:
            newest = session.scalar(select(NumberSequence.value).where(NumberSequence.name == "events")) or 0
            changed = _stale(session) if self._seen is None else _changed(session, self._seen)
        for experiment_id in changed:
            if not (self.lives() and self.leadership.hold()):
                return  # what is left is found again
            self._update(experiment_id)
        self._seen = newest
        self.seconds = max(self._least, PAUSES * (time.monotonic() - began))

    def close(self) -> None:
        """Let another process do it at once."""
        self.leadership.give_back()

    def _update(self, experiment_id: str) -> None:
        with self.database.read() as session:
            at = database_time(session)
            experiment = session.get(Experiment, experiment_id)
            if experiment is None or experiment.deleted_at is not None:
                return
            found, before = _answer(session, experiment), experiment.headlines
        with self.database.write() as session:
            mine = update(Experiment).where(Experiment.id == experiment_id)
            session.execute(mine.values(headlines=found, headlines_at=at))
            if found != before:
                announce(session, "experiment", {"id": experiment_id}, experiment_id=experiment_id)


def _stale(session: Session) -> list[str]:
    """Return the experiments whose lines are missing, or may be older than their runs."""
    old = or_(
        Experiment.headlines_at.is_(None),
        Experiment.finished_at.is_(None),
        Experiment.headlines_at <= Experiment.finished_at,
        cast(Experiment.headlines, Text).not_like(f'%"rule": {RULE}}}'),  # by an earlier version
    )
    query = select(Experiment.id).where(Experiment.deleted_at.is_(None), old)
    return list(session.scalars(query.order_by(Experiment.number.desc())))


def _changed(session: Session, seen: int) -> list[str]:
    """Return the experiments with events after a position, in the order of the first of them."""
    query = select(Event.experiment_id).where(Event.position > seen, Event.kind.in_(KINDS))
    return list(dict.fromkeys(found for found in session.scalars(query.order_by(Event.position)) if found))


def _answer(session: Session, experiment: Experiment) -> dict[str, Any]:
    """Return what is stored: `lines`, the `curve` of the best variant or None, and RULE, last."""
    try:
        found = reported(session, experiment)
        ended = experiment.finished_at is not None
        lines = headlines(found.report, experiment.baseline, found.spec.target is not None, ended)
        return {"lines": lines, "curve": best_curve(session, experiment, found), "rule": RULE}
    except SQLAlchemyError:
        raise
    except (HookeError, ValueError):  # what it continues is gone, or its document is of another version
        pass
    except Exception:  # any other error: one experiment must not keep the others from their lines
        log.exception("an experiment has no headline", experiment=experiment.id)
    return {"lines": [], "curve": None, "rule": RULE}
