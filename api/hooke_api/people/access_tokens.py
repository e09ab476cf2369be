"""Tokens of users and machines: scoped, expiring, shown once, revocable. Agents' tokens are those of clusters."""

from __future__ import annotations

import secrets
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import AGENT_SCOPE, Actor, Credential, Role, Scope
from hooke_api.base.errors import Conflict, Forbidden, ResourceNotFound
from hooke_api.base.security import TOKEN_PREFIX, digest
from hooke_api.clusters import tokens as of_clusters
from hooke_api.clusters.schemas import ClusterTokenView
from hooke_api.models import AccessToken, ClusterToken, User, database_time
from hooke_api.people.schemas import AccessTokenRequest, NewToken, TokenList, TokenView
from hooke_api.storage import trail

MOST = 100
"""Maximum number of valid tokens of a user, and of all machines."""


def listed(session: Session, actor: Actor) -> TokenList:
    """Return the tokens of the user who asks; for an administrator those of all, of machines and of agents."""
    query = select(AccessToken, User.name).outerjoin(User, User.id == AccessToken.user_id).order_by(AccessToken.id)
    if not actor.may(Role.ADMIN):
        query = query.where(AccessToken.user_id == (actor.user or ""))
    items = [_view(row, user) for row, user in session.execute(query)]
    if actor.may(Role.ADMIN):
        rows = session.scalars(select(ClusterToken).order_by(ClusterToken.id))
        items = sorted([*items, *map(_of_agent, rows)], key=lambda item: item.created_at)
    return TokenList(items=items)


def _view(row: AccessToken, user: str | None) -> TokenView:
    known = {name: getattr(row, name) for name in TokenView.model_fields if name != "user"}
    return TokenView(**known, user=user)


def _of_agent(row: ClusterToken | ClusterTokenView) -> TokenView:
    names = ("id", "label", "created_by", "created_at", "expires_at", "used_at", "revoked_at")
    known = {name: getattr(row, name) for name in names}
    return TokenView(**known, user=None, scope=AGENT_SCOPE + row.cluster)


def create(session: Session, asked: AccessTokenRequest, actor: Actor) -> NewToken:
    """Make a token. Raises Forbidden for a scope beyond all roles of the actor, Conflict if there are too many."""
    if asked.scope.startswith(AGENT_SCOPE):
        return _create_for_agent(session, asked, actor)
    scope = Scope(asked.scope)
    roles = (actor.role, *actor.projects.values())  # it is worth no more than the role of its user in each place
    if all(role.rank < scope.role.rank for role in roles):
        raise Forbidden(f"the scope {scope} needs the role {scope.role}; {actor.name} has {actor.role} here")
    machine = asked.machine or actor.user is None
    if machine and not actor.may(Role.ADMIN):
        raise Forbidden("only an administrator can create tokens of machines")
    at = database_time(session)
    owner = None if machine else actor.user
    _check_number(session, owner, asked.label)
    expires = at + timedelta(days=asked.days)
    if actor.credential is Credential.TOKEN:  # else a token that leaks could prolong itself
        expires = min(expires, session.get_one(AccessToken, actor.id).expires_at)
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    row = AccessToken(
        id=ids.token_id(),
        user_id=owner,
        label=asked.label,
        scope=scope.value,
        token_sha256=digest(secret),
        created_by=actor.name,
        created_at=at,
        expires_at=expires,
    )
    session.add(row)
    session.flush()
    view = _view(row, None if machine else actor.name)
    trail.tell(session, subject=row.id, after={"user": view.user, "label": row.label, "scope": row.scope})
    return NewToken(**view.model_dump(), token=secret)


def _check_number(session: Session, owner: str | None, label: str) -> None:
    """Raise Conflict if a user, or all machines, have too many tokens, or if another machine has this name."""
    mine = AccessToken.user_id == owner if owner else AccessToken.user_id.is_(None)
    valid = (mine, AccessToken.revoked_at.is_(None), AccessToken.expires_at > database_time(session))
    if session.execute(select(func.count()).where(*valid)).scalar_one() >= MOST:
        raise Conflict(f"there are {MOST} valid tokens, the maximum: revoke unused ones")
    if owner is None and session.scalars(select(AccessToken.id).where(*valid, AccessToken.label == label)).first():
        raise Conflict(f"a machine called {label!r} has a valid token: revoke it first, or choose another label")


def _create_for_agent(session: Session, asked: AccessTokenRequest, actor: Actor) -> NewToken:
    if not actor.may(Role.OPERATOR):
        raise Forbidden("the token of an agent needs the role operator")
    cluster = asked.scope.removeprefix(AGENT_SCOPE)
    made = of_clusters.make(session, cluster, asked.label, actor.name, asked.days)
    row = session.get_one(ClusterToken, made.id)
    trail.tell(session, subject=made.id, after={"user": None, "label": row.label, "scope": asked.scope})
    return NewToken(**_of_agent(row).model_dump(), token=made.token)


def revoke(session: Session, token_id: str, actor: Actor) -> TokenView:
    """Revoke a token at once; no effect on one that is revoked. Raises ResourceNotFound for one of others."""
    row = session.get(AccessToken, token_id, with_for_update=True)
    if row is None and actor.may(Role.OPERATOR) and session.get(ClusterToken, token_id) is not None:
        of_clusters.revoke(session, token_id)
        return _of_agent(session.get_one(ClusterToken, token_id))
    if row is None or (not actor.may(Role.ADMIN) and (actor.user is None or row.user_id != actor.user)):
        raise ResourceNotFound(f"you have no token with the id {token_id!r}")
    user = session.get(User, row.user_id) if row.user_id else None
    about = {"user": user.name if user else None, "label": row.label, "scope": row.scope}
    trail.tell(session, before=about | {"revoked": row.revoked_at is not None}, after={"revoked": True})
    if row.revoked_at is None:
        row.revoked_at = database_time(session)
    session.flush()
    return _view(row, user.name if user else None)
