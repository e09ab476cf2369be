"""Times in the database that lie ahead of its clock, because that was set back: nothing must wait for them.

Leases and pauses end, and silence begins, at a stored time. Until the clock is there again, a run of a supervisor
that died would look alive, its cluster online, and an order that was lost would not be sent again. Sessions,
tokens and invitations that were made while the clock was ahead would be valid for longer than they may.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any

import structlog
from hooke.spec.states import RunState
from sqlalchemy import CursorResult, exists, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from hooke_api.base.settings import Settings
from hooke_api.models import (
    AccessToken,
    AgentOrder,
    Attempt,
    BrowserSession,
    Cluster,
    ClusterToken,
    Removal,
    Run,
    StoredCalibration,
    StoredFetch,
    User,
    database_time,
)
from hooke_api.models.people import INVITE
from hooke_api.scheduling.holds import LONGEST_SECONDS
from hooke_api.scheduling.passed import AGAIN
from hooke_api.scheduling.retries import policy_of
from hooke_api.storage.database import Database

Time = InstrumentedAttribute[Any]

SLACK = timedelta(minutes=1)
"""By which times may lie ahead: those of transactions that commit just now, or of a clock that is adjusted."""

log = structlog.get_logger("hooke.clock")


class Kind(Enum):
    """What times are of."""

    WORK = "runs, clusters and orders"
    CREDENTIALS = "sessions, tokens and invitations"


_PAST: tuple[Time, ...] = (
    Attempt.sent_at,
    Attempt.asked_at,
    Cluster.seen_at,
    AgentOrder.made_at,
    Removal.asked_at,
    StoredCalibration.sent_at,
    StoredFetch.created_at,
    StoredFetch.asked_at,
    StoredFetch.heard_at,
)
"""When something was done."""
_MADE: tuple[Time, ...] = (AccessToken.created_at, ClusterToken.created_at)
"""When tokens were made, which expire a time after that."""
_PAUSED = Run.not_before
"""When a further attempt may start: how long its pause is says the retry policy."""


def _limits(settings: Settings, kind: Kind) -> list[tuple[Time, timedelta]]:
    """Return how far ahead each time may lie."""
    none = timedelta()
    if kind is Kind.CREDENTIALS:
        return [(BrowserSession.created_at, none), (BrowserSession.used_at, none), (User.invite_until, INVITE)]
    lease, hold = timedelta(seconds=settings.lease_seconds), timedelta(seconds=LONGEST_SECONDS)
    return [*((each, none) for each in _PAST), (Attempt.leased_until, lease), (Cluster.held_until, hold)]


def _all_limits(settings: Settings, kind: Kind) -> list[tuple[Time, timedelta]]:
    """Return these and the times whose limit is not the same for all rows."""
    others = _MADE if kind is Kind.CREDENTIALS else (_PAUSED,)
    return [*_limits(settings, kind), *((each, timedelta()) for each in others)]


def any_ahead(session: Session, at: datetime, settings: Settings, kinds: Iterable[Kind] = Kind) -> bool:
    """Return whether `pull_back` may find something."""
    tables: dict[Any, list[Any]] = defaultdict(list)
    for column, ahead in (each for kind in kinds for each in _all_limits(settings, kind)):
        tables[column.class_].append(column > at + ahead + SLACK)
    return bool(session.scalar(select(or_(*(exists().where(or_(*some)) for some in tables.values())))))


class Back:
    """Pulls times back, each kind once after the clock may have been set back.

    Credentials after it has gone on for AGAIN: a host without a battery starts years back, and tokens that are
    valid for a time from then on would be over when it has asked for the time.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.again()

    def again(self) -> None:
        """Begin anew: the clock has jumped, or nobody has looked for long."""
        self._since = time.monotonic()
        self._left = set(Kind)

    def look(self, session: Session, at: datetime) -> set[Kind]:
        """Return the kinds of which times lie ahead."""
        steady = time.monotonic() - self._since >= AGAIN.total_seconds()
        due = {kind for kind in self._left if steady or kind is Kind.WORK}
        found = {kind for kind in due if any_ahead(session, at, self._settings, [kind])}
        self._left -= due - found
        return found

    def pull(self, database: Database, kinds: set[Kind]) -> None:
        """Pull those of some kinds back."""
        count = pull_back(database, self._settings, kinds)
        log.warning("times in the database lay ahead of its clock, which was set back", count=count)
        self._left -= kinds


def pull_back(database: Database, settings: Settings, kinds: Iterable[Kind] = Kind) -> int:
    """Let times that lie ahead be what they can be at most; return how many there were.

    Each column in a transaction of its own, so that rows are locked in no order which others do not keep.
    """
    count = 0
    for kind in kinds:
        for column, ahead in _limits(settings, kind):
            count += _transaction(database, partial(_bound, column=column, ahead=ahead))
        if kind is Kind.WORK:
            count += _transaction(database, partial(_pauses, settings=settings))
        else:
            for column in _MADE:
                count += _transaction(database, partial(_tokens, made=column))
    return count


def _transaction(database: Database, work: Callable[[Session, datetime], int]) -> int:
    with database.write() as session:
        return work(session, database_time(session))


def _bound(session: Session, at: datetime, column: Time, ahead: timedelta) -> int:
    late = update(column.class_).where(column > at + ahead + SLACK)
    result = session.execute(late.values({column.key: at + ahead}).execution_options(synchronize_session=False))
    assert isinstance(result, CursorResult)  # noqa: S101 - an UPDATE has a count
    return result.rowcount


def _tokens(session: Session, at: datetime, made: Time) -> int:
    """Let tokens be made now, and be valid for as long as they were to be."""
    of = made.class_
    rows = session.scalars(select(of).where(made > at + SLACK).order_by(of.id).with_for_update()).all()
    for row in rows:
        if row.expires_at is not None:
            row.expires_at -= row.created_at - at
        row.created_at = at
    return len(rows)


def _pauses(session: Session, at: datetime, settings: Settings) -> int:
    """Bound the pauses before further attempts by what the retry policies say."""
    paused = select(Run).where(Run.state == RunState.QUEUED, at + SLACK < _PAUSED).with_for_update()
    count = 0
    for run in session.scalars(paused):
        longest = at + timedelta(seconds=policy_of(session, run, settings).backoff(max(1, run.failures)))
        if run.not_before is not None and run.not_before > longest + SLACK:
            run.not_before, count = longest, count + 1
    return count
