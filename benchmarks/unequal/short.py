"""What a reader wants to know first: which method for which workers, and whether a slower worker pays."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal.conditions import CONDITIONS, TASKS, Kind, of_kind
from benchmarks.unequal.entries import ENTRIES, FASTEST, SYNC, entries
from benchmarks.unequal.findings import Cell, found_in, gain
from benchmarks.unequal.runs import Run, complete, median, results

READ = 4 / 3
"""Least ratio of two times that is read as a difference: with few trials and seeds a smaller one is not."""
KINDS: tuple[Kind, ...] = ("cpus", "spread", "box", "devices", "real")
GROUPS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("two CPUs (simulated)", ("cpus",)),
    ("a device and a CPU (simulated)", ("box",)),
    ("several devices (simulated)", ("devices",)),
    ("two processes (real)", ("real",)),
)
"""Conditions in which the fastest worker was also run alone."""


def first(records: Mapping[Run, Record]) -> Iterator[str]:
    """Yield the beginning of the page: methods by condition, then what slower workers add."""
    yield "**Which method for which workers.** Fastest, by the geometric mean of the seconds over the tasks, or"
    yield "not told apart from the fastest, because they take less than a third longer:"
    yield ""
    for title, kinds in (("simulated", KINDS[:-1]), ("real", KINDS[-1:])):
        if found := {each: close for each in of_kind(*kinds) if (close := _close(records, each))}:
            yield f"- {title}: {often(found)}."
    yield ""
    header = ("workers", "tasks", "fastest; not told apart from it", "Sync SGD takes", "the fastest worker alone")
    yield from table(header, [row for kind in KINDS for row in _rows(records, kind)])
    yield ""
    yield "**Does a slower worker beside a faster one pay?** The best method on all workers, over the fastest"
    yield "worker alone, by task and condition:"
    yield ""
    for title, kinds in GROUPS:
        if cells := found_in(records, *kinds):
            yield f"- {title}: {paying(records, cells)}."
    yield ""


def times(records: Mapping[Run, Record], condition: str) -> tuple[int, dict[str, float]]:
    """Return how many tasks are complete, and the geometric mean of the seconds of each entry that met all."""
    tasks = [task for task in TASKS if complete(records, task, condition)]
    found = {}
    for entry in entries(condition):
        seconds = [median(results(records, task, condition, entry) or ()) for task in tasks]
        if (met := [each for each in seconds if each is not None]) and len(met) == len(tasks):
            found[entry] = statistics.geometric_mean(met)
    return len(tasks), found


def _close(records: Mapping[Run, Record], condition: str) -> list[str]:
    """Return the fastest entry, and those that are not told apart from it; none if no entry met all targets."""
    _, found = times(records, condition)
    order = sorted(found, key=lambda entry: found[entry])
    return [entry for entry in order if found[entry] < READ * found[order[0]]]


def often(found: Mapping[str, Sequence[str]]) -> str:
    """Return in how many of the conditions that have it an entry is among the first, the most frequent ones first.

    `found`: those entries, by condition.
    """
    counts = Counter(entry for close in found.values() for entry in close)
    shown = {entry: sum(entry in entries(each) for each in found) for entry in counts}
    order = sorted(counts, key=lambda entry: (-counts[entry] / shown[entry], -counts[entry], entry))
    return "; ".join(f"{entry} in {counts[entry]} of {shown[entry]}" for entry in order)


def _rows(records: Mapping[Run, Record], kind: Kind) -> Iterator[tuple[str, ...]]:
    for condition in of_kind(kind):
        tasks, found = times(records, condition)
        if not (close := _close(records, condition)):
            continue
        least = found[close[0]]
        compared = [each for each in (SYNC, FASTEST) if each in entries(condition)]
        rest = [f"{found[each] / least:.2f} x" if each in found else "-" for each in compared]
        title = CONDITIONS[condition].title + (" (real)" if kind == "real" else "")
        yield title, str(tasks), "; ".join([f"**{close[0]}**", *close[1:]]), *rest, *[""] * (2 - len(rest))


def together(records: Mapping[Run, Record], cell: Cell) -> float | None:
    """Return how many times as fast as the fastest worker alone the best method on all workers is."""
    medians = {each: median(results(records, *cell, each) or ()) for each in entries(cell.condition)}
    alone = medians[FASTEST]
    used = [s for each, s in medians.items() if s is not None and not ENTRIES[each].alone]
    return alone / min(used) if alone is not None and used else None


def paying(records: Mapping[Run, Record], cells: Sequence[Cell]) -> str:
    """Return in how many cells all workers are clearly faster than the fastest alone, and in how many slower."""
    ratios = [ratio for cell in cells if (ratio := together(records, cell)) is not None]
    if not ratios:
        return "the fastest worker alone did not meet a target"
    faster, slower = sum(ratio >= READ for ratio in ratios), sum(ratio <= 1 / READ for ratio in ratios)
    most = statistics.geometric_mean(gain(records, cell).limit for cell in cells)
    return (
        f"faster by a third or more in {faster} of {len(ratios)}, slower by as much in {slower}, not told apart "
        f"in the others; {statistics.geometric_mean(ratios):.2f} x on geometric average, where the others add "
        f"throughput to {most:.2f} x"
    )
