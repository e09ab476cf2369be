"""Shared by all tables: base class, types and naming conventions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hooke.spec.states import RunState
from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Double,
    Enum,
    ForeignKey,
    Integer,
    MetaData,
    String,
    TypeDecorator,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from hooke_api.base.reach import DEFAULT_PROJECT

FILTERED = (
    *("experiment_id", "rung", "state", "algorithm", "variant", "cluster", "finished_at", "number"),
    *("accuracy", "loss", "test_accuracy", "test_loss", "time_to_target", "communication_fraction"),
    *("staleness", "lost_mass", "clock", "samples", "workers", "seed", "simulated", "id"),
)
"""Columns of runs that filters compare: an index has them, so that these read no rows."""


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


class Moment(TypeDecorator[datetime]):
    """A point in time in UTC; SQLite does not store the zone, so it is added on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the time in UTC. Raises ValueError without a zone."""
        if value is not None and value.tzinfo is None:
            raise ValueError(f"a time without zone: {value}")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the stored time with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


State = Enum(RunState, native_enum=False, length=16, values_callable=lambda kind: [state.value for state in kind])
"""A RunState, stored as text."""

Serial = BigInteger().with_variant(Integer, "sqlite")
"""An auto-increment number; SQLite supports this only for INTEGER."""


class Base(DeclarativeBase):
    """Base class with names for all constraints, for migrations."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it once, at class creation
        datetime: Moment(),
        dict[str, Any]: JSON(),
        list[str]: JSON(),
        list[dict[str, Any]]: JSON(),
        float: Double(),
    }


class Owned:
    """Columns of tables with an owner."""

    project_id: Mapped[str] = mapped_column(String(40), ForeignKey("projects.id"), default=DEFAULT_PROJECT)
    created_by: Mapped[str] = mapped_column(String(120))
