"""Sessions of browsers: random, stored as hashes, ended by disuse, by sign-out, or with their user."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import Actor, Credential, Role
from hooke_api.base.security import SESSION_PREFIX, digest
from hooke_api.models import BrowserSession, User

IDLE = timedelta(hours=24)
"""Time without use after which a session ends."""
LONGEST = timedelta(days=30)
"""Time after which it ends in any case."""
MOST = 50
"""Sessions of a user; a further one ends the oldest."""


def begin(session: Session, user: User, at: datetime) -> str:
    """Store a new session; return the value of its cookie. Sessions of the user that have ended are removed."""
    mine = BrowserSession.user_id == user.id
    session.execute(
        delete(BrowserSession).where(
            mine, (BrowserSession.used_at < at - IDLE) | (BrowserSession.created_at < at - LONGEST)
        )
    )
    oldest = select(BrowserSession.id).where(mine).order_by(BrowserSession.id.desc()).offset(MOST - 1)
    surplus = session.scalars(oldest).all()
    session.execute(delete(BrowserSession).where(BrowserSession.id.in_(surplus)))
    value = SESSION_PREFIX + secrets.token_urlsafe(32)
    session.add(
        BrowserSession(
            id=ids.session_id(), user_id=user.id, session_sha256=digest(value), created_at=at, used_at=at
        )
    )
    user.signed_in_at = at
    return value


def find(session: Session, value: str, at: datetime) -> tuple[BrowserSession, Actor] | None:
    """Return the session of a cookie and whose it is; None if it has ended or its user is disabled."""
    query = (
        select(BrowserSession, User)
        .join(User, User.id == BrowserSession.user_id)
        .where(BrowserSession.session_sha256 == digest(value), User.disabled.is_(False))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    row, user = found
    if row.used_at < at - IDLE or row.created_at < at - LONGEST:
        return None
    return row, Actor(user.name, Role(user.role), Credential.SESSION, row.id, user.id)


def end(session: Session, session_id: str) -> None:
    """End a session."""
    session.execute(delete(BrowserSession).where(BrowserSession.id == session_id))


def end_all(session: Session, user_id: str, but: str | None = None) -> None:
    """End every session of a user, except perhaps one."""
    mine = BrowserSession.user_id == user_id
    session.execute(delete(BrowserSession).where(mine, BrowserSession.id != (but or "")))
