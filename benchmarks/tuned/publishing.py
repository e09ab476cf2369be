"""Writes the page of the tuned comparison and its raw data, a file for each machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.evidence.machine import name_of
from benchmarks.tuned import records
from benchmarks.tuned.overview import written_into
from benchmarks.tuned.page import page
from benchmarks.tuned.records import Record

PAGE, DATA, INDEX = "tuned.md", "tuned", "README.md"


def published(results: Path) -> list[Record]:
    """Return all records in version control."""
    return [record for path in sorted((results / DATA).glob("*.jsonl")) for record in records.read(path)]


def publish(measured: Iterable[Record], results: Path) -> Path:
    """Write page and raw data; new records of an entry replace those that it had. Return the page."""
    measured = list(measured)
    renewed = {_of(record) for record in measured}
    merged = [record for record in published(results) if _of(record) not in renewed] + measured
    for machine in {name_of(record["hardware"]) for record in merged}:
        own = [record for record in merged if name_of(record["hardware"]) == machine]
        records.write(results / DATA / f"{machine}.jsonl", own)
    path, index = results / PAGE, results / INDEX
    path.write_text(page(published(results)))
    if index.exists():
        index.write_text(written_into(index.read_text(), published(results)))
    return path


def _of(record: Record) -> tuple[str, str, str, str]:
    return name_of(record["hardware"]), record["task"], record["place"], record["entry"]
