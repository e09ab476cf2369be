"""Leader election: one of the API processes on a database schedules, and one purges."""

from __future__ import annotations

import os
import secrets
import socket
import time
from datetime import timedelta

from sqlalchemy import CursorResult, delete, or_, update
from sqlalchemy.exc import IntegrityError

from hooke_api.models import Leader, database_time
from hooke_api.storage.database import Database

AHEAD = timedelta(minutes=1)
"""Beyond a term, how far ahead the end of one may lie: further only if the clock was set back since."""


class Leadership:
    """A row that one process holds and renews; another one takes it over after it has expired.

    It expires by the database's clock; when to renew it is decided by a clock that never jumps. One that expires
    further ahead than any term lasts was taken before the clock was set back. If that process lives, both lead
    until it renews, as after a jump ahead.
    """

    def __init__(self, database: Database, term: timedelta, role: str = "scheduler") -> None:
        """`role`: what the leader does; there is one for each role."""
        self.database = database
        self.term = term
        self.role = role
        self.name = f"{socket.gethostname()[:80]}:{os.getpid()}:{secrets.token_hex(4)}"
        self._renew_at: float | None = None

    def hold(self) -> bool:
        """Return whether this process leads; renews the row early enough that it does not expire meanwhile."""
        began = time.monotonic()
        if self._renew_at is not None and began < self._renew_at:
            return True
        self._renew_at = began + self.term.total_seconds() / 3 if self._take() else None
        return self._renew_at is not None

    def _take(self) -> bool:
        try:
            with self.database.write() as session:
                at = database_time(session)
                over = or_(Leader.until < at, Leader.until > at + self.term + AHEAD)
                result = session.execute(
                    update(Leader)
                    .where(Leader.name == self.role, or_(Leader.holder == self.name, over))
                    .values(holder=self.name, until=at + self.term)
                )
                assert isinstance(result, CursorResult)  # noqa: S101 - an UPDATE has a count
                if result.rowcount:
                    return True
                if session.get(Leader, self.role) is not None:
                    return False
                session.add(Leader(name=self.role, holder=self.name, until=at + self.term))
        except IntegrityError:  # another process wrote the first row at the same moment
            return False
        return True

    def give_back(self) -> None:
        """Release the row, so that another process can lead at once."""
        with self.database.write() as session:
            session.execute(delete(Leader).where(Leader.name == self.role, Leader.holder == self.name))
