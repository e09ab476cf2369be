"""How much time has passed for certain: what cannot be undone is not done because a clock was set ahead.

Periods end by the database's clock. From look to look a leader compares it with a clock of its host that never
jumps, and that also counts while the host sleeps. Over a restart of the host, and from one host to another, only
the database's clock tells how long nobody has looked; of that a bounded time counts. A host without a battery
starts with the time of its last shutdown, or years back, until it has asked for the time: for an hour after a
start nothing is over, and only then the clocks are compared. What began meanwhile, years back, begins anew then.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import structlog
from sqlalchemy import or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from hooke_api.models import Leader, database_time
from hooke_api.storage.database import Database

Time = InstrumentedAttribute[Any]

SLACK = timedelta(minutes=1)
"""By less than this within AGAIN a clock is adjusted."""
AGAIN = timedelta(hours=1)
"""From when on another look is compared with, so that a clock that goes a little too fast is none that was set;
and how long after its start the clock of a host is not believed."""
UNSEEN = timedelta(days=1)
"""What counts at most of a time in which nobody looked, if only the database's clock tells how long it was."""
SHARE = 4
"""Doubts about the clock shrink by this part of the time that passes: a server that was off for a month is not
late for ever. Where the clock is wrong, an age of 90 days is reached after 72 at the earliest."""

LONG_AGO = datetime(1900, 1, 1, tzinfo=UTC)
"""The time on a host that may not know it yet: no period has ended by then."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")

log = structlog.get_logger("hooke.clock")


@dataclass(frozen=True)
class Passed:
    """What a look has found."""

    at: datetime
    """The time by the database's clock; LONG_AGO on a host that may not know it yet."""
    jump: timedelta = timedelta()
    """By how much the clock was set ahead since the look before; negative: it was set back."""
    doubted: timedelta = timedelta()
    """By how much it may be ahead in all; negative: it was set back within AGAIN, and may be set right again."""
    seen: datetime | None = None
    """When the look before was, if it was at another start of a host."""

    @property
    def certain(self) -> datetime:
        """Return the time at which something was as old as it is for certain."""
        return self.at - max(timedelta(), self.doubted)


@dataclass(frozen=True)
class Deadline:
    """A column with the end of a period, that with its begin, and how long such a period lasts."""

    ends: Time
    began: Time
    lasts: timedelta


class Watch:
    """Compares the clocks for one leader, and puts off the ends of periods by as much as the clock was set ahead.

    It stores what it has seen in a row of its own beside those of the leaders, for the process that leads next.
    """

    def __init__(self, role: str, *deadlines: Deadline) -> None:
        self._name = f"{role}, time"
        self._deadlines = deadlines
        self._unseen = min([UNSEEN, *(each.lasts / 2 for each in deadlines)])

    def look(self, database: Database) -> Passed:
        """Return what has passed, with all ends put off."""
        with database.read() as session:
            found, fresh = self._compare(session, lock=False)
        if not fresh:
            return found
        with database.write() as session:
            found, _ = self._compare(session, lock=True)
            for each in self._deadlines:
                if found.seen is not None:
                    _begin_again(session, each, found.at, found.seen)
                if found.jump:
                    _move(session, each, found)
            boot, running = _host()
            seen = f"{boot} {running:.3f} {found.doubted.total_seconds():.3f}"
            session.merge(Leader(name=self._name, holder=seen, until=found.at))
        if found.jump:
            told = {"role": self._name, "by": str(found.jump), "doubted": str(found.doubted)}
            log.warning("the database's clock was set, or nobody looked for long: no period ends early", **told)
        return found

    def _compare(self, session: Session, lock: bool) -> tuple[Passed, bool]:
        """Return what has passed since the look that is stored, and whether this one is to be stored."""
        row, at = session.get(Leader, self._name, with_for_update=lock), database_time(session)
        if row is None:
            return Passed(at), True
        (boot, running), (known, then, doubted) = _host(), row.holder.split()
        left = timedelta(seconds=float(doubted))
        if boot != known and timedelta(seconds=running) < AGAIN:
            return Passed(LONG_AGO, doubted=left), False
        gap = at - row.until
        passed = timedelta(seconds=running - float(then))
        if same := boot == known and passed >= timedelta():
            jump = gap - passed
        else:
            passed = max(timedelta(), min(gap, self._unseen))
            jump = gap - passed
        if abs(jump) <= SLACK:
            jump = timedelta()
        left = max(left - passed / SHARE, min(left, timedelta())) + jump
        if passed >= AGAIN:  # until then a host that has started years back may ask for the time
            left = max(timedelta(), left)
        return Passed(at, jump, left, None if same else row.until), bool(jump) or not same or passed >= AGAIN


def _host() -> tuple[str, float]:
    """Return which start of this host it is, and for how many seconds it has been running."""
    return _boot(), time.clock_gettime(time.CLOCK_BOOTTIME)


@cache
def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:  # hidden from this process: what it sees itself is certain, and nothing else
        return str(uuid4())


def _begin_again(session: Session, deadline: Deadline, at: datetime, seen: datetime) -> None:
    """Let periods begin now that were over at the look before, which would have ended them.

    They began after it, by a clock that was years back, so they would be over now.
    """
    ends, began, of = deadline.ends, deadline.began, deadline.ends.class_
    periods = select(of.id, ends, began).where(ends <= seen, ends > began).with_for_update()
    rows = [{"id": id, ends.key: at + (end - begin), began.key: at} for id, end, begin in session.execute(periods)]
    if rows:
        session.execute(update(of), rows)


def _move(session: Session, deadline: Deadline, found: Passed) -> None:
    """Put off the ends of periods that are under way, or let them end earlier after the clock was set back.

    By the second a period ends no earlier than its length from now, and began no later than now. One whose end is
    its begin is over, whatever the clock says.
    """
    ends, began, of = deadline.ends, deadline.began, deadline.ends.class_
    periods = select(of.id, ends, began).with_for_update()
    rows: list[dict[str, Any]] = []
    if found.jump > timedelta():
        before = found.at - found.jump
        for id, end, _ in session.execute(periods.where(began <= before, ends > before)):
            rows.append({"id": id, ends.key: end + found.jump})
    else:
        least = found.at + deadline.lasts
        for id, end, begin in session.execute(periods.where(or_(ends > least, began > found.at), ends > began)):
            earlier = max(end + found.jump, min(end, least))
            rows.append({"id": id, ends.key: earlier, began.key: min(begin, found.at)})
    if rows:
        session.execute(update(of), rows)
