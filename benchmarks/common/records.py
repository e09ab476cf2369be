"""Records on disk, one line of JSON each, and the page that is published with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Record = Mapping[str, Any]
Key = TypeVar("Key", bound=Hashable)


def everyone(record: Record) -> bool:
    """Return that a record counts."""
    del record
    return True


def read(
    path: Path, key: Callable[[Record], Key], counts: Callable[[Record], bool] = everyone
) -> dict[Key, Record]:
    """Return the records in a file that count, by key, of several with the same the last; none without a file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {key(record): record for record in map(json.loads, lines) if counts(record)}


def add(path: Path, record: Record) -> None:
    """Append a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def write(path: Path, records: Iterable[Record]) -> None:
    """Write records to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def publish(
    page: Path,
    data: Path,
    store: Path,
    key: Callable[[Record], Key],
    make: Callable[[dict[Key, Record]], str],
    counts: Callable[[Record], bool] = everyone,
) -> dict[Key, Record]:
    """Add the records of a store to the published `data`, and write the page of all that count; return them.

    A record of the store replaces a published one with the same key; those that do not count are removed.
    """
    records = read(data, key, counts) | read(store, key, counts)
    write(data, records.values())
    page.write_text(make(records))
    return records
