"""Records of the map: one for each half of a run."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from benchmarks.common import records
from benchmarks.common.records import Record, add, write
from benchmarks.regimes.runs import Run

__all__ = ["add", "read", "run_of", "write"]


def read(path: Path) -> dict[Run, Record]:
    """Return the records in a file by run; none without the file."""
    return records.read(path, run_of)


def run_of(record: Record) -> Run:
    """Return the run that a record describes."""
    return Run(**{field.name: record[field.name] for field in fields(Run)})
