"""Users: invited, given a role, disabled."""

from __future__ import annotations

import secrets
from typing import Any

from hooke.errors import Fault
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import OWNER, Actor
from hooke_api.base.errors import Conflict, Invalid, ResourceNotFound
from hooke_api.base.security import digest
from hooke_api.models import User, UserIdentity, database_time
from hooke_api.models.people import INVITE
from hooke_api.people import sessions
from hooke_api.people.schemas import NewInvite, NewUser, UserChange, UserList, UserView
from hooke_api.storage import trail

INVITE_PREFIX = "hooke_invite_"
MOST = 1000
"""Maximum number of users."""
PROVIDER = "oidc"
"""Name under which users are made and changed by what a provider says."""
_OTHERS = ("agent", "lease", "machine", "planner", "retention", "scheduler", "supervisor")
RESERVED = frozenset({OWNER, PROVIDER, *_OTHERS})
"""Names under which others appear in histories."""


def listed(session: Session) -> UserList:
    """Return the users, by name."""
    linked = set(session.scalars(select(UserIdentity.user_id)))
    users = session.scalars(select(User).order_by(User.name))
    return UserList(items=[_view(user, user.id in linked) for user in users])


def _view(user: User, linked: bool) -> UserView:
    known = {name: getattr(user, name) for name in UserView.model_fields if name not in ("has_password", "linked")}
    return UserView(**known, has_password=user.password_hash is not None, linked=linked)


def _linked(session: Session, user: User) -> bool:
    query = select(UserIdentity.id).where(UserIdentity.user_id == user.id).limit(1)
    return session.scalars(query).first() is not None


def add(session: Session, asked: NewUser, actor: Actor) -> NewInvite:
    """Add a user, with an invitation. Raises Conflict for a name in use, Invalid for one that is reserved."""
    if asked.name in RESERVED:
        raise Invalid("this is not a valid name of a user", [Fault(pointer="/name", message="reserved")])
    known = session.scalars(select(User.name)).all()
    if asked.name in known:
        raise Conflict(f"the user {asked.name!r} exists already: invite them again to set a new password")
    if len(known) >= MOST:
        raise Conflict(f"there are {MOST} users, the maximum")
    user = User(
        id=ids.user_id(),
        name=asked.name,
        role=asked.role.value,
        disabled=False,
        created_by=actor.name,
        created_at=database_time(session),
    )
    session.add(user)
    try:
        made = _invite(session, user)
    except IntegrityError:
        raise Conflict(f"a user {asked.name!r} has just been added") from None
    trail.tell(session, subject=user.name, after=state(user))
    return made


def invite(session: Session, name: str) -> NewInvite:
    """Make an invitation for a user, which replaces an earlier one; their password is valid until they set one.

    Raises Conflict if they are disabled.
    """
    user = get(session, name)
    if user.disabled:
        raise Conflict(f"{name} is disabled: enable the user first")
    before = _invited(user)
    made = _invite(session, user)
    trail.tell(session, before=before, after=_invited(user))
    return made


def _invited(user: User) -> dict[str, Any]:
    """Return what the audit trail tells of an invitation."""
    return {"invited_until": user.invite_until.isoformat() if user.invite_until else None}


def _invite(session: Session, user: User) -> NewInvite:
    secret = INVITE_PREFIX + secrets.token_urlsafe(32)
    user.invite_sha256 = digest(secret)
    user.invite_until = database_time(session) + INVITE
    session.flush()
    return NewInvite(user=_view(user, _linked(session, user)), path=f"/invite#{secret}")


def change(session: Session, name: str, asked: UserChange, actor: Actor) -> UserView:
    """Change role or access of a user, which counts from their next request on. Raises Conflict for oneself."""
    user = get(session, name)
    if user.id == actor.user:
        raise Conflict(
            "you cannot change your own role or access: ask another administrator, or use the start-up token"
        )
    before = state(user)
    if asked.role is not None:
        user.role = asked.role.value
    if asked.disabled is not None:
        user.disabled = asked.disabled
    if user.disabled:
        user.invite_sha256 = user.invite_until = None
        sessions.end_all(session, user.id)
    session.flush()
    trail.tell(session, before=before, after=state(user))
    return _view(user, _linked(session, user))


def sign_out(session: Session, name: str) -> None:
    """End every session of a user, or of the owner. Raises ResourceNotFound."""
    ended = sessions.end_all(session, None if name == OWNER else get(session, name).id)
    trail.tell(session, before={"sessions": ended}, after={"sessions": 0})


def get(session: Session, name: str) -> User:
    """Return a user, locked. Raises ResourceNotFound."""
    user = session.scalars(select(User).where(User.name == name).with_for_update()).first()
    if user is None:
        raise ResourceNotFound(f"no user is called {name!r}")
    return user


def state(user: User) -> dict[str, Any]:
    """Return what the audit trail tells of a user."""
    return {"role": user.role, "disabled": user.disabled}
