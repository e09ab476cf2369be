"""Tokens by which agents renew their own, so that one that was found elsewhere is of use for a limited time.

An agent asks with its token for another one, in the last third of its time, stores it, and uses it from then on.
The former one stays valid until then, whatever is lost on the way, and for GRACE after the new one's first use.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict
from hooke_api.base.ids import token_id
from hooke_api.base.security import digest
from hooke_api.models import ClusterToken, database_time

PREFIX = "hooke_cluster_"
"""Beginning of every token, so that scanners for secrets recognise one."""
DAYS = 90
"""Lifetime of a token in place of one that has none."""
SHARE = 3
"""It is renewed in the last part of so many equal ones of its lifetime."""
GRACE = timedelta(minutes=5)
"""How long a token is still valid after the one in its place was first used: for requests that are under way."""


def due(session: Session, token: ClusterToken, at: datetime) -> bool:
    """Return whether an agent should renew its token."""
    if token.expires_at is None:
        return True
    late = token.expires_at - at <= (token.expires_at - token.created_at) / SHARE
    return late and not followed(session, token)


def followed(session: Session, token: ClusterToken) -> bool:
    """Return whether a token was renewed and the one in its place has been used, so that this one ends."""
    used = select(ClusterToken.id).where(ClusterToken.renews == token.id, ClusterToken.used_at.is_not(None))
    return session.scalars(used.limit(1)).first() is not None


def renew(session: Session, token: ClusterToken) -> tuple[ClusterToken, str]:
    """Make a token in place of another one, for as long as that was made for; return it with its secret.

    One that was made before in the same place, and not used, is revoked: its secret was lost on the way. Raises
    Conflict if one has been used: who still has only the former one is not the agent, or has lost its folder.
    """
    if followed(session, token):
        raise Conflict(
            "this token was renewed, and the one in its place is in use: it cannot be renewed once more. Create "
            f"another one with `hooke clusters token {token.cluster}`, and revoke this one if you do not know why"
        )
    at = database_time(session)
    for earlier in session.scalars(select(ClusterToken).where(ClusterToken.renews == token.id)):
        if earlier.used_at is None and earlier.revoked_at is None:
            earlier.revoked_at = at
    lifetime = token.expires_at - token.created_at if token.expires_at else timedelta(days=DAYS)
    secret = PREFIX + secrets.token_urlsafe(32)
    made = ClusterToken(
        id=token_id(),
        project_id=token.project_id,
        created_by=token.created_by,
        cluster=token.cluster,
        label=token.label,
        token_sha256=digest(secret),
        created_at=at,
        expires_at=at + lifetime,
        used_at=None,
        revoked_at=None,
        renews=token.id,
    )
    session.add(made)
    session.flush()
    return made, secret


def former(session: Session, token: str) -> ClusterToken | None:
    """Return the token, locked, in whose place another one is to be used for the first time; None: there is none.

    Rows of a chain of renewals are locked the oldest first, or two transactions might wait for each other.
    """
    row = session.execute(
        select(ClusterToken.renews, ClusterToken.used_at).where(ClusterToken.id == token)
    ).first()
    if row is None or row.renews is None or row.used_at is not None:
        return None
    return session.get(ClusterToken, row.renews, with_for_update=True)


def begun(former: ClusterToken, at: datetime) -> None:
    """Have the token end soon in whose place another one is used for the first time."""
    if former.expires_at is None or former.expires_at > at + GRACE:
        former.expires_at = at + GRACE


def later(session: Session, token: ClusterToken) -> Iterator[ClusterToken]:
    """Yield the tokens by which a token was renewed, and those by which these were."""
    found = [token.id]
    while found:
        rows = session.scalars(select(ClusterToken).where(ClusterToken.renews.in_(found)).with_for_update()).all()
        yield from rows
        found = [row.id for row in rows]
