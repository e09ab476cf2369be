"""Removes tokens and sessions long after their end: nobody can use them, and each renewal leaves one.

Who made and ended them stays in the audit trail. Tokens of attempts go with their experiment.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import ColumnElement, CursorResult, delete, exists, or_, select
from sqlalchemy.orm import Session

from hooke_api.models import AccessToken, BrowserSession, ClusterToken, database_time
from hooke_api.storage.database import Database

KEPT = timedelta(days=90)
"""How long after its end a token is still listed, and after its begin a session, which lasts 30 days at most."""
_Table = type[AccessToken] | type[BrowserSession] | type[ClusterToken]


def remove(database: Database) -> int:
    """Remove what ended long ago; return its number. Others wait for this only if there is something."""
    with database.read() as session:
        due = [table for table, old in _old(session) if session.scalar(select(exists().where(old)))]
    if not due:
        return 0
    with database.write() as session:
        results = [session.execute(delete(table).where(old)) for table, old in _old(session) if table in due]
        return sum(each.rowcount for each in results if isinstance(each, CursorResult))


def _old(session: Session) -> list[tuple[_Table, ColumnElement[bool]]]:
    """Return the tables, and the condition on their rows that ended long ago."""
    before = database_time(session) - KEPT
    tokens = [(of, or_(of.expires_at < before, of.revoked_at < before)) for of in (AccessToken, ClusterToken)]
    return [*tokens, (BrowserSession, BrowserSession.created_at < before)]
