"""One's own accounts at providers: listed, and unlinked."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.access import Actor, Credential
from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.models import User, UserIdentity
from hooke_api.oidc.entering import about
from hooke_api.oidc.schemas import IdentityList, IdentityView
from hooke_api.people import sessions
from hooke_api.storage import trail


def listed(session: Session, actor: Actor, issuer: str | None) -> IdentityList:
    """Return the accounts of who asks; `issuer`: that of the provider of this server."""
    if actor.user is None:
        return IdentityList(items=[], has_password=False)
    user = session.get_one(User, actor.user)
    rows = _of(session, user)
    return IdentityList(
        items=[_view(row, issuer, _last(row, rows, user, issuer)) for row in rows],
        has_password=user.password_hash is not None,
    )


def _of(session: Session, user: User) -> Sequence[UserIdentity]:
    query = select(UserIdentity).where(UserIdentity.user_id == user.id).order_by(UserIdentity.id)
    return session.scalars(query).all()


def _view(row: UserIdentity, issuer: str | None, last: bool) -> IdentityView:
    known = {name: getattr(row, name) for name in ("id", "issuer", "label", "created_at", "used_at")}
    return IdentityView(**known, usable=row.issuer == issuer, last_way=last)


def _last(row: UserIdentity, rows: Sequence[UserIdentity], user: User, issuer: str | None) -> bool:
    """Return whether a user could not sign in without an account: neither by a password nor by another one."""
    others = [each for each in rows if each.id != row.id and each.issuer == issuer]
    return user.password_hash is None and not others


def unlink(session: Session, identity_id: str, actor: Actor, issuer: str | None) -> None:
    """Unlink an account of who asks; their other sessions end.

    Raises ResourceNotFound, and Conflict without a session of a user, or for the last way to sign in.
    """
    user = _with_session(session, actor)
    rows = _of(session, user)
    row = next((each for each in rows if each.id == identity_id), None)
    if row is None:
        raise ResourceNotFound(f"you have no account with the id {identity_id!r}")
    if _last(row, rows, user, issuer):
        raise Conflict(
            f"without {row.label} you could not sign in: link another account first, or have an administrator "
            "invite you again and set a password"
        )
    session.delete(row)
    sessions.end_all(session, user.id, but=actor.id)
    trail.tell(session, subject=user.name, before=about(row))


def check_session(actor: Actor) -> str:
    """Return the id of the user who asks with a session. Raises Conflict for others."""
    if actor.credential is not Credential.SESSION or actor.user is None:
        raise Conflict("only a user who has signed in can link and unlink accounts: sign in first")
    return actor.user


def _with_session(session: Session, actor: Actor) -> User:
    return session.get_one(User, check_session(actor), with_for_update=True)
