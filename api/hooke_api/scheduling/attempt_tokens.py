"""Tokens of attempts: random, told once in an order, stored as hashes."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from hooke_api.base.security import digest
from hooke_api.models import AttemptToken, Run, database_time
from hooke_api.storage.database import Database

PREFIX = "hooke_attempt_"
"""Beginning of every token, so that scanners for secrets recognise one."""
REMEMBERED = 4096
"""Tokens that the process which schedules remembers, so that an order that is sent again has the same one."""

Key = tuple[str, int]
"""Run and number of an attempt."""


class AttemptTokens:
    """The tokens of the attempts whose orders this process sends.

    Another process that takes over cannot know them, and makes others: all tokens of an attempt are valid, since
    each was told to the agent of its cluster only.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[Key, str] = {}

    def of(self, runs: Sequence[Run]) -> dict[Key, str]:
        """Return a token for the present attempt of each run; a new one is stored before it is returned."""
        keys = [(run.id, run.attempt) for run in runs]
        fresh = {key: PREFIX + secrets.token_urlsafe(32) for key in keys if key not in self._known}
        if fresh:
            with self._database.write() as session:
                at = database_time(session)
                session.add_all(
                    AttemptToken(token_sha256=digest(token), run_id=run, attempt=attempt, created_at=at)
                    for (run, attempt), token in fresh.items()
                )
            self._known |= fresh
        found = {key: self._known[key] for key in keys}
        for key in list(self._known)[: max(0, len(self._known) - REMEMBERED)]:
            del self._known[key]
        return found


def owner(session: Session, token: str | None) -> AttemptToken | None:
    """Return which attempt a token belongs to, or None if to none."""
    return session.get(AttemptToken, digest(token or ""))


def belongs(session: Session, token_sha256: str | None, run: str, attempt: int) -> bool:
    """Return whether the SHA-256 is that of a token of an attempt."""
    mine = exists().where(
        AttemptToken.token_sha256 == (token_sha256 or ""),
        AttemptToken.run_id == run,
        AttemptToken.attempt == attempt,
    )
    return bool(session.scalar(select(mine)))
