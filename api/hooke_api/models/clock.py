"""The clock that decides: that of the database, which all API processes share."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.models.base import now


def database_time(session: Session) -> datetime:
    """Return the time by the database's clock, in UTC; SQLite runs in this process, and has its clock."""
    if session.get_bind().dialect.name == "sqlite":
        return now()
    at: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return at.astimezone(UTC)
