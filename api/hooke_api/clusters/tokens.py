"""Tokens of agents: made for one cluster, shown once, expiring, revocable; and who sends a request of an agent."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, Forbidden, ResourceNotFound, Unauthorized
from hooke_api.base.ids import token_id
from hooke_api.base.security import bearer, digest, same
from hooke_api.base.settings import Settings
from hooke_api.clusters import renewals
from hooke_api.clusters.renewals import PREFIX
from hooke_api.clusters.schemas import ClusterTokenList, ClusterTokenView, NewClusterToken
from hooke_api.models import DEFAULT_PROJECT, Cluster, ClusterToken, database_time
from hooke_api.storage import trail
from hooke_api.storage.database import Database
from hooke_api.storage.outbox import announce

MOST = 100
"""Maximum number of valid tokens of a cluster."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""When an agent whose token was revoked counts as heard last."""
_TOUCH = timedelta(minutes=1)
"""Least time between two updates of the time of last use."""


@dataclass(frozen=True)
class AgentCaller:
    """Who sends a request of an agent."""

    cluster: str | None
    """The only cluster that it may speak for; None: any, with the instance's own agent token."""
    token: str | None = None
    """Id of its token."""

    def speaks_for(self, cluster: str) -> None:
        """Raise Forbidden unless the sender may speak for this cluster."""
        if self.cluster not in (None, cluster):
            raise Forbidden(
                f"this token is for the cluster {self.cluster!r}, not for {cluster!r}: "
                f"start the agent with --cluster {self.cluster}, or create a token for {cluster!r}"
            )


def caller(request: Request) -> AgentCaller:
    """Return who sends a request of an agent; raises Unauthorized. A dependency, so checked before the body."""
    settings: Settings = request.app.state.settings
    given = bearer(request.headers)
    if given is None:
        raise Unauthorized("send the token of the cluster: Authorization: Bearer TOKEN")
    if same(given, settings.agents):
        return AgentCaller(None)
    database: Database = request.app.state.database
    with database.read() as session:
        found = session.scalars(select(ClusterToken).where(ClusterToken.token_sha256 == digest(given))).first()
        at = database_time(session)
    if found is None:
        raise Unauthorized(
            "the server does not know this token, or it ended months ago: create another one with "
            "`hooke clusters token CLUSTER`"
        )
    if why := _ended(found, at):
        raise Unauthorized(f"this token {why} UTC: create another one with `hooke clusters token {found.cluster}`")
    return AgentCaller(found.cluster, found.id)


def _ended(token: ClusterToken, at: datetime) -> str | None:
    """Return since when a token is not valid any more, in words; None: it is."""
    if token.revoked_at is not None:
        return f"was revoked at {token.revoked_at:%Y-%m-%d %H:%M}"
    if token.expires_at is not None and token.expires_at <= at:
        return f"expired at {token.expires_at:%Y-%m-%d %H:%M}"
    return None


CallerOf = Annotated[AgentCaller, Depends(caller)]
"""Parameter of an endpoint of agents."""


def confirm(session: Session, who: AgentCaller, cluster: str | None) -> None:
    """Read the token again in a transaction that writes, and record its use. Raises Unauthorized or Forbidden.

    It may have been revoked, with its cluster removed, since the request began. `cluster`: what the sender speaks
    for; None: nothing that is known.
    """
    if cluster is not None:
        who.speaks_for(cluster)
    if who.token is None:
        if cluster is not None:
            _check_own(session, cluster)
        return
    former = renewals.former(session, who.token)  # locked first, as by who revokes it
    found, at = session.get(ClusterToken, who.token, with_for_update=True), database_time(session)
    if found is None or _ended(found, at):
        raise Unauthorized("this token has just been revoked, or has expired")
    if found.used_at is None and former is not None:
        renewals.begun(former, at)
    if found.used_at is None or found.used_at < at - _TOUCH:
        found.used_at = at


def _check_own(session: Session, name: str) -> None:
    """Raise Forbidden if the instance's own token may not speak for a cluster: its agent has one of the cluster.

    Otherwise whoever holds the instance's could forge what the agents of all clusters say.
    """
    cluster = session.get(Cluster, name)
    used = session.get(ClusterToken, cluster.token) if cluster is not None and cluster.token is not None else None
    if used is not None and _ended(used, database_time(session)) is None:
        raise Forbidden(
            f"the agent of {name!r} reports with a token of this cluster ({used.id}), so the server's own agent "
            "token does not speak for it: use a token of the cluster, or revoke that one"
        )


def make(session: Session, cluster: str, label: str, who: str, days: int) -> NewClusterToken:
    """Make a token for a cluster, which may join later. Raises Conflict if it has too many."""
    at = database_time(session)
    unexpired = ClusterToken.expires_at.is_(None) | (ClusterToken.expires_at > at)
    valid = select(ClusterToken.id).where(ClusterToken.cluster == cluster, ClusterToken.revoked_at.is_(None))
    if len(session.scalars(valid.where(unexpired).limit(MOST)).all()) >= MOST:
        raise Conflict(f"the cluster {cluster!r} has {MOST} valid tokens, the maximum: revoke unused ones")
    token = PREFIX + secrets.token_urlsafe(32)
    row = ClusterToken(
        id=token_id(),
        project_id=DEFAULT_PROJECT,
        created_by=who,
        cluster=cluster,
        label=label,
        token_sha256=digest(token),
        created_at=at,
        expires_at=at + timedelta(days=days),
        used_at=None,
        revoked_at=None,
        renews=None,
    )
    session.add(row)
    session.flush()
    trail.tell(session, after={"token": row.id, "label": label, "days": days})
    announce(session, "clusters", {})
    return NewClusterToken(**ClusterTokenView.model_validate(row).model_dump(), token=token)


def listed(session: Session, cluster: str) -> ClusterTokenList:
    """Return the tokens of a cluster without their secrets, the oldest first."""
    rows = session.scalars(select(ClusterToken).where(ClusterToken.cluster == cluster).order_by(ClusterToken.id))
    return ClusterTokenList(items=[ClusterTokenView.model_validate(row) for row in rows])


def revoke(session: Session, token: str) -> ClusterTokenView:
    """Revoke a token at once, with those by which its agent has renewed it. Raises ResourceNotFound.

    The cluster whose agent uses it is offline from now on. No effect on one that is revoked.
    """
    row = session.get(ClusterToken, token, with_for_update=True)
    if row is None:
        raise ResourceNotFound(f"no token has the id {token!r}")
    revoked = {"revoked": row.revoked_at is not None}
    trail.tell(session, before={"cluster": row.cluster, "label": row.label} | revoked, after={"revoked": True})
    if row.revoked_at is None:
        for each in (row, *renewals.later(session, row)):
            each.revoked_at = each.revoked_at or database_time(session)
            session.execute(update(Cluster).where(Cluster.token == each.id).values(seen_at=LONG_AGO))
        announce(session, "clusters", {})
    return ClusterTokenView.model_validate(row)


def lock_all(session: Session, cluster: str) -> None:
    """Lock the tokens of a cluster, the oldest first: who reports with one locks them before the cluster, too."""
    mine = select(ClusterToken.id).where(ClusterToken.cluster == cluster).order_by(ClusterToken.id)
    session.scalars(mine.with_for_update()).all()


def revoke_all(session: Session, cluster: str) -> None:
    """Revoke every token of a cluster."""
    mine = (ClusterToken.cluster == cluster) & ClusterToken.revoked_at.is_(None)
    session.execute(update(ClusterToken).where(mine).values(revoked_at=database_time(session)))
