"""The stored baseline: medians of one session for each kind of machine and database, and ratios to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.evidence import machine

PLACE = Path(__file__).with_name("baseline.json")

Record = Mapping[str, Any]


def key(record: Record) -> str:
    """Return machine and database of a record: only within one of these, figures are compared."""
    return f"{machine.name_of(record['hardware'])}, {record['database']}"


def of(record: Record, place: Path = PLACE) -> dict[str, Any] | None:
    """Return the baseline for a record; None if there is none of its kind of machine, database and scale."""
    if not place.exists():
        return None
    found: dict[str, Any] | None = json.loads(place.read_text()).get(key(record))
    return found if found is not None and found["scale"] == record["scale"] else None


def name_of(figure: Mapping[str, Any]) -> str:
    """Return the name of a figure in the baseline."""
    return f"{figure['scenario']}: {figure['name']} [{figure['unit']}]"


def ratio(figure: Mapping[str, Any], known: Mapping[str, Any] | None) -> float | None:
    """Return median over baseline; None without one, or if it is 0."""
    before = known["figures"].get(name_of(figure)) if known else None
    return figure["median"] / before if before else None


def worse(record: Record, known: Mapping[str, Any], factor: float) -> list[str]:
    """Return what of a record is worse than the baseline by more than a factor, in words.

    A figure that is 0 in the baseline, such as points missing, may not be anything else.
    """
    found = []
    for figure in figures(record):
        before = known["figures"].get(name_of(figure))
        if before is None or figure["name"].startswith("MLflow"):
            continue
        now = figure["median"]
        limit = before / factor if figure["higher"] else before * factor
        if now < limit if figure["higher"] else now > limit:
            found.append(f"{name_of(figure)}: {now:,.4g}, before {before:,.4g}")
    return found


def figures(record: Record) -> list[dict[str, Any]]:
    """Return all figures of a record."""
    return [figure for scenario in record["scenarios"].values() for figure in scenario["figures"]]


def write(records: Sequence[Record], place: Path = PLACE) -> None:
    """Make the records of full size, earliest first, the baseline: of each kind, the latest of each figure."""
    known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    for record in (each for each in records if each["scale"] == 1):
        kind = key(record)
        before = known.get(kind)
        kept = before["figures"] if before is not None and before["scale"] == record["scale"] else {}
        medians = {name_of(figure): figure["median"] for figure in figures(record)}
        told = {name: record[name] for name in ("commit", "scale", "load_before")}
        known[kind] = {**told, "figures": {**kept, **medians}}
    place.write_text(json.dumps(known, indent=1) + "\n")
