"""The simulated tables that have most methods of the catalogue: who is missing in them, and what they show."""

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
SHOWN = 2
"""Tables of which the index tells, of a workload each."""
FIRST = 2
"""Entries that it names of the first of them, the fastest first; of the others the fastest one."""
SMALL = {"digits-mlp": "Digits 8 x 8, a small perceptron"}
"""Workload -> its title, where that says in a table how small it is."""
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
    faster, slower, neither = _counts(found)
    never = sum(not row.times for row in found.values())
    missed = f"; {never} met the target with no seed" if never else ""
    others = faster + slower + neither
    return f"Over {SYNC}, of {others} others: {faster} faster, {slower} slower, {neither} neither{missed}."


def _counts(found: Mapping[str, Row]) -> tuple[int, int, int]:
    """Return how many entries are faster and slower than the baseline, and neither."""
    counts = Counter(verdict.claim for verdict in verdicts(found, SYNC).values())
    faster, slower = counts["faster"] + counts["at least"], counts["slower"] + counts["at most"]
    return faster, slower, sum(counts.values()) - faster - slower


def largest_tables(tables: Sequence[tuple[At, Mapping[str, Row]]]) -> Iterator[str]:
    """Yield a paragraph for the index on the simulated tables with most methods, if there are any.

    One for each workload of which a table has almost the whole catalogue, the one with the larger budget first; if
    there is none, the table with most methods.
    """
    simulated = [each for each in tables if AT[each[0][2]].world == "virtual"]
    if not simulated:
        return
    by_size = sorted(simulated, key=lambda each: len(field.methods_entered(each[1])), reverse=True)
    of_workload = {TASKS[at[1]].workload: (at, found) for at, found in reversed(by_size) if is_whole(found)}
    whole = sorted(of_workload.values(), key=lambda each: TASKS[each[0][1]].samples, reverse=True)
    shown = whole[:SHOWN] or by_size[:1]
    all_of = [_conditions(*each) for each in shown]
    common = [each for each in all_of[0] if all(each in own for own in all_of)]
    said = [
        _in_short(at, found, [each for each in own if each not in common], first=n == 0)
        for n, ((at, found), own) in enumerate(zip(shown, all_of, strict=True))
    ]
    yield f"**Most methods in one table**, simulated, {', '.join(common)}. {' '.join(said)}"


def _conditions(at: At, found: Mapping[str, Row]) -> list[str]:
    """Return the place of a table, its effort and how much of the catalogue is in it."""
    return [
        *AT[at[2]].title.split(" on a virtual cluster of "),
        at[3].removesuffix(" by successive halving"),
        f"{max(len(row.runs) for row in found.values())} seeds",
        f"{len(field.methods_entered(found))} of the {field.methods()} methods",
    ]


def _in_short(at: At, found: Mapping[str, Row], conditions: Sequence[str], first: bool) -> str:
    """Return what the index says of a table; of others than the first in fewer words."""
    task, (faster, slower, neither) = TASKS[at[1]], _counts(found)
    what = f"{SMALL.get(task.workload, task.title.split(', all-reduces')[0])}, {100 * task.target:.3g}%"
    of = list(found.items())[: FIRST if first else 1]
    names = ", ".join(f"{name} {row.order[1]:.2g} s" if row.times else name for name, row in of)
    elastic = elastic_verdict(found)
    which = "the fastest elastic one over the fastest other" if first else "elastic over other"
    return (
        f"{', '.join([f'[{what}](tuned.md#{anchor(heading(at))})', *conditions])}: over {SYNC} {faster} faster, "
        f"{slower} slower, {neither} neither; the fastest: {names}; {which}: "
        f"{told(elastic[0], elastic[2]) if elastic else 'not measured'}."
    )
