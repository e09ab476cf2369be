"""Times in the database that lie ahead of its clock, because that was set back: nothing must wait for them.

Leases and pauses end, and silence begins, at a stored time. Until the clock is there again, a run of a supervisor
that died would look alive, its cluster online, and an order that was lost would not be sent again. Sessions that
began, and tokens that were made, while the clock was ahead would be valid for longer than they may.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import CursorResult, Select, bindparam, exists, or_, select, update
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
    database_time,
)
from hooke_api.scheduling.holds import LONGEST_SECONDS
from hooke_api.scheduling.retries import policy_of
from hooke_api.storage.database import Database

Time = InstrumentedAttribute[Any]

SLACK = timedelta(minutes=1)
"""By which times may lie ahead: those of transactions that commit just now, or of a clock that is adjusted."""
PAST: tuple[Time, ...] = (
    Attempt.sent_at,
    Attempt.asked_at,
    Cluster.seen_at,
    AgentOrder.made_at,
    Removal.asked_at,
    StoredCalibration.sent_at,
    StoredFetch.created_at,
    StoredFetch.asked_at,
    StoredFetch.heard_at,
    BrowserSession.created_at,
    BrowserSession.used_at,
)
"""When something was done."""
_MADE: tuple[Time, ...] = (AccessToken.created_at, ClusterToken.created_at)
"""When tokens were made, which expire a time after that."""
_PAUSED = Run.not_before
"""When a further attempt may start: how long its pause is says the retry policy."""


def _limits(settings: Settings) -> list[tuple[Time, timedelta]]:
    """Return how far ahead each time may lie."""
    lease, hold = timedelta(seconds=settings.lease_seconds), timedelta(seconds=LONGEST_SECONDS)
    return [*((each, timedelta()) for each in PAST), (Attempt.leased_until, lease), (Cluster.held_until, hold)]


def _any() -> Select[bool]:
    """Return the query whether a time lies further ahead; each has a parameter of its name."""
    tables: dict[Any, list[Any]] = defaultdict(list)
    for column in (*PAST, *_MADE, Attempt.leased_until, Cluster.held_until, _PAUSED):
        tables[column.class_].append(column > bindparam(_name(column), type_=column.type))
    return select(or_(*(exists().where(or_(*some)) for some in tables.values())))


def _name(column: Time) -> str:
    return f"{column.class_.__name__}_{column.key}"


_ANY = _any()


def any_ahead(session: Session, at: datetime, settings: Settings) -> bool:
    """Return whether `pull_back` may find something."""
    limits = [*_limits(settings), *((each, timedelta()) for each in (*_MADE, _PAUSED))]
    return bool(session.scalar(_ANY, {_name(column): at + ahead + SLACK for column, ahead in limits}))


def pull_back(database: Database, settings: Settings) -> int:
    """Let times that lie ahead be what they can be at most; return how many there were.

    Each kind in a transaction of its own, so that rows are locked in no order which others do not keep.
    """
    count = 0
    for column, ahead in _limits(settings):
        count += _transaction(database, partial(_bound, column=column, ahead=ahead))
    for column in _MADE:
        count += _transaction(database, partial(_tokens, made=column))
    return count + _transaction(database, partial(_pauses, settings=settings))


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
