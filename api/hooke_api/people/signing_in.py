"""Sign-in, invitations and passwords of users. Everything here takes the time of a hash: call it in a thread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select
from sqlalchemy.orm import Session

from hooke_api.base.access import OWNER, Actor, Credential, network_of
from hooke_api.base.errors import Conflict, TooMany, Unauthorized
from hooke_api.base.security import Sessions, digest
from hooke_api.models import TrailEntry, User, database_time
from hooke_api.people import sessions
from hooke_api.people.passwords import Passwords, check_password
from hooke_api.storage import trail
from hooke_api.storage.database import Database

WINDOW = timedelta(minutes=15)
"""Time for which a failed sign-in counts."""
MOST_OF_ACCOUNT, MOST_OF_ADDRESS = 10, 30
"""Failed sign-ins in that time, of one name since its last sign-in and from one address, before 429."""
FAILED = "sign_in_failed"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_WRONG = "the name or the password is wrong"


@dataclass(frozen=True)
class Sent:
    """From where a request comes that signs a user in."""

    address: str
    request_id: str


@dataclass(frozen=True)
class Attempt(Sent):
    """The same with name and password."""

    name: str
    password: str


def sign_in(database: Database, passwords: Passwords, asked: Attempt) -> str:
    """Return the cookie of a new session. Raises Unauthorized, and TooMany after too many failures.

    Name and password are told to be wrong together, and a name that nobody has takes as long as one that somebody
    has. Failures are counted in the audit trail, which all processes share.
    """
    name = asked.name.strip().lower()
    if not _NAME.fullmatch(name) or name == OWNER:
        name = "?"  # what is no name of a user is not stored
    with database.read() as session:
        at = database_time(session)
        user = session.scalars(select(User).where(User.name == name)).first()
        _check_failures(session, name, asked.address, user, at)
    hashed = user.password_hash if user and not user.disabled else None
    if user is None or not passwords.matches(hashed, asked.password):
        with database.write() as session:
            trail.add(session, name, FAILED, name, address=asked.address, request_id=asked.request_id)
        raise Unauthorized(_WRONG)
    fresh = passwords.hash(asked.password) if hashed and passwords.outdated(hashed) else None
    with database.write() as session:
        user = _unchanged(session, user)
        if fresh:
            user.password_hash = fresh
        return begin(session, user, "sign_in", asked)


def _check_failures(session: Session, name: str, address: str, user: User | None, at: datetime) -> None:
    since = at - WINDOW
    last = user.signed_in_at if user else None
    counted = max(since, last) if last else since
    if _failures(session, TrailEntry.subject == name, counted) >= MOST_OF_ACCOUNT:
        raise TooMany(_blocked(f"the name {name!r}"), round(WINDOW.total_seconds()))
    check_address(session, address, at)


def check_address(session: Session, address: str, at: datetime) -> None:
    """Raise TooMany after too many failed sign-ins from an address, with passwords or through a provider.

    Those of a network of IPv6 count together: who has one has 2^64 addresses.
    """
    if _failures_from(session, address, TrailEntry.subject != OWNER, at) >= MOST_OF_ADDRESS:
        raise TooMany(_blocked("this address"), round(WINDOW.total_seconds()))


def _failures_from(session: Session, address: str, of: ColumnElement[bool], at: datetime) -> int:
    if ":" not in address:
        return _failures(session, and_(TrailEntry.address == address, of), at - WINDOW)
    recent = (of, TrailEntry.action == FAILED, TrailEntry.at > at - WINDOW, TrailEntry.address.contains(":"))
    query = select(TrailEntry.address, func.count()).where(*recent).group_by(TrailEntry.address)
    mine = network_of(address)
    return sum(count for each, count in session.execute(query) if network_of(each) == mine)


def _failures(session: Session, which: ColumnElement[bool], since: datetime) -> int:
    query = select(func.count()).where(which, TrailEntry.action == FAILED, TrailEntry.at > since)
    return session.execute(query).scalar_one()


def _blocked(what: str) -> str:
    minutes = round(WINDOW.total_seconds() / 60)
    return f"too many failed sign-ins of {what}: try again in {minutes} minutes; the start-up token still signs in"


def _unchanged(session: Session, known: User) -> User:
    """Return the user's row, locked. Raises Unauthorized if password or access have changed since it was read."""
    user = session.get_one(User, known.id, with_for_update=True, populate_existing=True)
    if user.disabled or user.password_hash != known.password_hash:
        raise Unauthorized(_WRONG)
    return user


def begin(  # noqa: PLR0913 - what the entry says
    session: Session,
    user: User,
    action: str,
    sent: Sent,
    credential: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> str:
    """Begin a session of a user, with an entry in the audit trail; return its cookie."""
    at = database_time(session)
    cookie = sessions.begin(session, user.id, digest, at)
    user.signed_in_at = at
    trail.add(
        session,
        user.name,
        action,
        user.name,
        credential=credential,
        address=sent.address,
        request_id=sent.request_id,
        before=before,
        after=after,
    )
    return cookie


def sign_in_owner(database: Database, known: Sessions, token: str, address: str, request_id: str) -> str | None:
    """Return the cookie of a session of the owner, or None if this is not the start-up token.

    Any page elsewhere can open `/login` in a browser, so wrong tokens keep nobody from signing in: they do not
    count for the address, and only the first ones are in the audit trail. 256 random bits are not guessed.
    """
    if not known.opens(token):
        with database.read() as session:
            noted = _failures_from(session, address, TrailEntry.subject == OWNER, database_time(session))
        if noted < MOST_OF_ADDRESS:
            with database.write() as session:
                trail.add(session, OWNER, FAILED, OWNER, address=address, request_id=request_id)
        return None
    with database.write() as session:
        trail.add(session, OWNER, "sign_in", OWNER, address=address, request_id=request_id)
        return sessions.begin(session, None, known.digest_for_owner, database_time(session))


def accept(database: Database, passwords: Passwords, invite: str, password: str, sent: Sent) -> str:
    """Set the password of an invited user; return the cookie of a session. Every other session of theirs ends.

    Raises Unauthorized if the invitation is not valid, Invalid for a password that is not accepted.
    """
    with database.read() as session:
        user = invited(session, digest(invite))
    check_password(password, user.name)
    hashed = passwords.hash(password)
    with database.write() as session:
        user = invited(session, digest(invite), lock=True)
        before = {"password": "none" if user.password_hash is None else "another", "invited": True}
        user.password_hash = hashed
        use_invitation(session, user)
        return begin(
            session, user, "accept_invite", sent, before=before, after={"password": "set", "invited": False}
        )


def use_invitation(session: Session, user: User) -> None:
    """End the invitation of a user who accepts it, and every other session of theirs."""
    user.invite_sha256 = user.invite_until = None
    sessions.end_all(session, user.id)


def invited(session: Session, invite_sha256: str, *, lock: bool = False) -> User:
    """Return whose invitation this is the digest of. Raises Unauthorized if it is not valid (any more)."""
    query = select(User).where(User.invite_sha256 == invite_sha256)
    user = session.scalars(query.with_for_update() if lock else query).first()
    if user is None or user.disabled or user.invite_until is None or user.invite_until <= database_time(session):
        raise Unauthorized("this invitation has been used or has expired: ask an administrator for another one")
    return user


def change_password(database: Database, passwords: Passwords, actor: Actor, current: str, password: str) -> None:
    """Change the password of the user who asks; their other sessions end.

    Raises Conflict without a session of a user, Unauthorized for a wrong password, TooMany after too many.
    """
    if actor.credential is not Credential.SESSION or actor.user is None:
        raise Conflict("only a user who has signed in with a password can change it: sign in first")
    with database.read() as session:
        user = session.get_one(User, actor.user)
        _check_failures(session, user.name, actor.address, user, database_time(session))
    check_password(password, user.name)
    if not passwords.matches(user.password_hash, current):
        with database.write() as session:
            trail.add(session, user.name, FAILED, user.name, address=actor.address, instead=True)
        raise Unauthorized("the current password is wrong")
    hashed = passwords.hash(password)
    with database.write() as session:
        user = _unchanged(session, user)
        user.password_hash = hashed
        others = sessions.end_all(session, user.id, but=actor.id)
        trail.tell(session, user.name, {"other_sessions": others}, {"password": "changed", "other_sessions": 0})
