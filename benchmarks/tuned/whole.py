"""The simulated table that has most methods of the catalogue: who is missing in it, and what it shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hooke.catalogue.discovery import built_in

from benchmarks.tuned import field
from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import SECOND_TO_NONE, SYNC
from benchmarks.tuned.rows import Row, elastic_verdict, told, verdicts

MOST = 0.8
"""Share of the catalogue from which on a table is said to have almost all of it."""
FIRST = 3
"""Entries that the index names, the fastest first."""
At = tuple[str, str, str, str]


def is_whole(found: Iterable[str]) -> bool:
    """Return whether a table has almost all methods of the catalogue."""
    return len(field.methods_entered(found)) >= MOST * field.methods()


def heading(at: At) -> str:
    """Return the heading of a table's section."""
    _, task, place, _ = at
    simulated = " (simulated)" if AT[place].world == "virtual" else ""
    return f"{TASKS[task].title} to {TASKS[task].target:.1%}: {AT[place].title}{simulated}"


def anchor(title: str) -> str:
    """Return the anchor of a heading: as GitHub makes them."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def entered(found: Mapping[str, Row]) -> str:
    """Return how much of the catalogue is in a table, and what is not."""
    absent = sorted(set(built_in("algorithm")) - set(field.methods_entered(found)))
    why = [f"{name}, {SECOND_TO_NONE[name]}" for name in absent if name in SECOND_TO_NONE]
    others = [name for name in absent if name not in SECOND_TO_NONE]
    why += [", ".join(others)] if others else []
    said = f"{len(field.methods_entered(found))} of the {field.methods()} methods of the catalogue were entered"
    return f"{said}; not {'; '.join(why)}." if why else f"{said}."


def counted(found: Mapping[str, Row]) -> str:
    """Return how many methods are faster and slower than the baseline, and how many did not meet the target."""
    counts = Counter(verdict.claim for verdict in verdicts(found, SYNC).values())
    faster, slower = counts["faster"] + counts["at least"], counts["slower"] + counts["at most"]
    never = sum(not row.times for row in found.values())
    missed = f"; {never} met the target with no seed" if never else ""
    return (
        f"Over {SYNC}, of {sum(counts.values())} others: {faster} faster, {slower} slower, "
        f"{sum(counts.values()) - faster - slower} neither{missed}."
    )


def largest_table(tables: Sequence[tuple[At, Mapping[str, Row]]]) -> Iterator[str]:
    """Yield a paragraph for the index on the simulated table with most methods, if there is one."""
    simulated = [(at, found) for at, found in tables if AT[at[2]].world == "virtual"]
    if not simulated:
        return
    at, found = max(simulated, key=lambda each: len(field.methods_entered(each[1])))
    task, seeds = TASKS[at[1]], max(len(row.runs) for row in found.values())
    first = ", ".join(f"{name} {row.order[1]:.2g} s" for name, row in list(found.items())[:FIRST])
    elastic = elastic_verdict(found)
    said = told(elastic[0], elastic[2]) if elastic else "not measured"
    yield (
        f"**Most methods in one table**, [simulated](tuned.md#{anchor(heading(at))}): "
        f"{len(field.methods_entered(found))} of the {field.methods()} methods; "
        f"{task.title.split(', all-reduces')[0]}, {AT[at[2]].title}, {at[3]}, {seeds} seeds. "
        f"{counted(found)} The fastest: {first}. The fastest elastic "
        f"one, over the fastest other: {said}. A small model."
    )
