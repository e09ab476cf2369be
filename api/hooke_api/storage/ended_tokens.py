"""Removes tokens and sessions long after their end: nobody can use them, and each renewal leaves one.

Who made and ended them stays in the audit trail. Tokens of attempts go with their experiment.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, CursorResult, delete, exists, or_, select

from hooke_api.models import AccessToken, BrowserSession, ClusterToken
from hooke_api.storage.database import Database

KEPT = timedelta(days=90)
"""How long after its end a token is still listed, and after its begin a session, which lasts 30 days at most."""
_Table = type[AccessToken] | type[BrowserSession] | type[ClusterToken]


def remove(database: Database, at: datetime) -> int:
    """Remove what ended long before a time; return its number. Others wait only if there is something."""
    with database.read() as session:
        due = [each for each in _old(at - KEPT) if session.scalar(select(exists().where(each[1])))]
    if not due:
        return 0
    with database.write() as session:
        results = [session.execute(delete(table).where(old)) for table, old in due]
        return sum(each.rowcount for each in results if isinstance(each, CursorResult))


def _old(before: datetime) -> list[tuple[_Table, ColumnElement[bool]]]:
    """Return the tables, and the condition on their rows that ended before a time."""
    tokens = [(of, or_(of.expires_at < before, of.revoked_at < before)) for of in (AccessToken, ClusterToken)]
    return [*tokens, (BrowserSession, BrowserSession.created_at < before)]
