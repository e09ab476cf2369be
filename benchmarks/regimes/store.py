"""Records on disk: one JSON line for each half of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from benchmarks.regimes.runs import Run


def read(path: Path) -> dict[Run, Mapping[str, Any]]:
    """Return the records in a file by run; none without the file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {run_of(record): record for record in map(json.loads, lines)}


def run_of(record: Mapping[str, Any]) -> Run:
    """Return the run that a record describes."""
    return Run(**{field.name: record[field.name] for field in fields(Run)})


def add(path: Path, record: Mapping[str, Any]) -> None:
    """Append a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
