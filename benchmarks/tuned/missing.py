"""Which entries of a place have no published result under the present rule, and what a store lacks of an entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.evidence.machine import hardware, name_of
from benchmarks.tuned.conditions import AT, SEEDS, TASKS, Place, Task
from benchmarks.tuned.entries import Entry, entries
from benchmarks.tuned.records import Record
from benchmarks.tuned.rules import current, outdated

At = tuple[str, str, str, str, str]
"""Machine, which is empty in virtual time, task, place, entry, and by which collective a published setting was
repeated, if it was."""


def missing_entries(task: Task, place: Place, published: Iterable[Record], kept: Iterable[Record]) -> list[Entry]:
    """Return the entries of a place that the page lacks, or has under an earlier rule, the cheapest first.

    The page has a table of hosts for each kind of machine; that of this one counts. What is simulated depends on
    no machine, so any counts. `kept`: what a store has. Costs are the processor seconds of published and kept
    runs; entries of which none are known follow in the order of the catalogue, the most important first.
    """
    own = [record for record in published if _is_of(record, task, place)]
    there = {record["entry"] for record in own if record["rung"] is None}
    there -= {record["entry"] for record in own if outdated(record)}
    costs: dict[str, float] = defaultdict(float)
    for record in (*own, *kept):
        if record["task"] == task.name:
            costs[record["entry"]] += record.get("processor_seconds") or 0.0
    lacking = [entry for entry in entries(place) if entry.name not in there]
    return sorted(lacking, key=lambda entry: costs.get(entry.name) or float("inf"))


def _is_of(record: Record, task: Task, place: Place) -> bool:
    if (record["task"], record["place"]) != (task.name, place.name) or record.get("repeats"):
        return False
    return place.world == "virtual" or name_of(record["hardware"]) == name_of(hardware())


def lacks(measured: Sequence[Record], published: Sequence[Record]) -> str:
    """Return what the records of one entry lack, in words; empty: nothing, they may replace the published ones.

    The chosen setting has to have been measured with all seeds: that implies all trials. With those of the
    published entry, too, unless that was timed under an earlier rule.
    """
    seeds = {record["seed"] for record in measured if record["rung"] is None}
    if not seeds:
        return f"{len(measured)} runs of trials, and none of a chosen setting"
    before = {record["seed"] for record in published if record["rung"] is None}
    first = TASKS[measured[0]["task"]].first_seed
    wanted = {*range(first, first + SEEDS)} | (before if len(current(published)) == len(published) else set())
    lacking = ", ".join(map(str, sorted(wanted - seeds)))
    return f"no result of the chosen setting with seed {lacking}" if lacking else ""


def newest(records: Sequence[Record]) -> list[Record]:
    """Return the records of one entry that are timed as they would be now, if there are any; else all."""
    return current(records) or list(records)


def by_entry(records: Iterable[Record]) -> Mapping[At, list[Record]]:
    """Return records by the entry that they are of."""
    found: dict[At, list[Record]] = defaultdict(list)
    for record in records:
        found[at_of(record)].append(record)
    return found


def at_of(record: Record) -> At:
    """Return what a record is of; a simulated one is of no machine."""
    machine = "" if AT[record["place"]].world == "virtual" else name_of(record["hardware"])
    again = (record.get("repeats") or {}).get("collective", "")
    return machine, record["task"], record["place"], record["entry"], again
