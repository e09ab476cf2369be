"""The audit trail as a resource: pages for a reader, JSON lines and CSV as a whole."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from hooke_api.base.cursors import Cursors
from hooke_api.models import TrailEntry
from hooke_api.people.schemas import TrailEntryView, TrailPage
from hooke_api.storage.database import Database

LISTING = "audit"
TOGETHER = 1000
"""Entries of an export that are read in one transaction."""
COLUMNS = tuple(TrailEntryView.model_fields)


@dataclass(frozen=True)
class Filter:
    """Which entries; null: all."""

    actor: str | None = None
    action: str | None = None
    subject: str | None = None

    def of(self, query: Select[TrailEntry]) -> Select[TrailEntry]:
        """Return the query for these entries only."""
        for name in ("actor", "action", "subject"):
            if (value := getattr(self, name)) is not None:
                query = query.where(getattr(TrailEntry, name) == value)
        return query


def page(session: Session, cursors: Cursors, chosen: Filter, limit: int, cursor: str | None) -> TrailPage:
    """Return one page, newest first."""
    query = chosen.of(select(TrailEntry))
    if cursor:
        query = query.where(TrailEntry.id < int(cursors.open(LISTING, cursor)))
    rows = session.scalars(query.order_by(TrailEntry.id.desc()).limit(limit + 1)).all()
    shown = rows[:limit]
    return TrailPage(
        items=[TrailEntryView.model_validate(row) for row in shown],
        next_cursor=cursors.seal(LISTING, shown[-1].id) if len(rows) > limit else None,
    )


def export(database: Database, kind: str, chosen: Filter) -> Iterator[str]:
    """Yield all entries as text, the oldest first: `jsonl`, an object a line, or `csv` with a head."""
    if kind == "csv":
        yield _csv([COLUMNS])
    last = 0
    while entries := _following(database, chosen, last):
        if kind == "csv":
            yield _csv([_cells(entry) for entry in entries])
        else:
            yield "".join(entry.model_dump_json() + "\n" for entry in entries)
        last = entries[-1].id


def _following(database: Database, chosen: Filter, last: int) -> list[TrailEntryView]:
    query = chosen.of(select(TrailEntry)).where(TrailEntry.id > last).order_by(TrailEntry.id).limit(TOGETHER)
    with database.read() as session:
        return [TrailEntryView.model_validate(row) for row in session.scalars(query)]


def _cells(entry: TrailEntryView) -> list[str]:
    """Return the fields of an entry; documents as JSON."""
    values = entry.model_dump(mode="json")
    return [_cell(values[name]) for name in COLUMNS]


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text  # a spreadsheet would compute it


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
