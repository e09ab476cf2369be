"""What Alembic runs: it migrates the connection that `hooke_api.storage.database` hands over.

`alembic -c migrations/alembic.ini revision --autogenerate -m "..."` compares the models with the database of
HOOKE_DATABASE_URL and writes what differs as a new migration.
"""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from hooke_api.base.settings import Settings
from hooke_api.models import Base, Moment
from hooke_api.storage.database import Database
from sqlalchemy import Connection, Enum


def render(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our own types in SQLAlchemy's words: a migration must mean the same whatever models.py becomes."""
    if kind == "type" and isinstance(item, Moment):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, Enum):
        return "sa.String(length=16)"
    return False


def run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
        render_item=render,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with Database(Settings().url).write() as session:
        run(session.connection())
