"""Whose token or session a request has: what the gate asks of the database."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import structlog
from sqlalchemy import select, update

from hooke_api.base.access import Actor, Credential, Role, Scope
from hooke_api.base.errors import Unauthorized
from hooke_api.base.security import Sessions, digest
from hooke_api.models import AccessToken, BrowserSession, User, database_time
from hooke_api.people import sessions
from hooke_api.storage import reach
from hooke_api.storage.database import Database

log = structlog.get_logger("hooke.people")

TOUCH = timedelta(minutes=1)
"""Least time between two updates of the time of last use."""
MACHINE = "machine:"
"""Beginning of the name of a machine as an actor; the label of its token follows."""

Used = type[AccessToken] | type[BrowserSession]


class Accounts:
    """Finds actors. A thread of its own writes times of last use: a request that reads waits for no writer."""

    def __init__(self, database: Database, known: Sessions) -> None:
        self._database = database
        self._known = known
        self._thread = ThreadPoolExecutor(1, "last use")
        self._pending: set[str] = set()
        self._lock = threading.Lock()

    def any(self) -> bool:
        """Return whether there is any user."""
        with self._database.read() as session:
            return session.scalars(select(User.id).limit(1)).first() is not None

    def by_session(self, value: str) -> Actor | None:
        """Return whose session this is, or None if it has ended."""
        with self._database.read() as session:
            at = database_time(session)
            found = sessions.find(session, value, self._known.digest_for_owner, at)
            if found is None:
                return None
            row, actor = found
            if actor.user is not None:
                actor = replace(actor, projects=reach.memberships(session, actor.user))
        if row.used_at < at - TOUCH:
            self._touch(BrowserSession, row.id)
        return actor

    def by_token(self, token: str) -> Actor | None:
        """Return whose token this is. Raises Unauthorized with the reason if it is not valid any more."""
        query = select(AccessToken, User).outerjoin(User, User.id == AccessToken.user_id)
        with self._database.read() as session:
            at = database_time(session)
            found = session.execute(query.where(AccessToken.token_sha256 == digest(token))).one_or_none()
            if found is None:
                return None
            row: AccessToken = found[0]
            user: User | None = found[1]
            allowed = Scope(row.scope).role
            projects = reach.memberships(session, user.id, allowed) if user is not None else {}
        again = "create another one with `hooke tokens create`"
        if row.revoked_at is not None:
            raise Unauthorized(f"the token {row.id} was revoked at {row.revoked_at:%Y-%m-%d %H:%M} UTC: {again}")
        if row.expires_at <= at:
            raise Unauthorized(f"the token {row.id} expired at {row.expires_at:%Y-%m-%d %H:%M} UTC: {again}")
        if user is not None and user.disabled:
            raise Unauthorized(f"the user {user.name} is disabled: ask an administrator")
        if row.used_at is None or row.used_at < at - TOUCH:
            self._touch(AccessToken, row.id)
        if user is None:
            return Actor(MACHINE + row.label, allowed, Credential.TOKEN, row.id)
        role = min(allowed, Role(user.role), key=lambda role: role.rank)
        everywhere = user.role == Role.ADMIN
        return Actor(user.name, role, Credential.TOKEN, row.id, user.id, everywhere=everywhere, projects=projects)

    def project_of(self, ids: Mapping[str, str]) -> str | None:
        """Return the id of the project of an experiment or a run, or with a name; None: there is none."""
        with self._database.read() as session:
            return reach.project_of(session, ids)

    def projects_of(self, actor: Actor) -> dict[str, Role]:
        """Return name -> role of the projects of which an actor is a member."""
        if not actor.projects:
            return {}
        with self._database.read() as session:
            names = reach.names_of(session, actor.projects)
        return {names[project]: role for project, role in actor.projects.items() if project in names}

    def _touch(self, table: Used, row: str) -> None:
        with self._lock:
            if row in self._pending:
                return
            self._pending.add(row)
        try:
            self._thread.submit(self._write, table, row)
        except RuntimeError:  # the server ends
            return

    def _write(self, table: Used, row: str) -> None:
        try:
            with self._database.write() as session:
                session.execute(update(table).where(table.id == row).values(used_at=database_time(session)))
        except Exception as error:
            log.warning("the time of last use was not written", of=row, error=str(error)[:200])
        finally:
            with self._lock:
                self._pending.discard(row)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)
