"""The tables of published settings that were repeated by another collective."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence

from benchmarks.evidence.machine import title_of
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import PEER_NAMES
from benchmarks.tuned.records import Record
from benchmarks.tuned.repeated import same_samples
from benchmarks.tuned.rows import Row, rows, told, verdicts

DECISION = "[decision 112](../decisions/0112-halving-by-default.md)"


def repeated_table(records: Sequence[Record]) -> str:
    """Return the repeated runs of one task at one place as a Markdown table, with verdicts against each peer."""
    found = rows(records)
    peers = [name for name in found if name in PEER_NAMES]
    said = {peer: verdicts(found, peer) for peer in peers}
    head = ["entry", "seconds, by seed", "published, s", "exposed", *(f"over {peer}" for peer in peers)]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, row in found.items():
        over = [told(name, said[peer][name]) if name in said[peer] else "-" for peer in peers]
        cells = [name, ", ".join(row.seconds), _published(row), _exposed(row), *over]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def repeated_section(records: Sequence[Record]) -> str:
    """Return the section of the page about the repeated runs of one task at one place."""
    first = records[0]
    task, place, collective = TASKS[first["task"]], AT[first["place"]], first["repeats"]["collective"]
    commits = ", ".join(Counter(record["commit"] for record in records))
    pace = [record["machine_ms"] for record in records]
    hours = sum(record["wall_seconds"] or 0.0 for record in records) / 3600
    crowded = ", oversubscribed" if place.hosts > first["hardware"]["cores"] else ""
    effort = first["effort"][0].upper() + first["effort"][1:]
    about = (
        f"{title_of(first['hardware'])}. {effort} ({DECISION}): which settings are best by {collective} is not "
        "known. Run in turn with the peers at their published settings; other seconds are not comparable. "
        f"{same_samples(records)} {len(records)} runs, {hours:.1f} h. A fixed piece of work took {min(pace):.1f} "
        f"to {max(pace):.1f} ms before them. Commit {commits}."
    )
    title = f"## {task.title} to {task.target:.1%}: {place.title}{crowded}: published settings, by {collective}"
    return "\n".join([title, "", about, "", repeated_table(records)])


def _published(row: Row) -> str:
    seconds = [run["repeats"]["seconds"] for _, run in sorted(row.runs.items())]
    return ", ".join("missed" if each is None else f"{each:.1f}" for each in seconds)


def _exposed(row: Row) -> str:
    shares = [run["communication_fraction"] for run in row.runs.values()]
    known = [share for share in shares if share is not None]
    return f"{statistics.fmean(known):.0%}" if known else "-"
