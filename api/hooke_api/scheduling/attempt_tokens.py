"""Tokens of attempts: random, told once to the agent that claims the launch, stored as hashes."""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from hooke_api.base.security import digest
from hooke_api.models import AttemptToken

PREFIX = "hooke_attempt_"
"""Beginning of every token, so that scanners for secrets recognise one."""


def make(session: Session, run: str, attempt: int, at: datetime) -> str:
    """Return a new token of an attempt that has not reported; only its hash is stored.

    Earlier ones stay valid until one of them reports: the answer that told one may have been lost, or a supervisor
    may be starting with it. Each was told to the agent of the cluster only.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    session.add(AttemptToken(token_sha256=digest(token), run_id=run, attempt=attempt, created_at=at))
    return token


def settle(session: Session, mine: AttemptToken) -> None:
    """End the other tokens of an attempt, which reports for the first time with this one."""
    others = (AttemptToken.run_id == mine.run_id) & (AttemptToken.attempt == mine.attempt)
    session.execute(delete(AttemptToken).where(others, AttemptToken.token_sha256 != mine.token_sha256))


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
