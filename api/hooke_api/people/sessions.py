"""Sessions of browsers: random, stored as hashes, ended by disuse, by sign-out, or with their user."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import OWNER, Actor, Credential, Role
from hooke_api.base.security import SESSION_PREFIX, SESSION_SECONDS, digest
from hooke_api.models import BrowserSession, User

IDLE = timedelta(hours=24)
"""Time without use after which a session of a user ends; one of the owner only by age."""
LONGEST = timedelta(seconds=SESSION_SECONDS)
"""Time after which any ends."""
MOST = 50
"""Sessions of a user, or of the owner; a further one ends the oldest."""


def begin(session: Session, user: str | None, hashed: Callable[[str], str], at: datetime) -> str:
    """Store a new session; return the value of its cookie. Those of the user that have ended are removed.

    `user`: id of the user; None: the owner. `hashed`: what is stored of the value.
    """
    mine = _of(user)
    ended = BrowserSession.created_at < at - LONGEST
    session.execute(delete(BrowserSession).where(mine, ended if user is None else ended | _idle(at)))
    oldest = select(BrowserSession.id).where(mine).order_by(BrowserSession.id.desc()).offset(MOST - 1)
    surplus = session.scalars(oldest).all()
    session.execute(delete(BrowserSession).where(BrowserSession.id.in_(surplus)))
    value = SESSION_PREFIX + secrets.token_urlsafe(32)
    session.add(
        BrowserSession(id=ids.session_id(), user_id=user, session_sha256=hashed(value), created_at=at, used_at=at)
    )
    return value


def _of(user: str | None) -> ColumnElement[bool]:
    return BrowserSession.user_id.is_(None) if user is None else BrowserSession.user_id == user


def _idle(at: datetime) -> ColumnElement[bool]:
    return BrowserSession.used_at < at - IDLE


def find(
    session: Session, value: str, of_owner: Callable[[str], str], at: datetime
) -> tuple[BrowserSession, Actor] | None:
    """Return the session of a cookie and whose it is; None if it has ended or its user is disabled.

    `of_owner`: what is stored of the value if it is of the owner.
    """
    known = (digest(value), of_owner(value))
    query = (
        select(BrowserSession, User)
        .outerjoin(User, User.id == BrowserSession.user_id)
        .where(BrowserSession.session_sha256.in_(known))
    )
    found = session.execute(query).one_or_none()
    if found is None:
        return None
    row: BrowserSession = found[0]
    user: User | None = found[1]
    if row.created_at < at - LONGEST:
        return None
    if user is None:
        return row, Actor(OWNER, Role.ADMIN, Credential.START, row.id)
    if user.disabled or row.used_at < at - IDLE:
        return None
    return row, Actor(user.name, Role(user.role), Credential.SESSION, row.id, user.id)


def end(session: Session, session_id: str) -> None:
    """End a session."""
    session.execute(delete(BrowserSession).where(BrowserSession.id == session_id))


def end_all(session: Session, user: str | None, but: str | None = None) -> int:
    """End every session of a user, or of the owner (None), except perhaps one; return their number."""
    ended = delete(BrowserSession).where(_of(user), BrowserSession.id != (but or ""))
    return len(session.scalars(ended.returning(BrowserSession.id)).all())
