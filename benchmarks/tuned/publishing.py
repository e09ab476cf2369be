"""Writes the page of the tuned comparison and its raw data, a file for each machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.evidence.machine import name_of
from benchmarks.tuned import records
from benchmarks.tuned.missing import At, at_of, by_entry, lacks, newest
from benchmarks.tuned.overview import written_into
from benchmarks.tuned.page import page, sections
from benchmarks.tuned.records import Record

PAGE, DATA, INDEX = "tuned.md", "tuned", "README.md"
NETWORKS = Path("regimes") / "networks.jsonl"


def published(results: Path) -> list[Record]:
    """Return all records in version control."""
    return [record for path in sorted((results / DATA).glob("*.jsonl")) for record in records.read(path)]


def networks(results: Path) -> list[Record]:
    """Return the records of the map over networks, of which the index tells; none without it."""
    return records.read(results / NETWORKS) if (results / NETWORKS).exists() else []


def publish(measured: Iterable[Record], results: Path) -> Path:
    """Write page and raw data; new records of an entry replace those that it had. Return the page.

    Entries that are not complete are left out, which is printed.
    """
    before = published(results)
    there, renewed = by_entry(before), dict[At, list[Record]]()
    for at, found in by_entry(measured).items():
        own = newest(found)
        if why := lacks(own, there.get(at, [])):
            print(f"left out: {', '.join(filter(None, at[1:]))}: {why}")
        else:
            renewed[at] = own
    merged = [record for record in before if at_of(record) not in renewed]
    merged += [record for own in renewed.values() for record in own]
    for machine in {name_of(record["hardware"]) for record in (*before, *merged)}:
        own = [record for record in merged if name_of(record["hardware"]) == machine]
        file = results / DATA / f"{machine}.jsonl"
        if own:
            records.write(file, own)
        else:  # all of it was simulated, and is replaced by what another machine has computed
            file.unlink()
    path, index = results / PAGE, results / INDEX
    path.write_text(page(published(results)))
    from benchmarks.tuned.forest import NAME, draw  # needs matplotlib, which a machine that measures may not have

    draw(sections(published(results)), results / DATA / NAME)
    if index.exists():
        index.write_text(written_into(index.read_text(), published(results), networks(results)))
    return path
