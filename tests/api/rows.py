"""Rows in every table, whatever its columns: for what must keep all of them."""

from __future__ import annotations

import enum
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

EPOCH = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)


def fill(session: Session, metadata: sa.MetaData, *, serial: bool = True, **own: dict[str, Any]) -> None:
    """Insert two rows into every table; `serial`: the database numbers them where it can.

    `own`: table -> values of columns that must have particular ones.
    """
    parents: dict[str, list[dict[str, Any]]] = {}
    for table in metadata.sorted_tables:
        rows = [_row(table, n, parents, serial) | own.get(table.name, {}) for n in range(2)]
        for values in rows:
            session.execute(table.insert().values(values))
        parents[table.name] = rows


def _row(table: sa.Table, n: int, parents: dict[str, list[dict[str, Any]]], serial: bool) -> dict[str, Any]:
    row: dict[str, Any] = {}
    of_parents = all(column.foreign_keys for column in table.primary_key)  # two rows of it have different ones
    for column in table.columns:
        if serial and column is table.autoincrement_column:
            continue
        target = next(iter(column.foreign_keys), None)
        if target is not None and target.column.table.name in parents:
            parent = parents[target.column.table.name][n if of_parents and column.primary_key else -1]
            row[column.name] = parent[target.column.name]
        elif target is None:
            row[column.name] = _value(column, n)
    return row


def _value(column: sa.Column[Any], n: int) -> Any:
    type_ = column.type
    kind = (type_.impl_instance if isinstance(type_, sa.TypeDecorator) else type_).python_type
    if issubclass(kind, enum.Enum):
        return list(kind)[-1]
    if column.name in ("state", "source"):
        return "succeeded"
    if kind is str:
        return f"{column.name[:5]}-ü{n}"[: getattr(column.type, "length", None) or 100]
    others = {
        int: n + 1,
        bool: n == 1,
        float: 0.1 + n,
        datetime: EPOCH + timedelta(hours=n),
        object: {"pace": "free", "list": [n, None, "ü"]},  # JSON
        bytes: bytes([n, 0, 255]) * 100,
    }
    return others[kind]


def contents(engine: sa.Engine) -> dict[str, list[dict[str, Any]]]:
    """Return every row of every table, in the order of all of its columns."""
    metadata = sa.MetaData()
    with engine.connect() as connection:
        metadata.reflect(connection)
        return {
            table.name: sorted((dict(row) for row in connection.execute(sa.select(table)).mappings()), key=repr)
            for table in metadata.sorted_tables
        }
