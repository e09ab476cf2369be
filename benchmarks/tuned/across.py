"""Ratios of one task and place over several kinds of machines: random effects, as in the evidence (decision 35).

Seconds are never pooled. A ratio is pooled if its two entries have the same settings on all of these machines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hooke.comparison.pooling import Pooled, holm_pooled, pooled
from hooke.comparison.verdict import log_ratios
from hooke.comparison.wording import figure

from benchmarks.tuned.conditions import AT, TASKS
from benchmarks.tuned.entries import DDP_BF16, POST_LOCAL
from benchmarks.tuned.rows import Row

Where = tuple[str, str]
"""Task and place."""
Tables = Sequence[tuple[tuple[str, str, str, str], Mapping[str, Row]]]
"""Machine, task, place and effort of each table, and its entries."""
OVER = (DDP_BF16.name, POST_LOCAL.name)
HOW = (
    "random effects ([decision 35](../decisions/0035-pooling-over-machines.md)) from the seeds that all machines "
    "have, corrected for the ratios in this table. I²: share of the spread that is between machines. Two kinds of "
    "machines leave t one degree of freedom. Entries whose settings differ between machines are left out."
)


def over_machines(tables: Tables) -> dict[Where, dict[tuple[str, str], Pooled]]:
    """Return the pooled ratios, (entry, peer), of every task and place that several kinds of machines have."""
    found: dict[Where, dict[str, Mapping[str, Row]]] = defaultdict(dict)
    for (machine, task, place, _), of in tables:
        if AT[place].world != "virtual" and not set(OVER).isdisjoint(of):
            found[task, place][machine] = of
    several = {where: by for where, by in found.items() if len(by) > 1}
    return {where: holm_pooled(dict(_pairs(by))) for where, by in several.items()}


def _pairs(machines: Mapping[str, Mapping[str, Row]]) -> Iterator[tuple[tuple[str, str], Pooled]]:
    tables = list(machines.values())
    shared = [name for name in tables[0] if all(name in of and _alike(name, tables) for of in tables)]
    for peer in (name for name in OVER if name in shared):
        for name in shared:
            if name != peer and not any(of[each].refuted for of in tables for each in (name, peer)):
                logs = {each: log_ratios(of[peer].crossings, of[name].crossings) for each, of in machines.items()}
                yield (name, peer), pooled(logs)


def _alike(name: str, tables: Iterable[Mapping[str, Row]]) -> bool:
    """Return whether an entry has the same settings in all tables."""
    return len({str(next(iter(of[name].runs.values()))["parameters"]) for of in tables}) == 1


def told(found: Pooled) -> str:
    """Return a pooled ratio with claim, interval and heterogeneity."""
    if found.ratio is None:
        return f"{found.claim}: a target was missed on both sides"
    if found.low is None or found.high is None:
        end = f"at least {figure(found.low)}x" if found.low is not None else f"at most {figure(found.high or 0)}x"
        return f"{found.claim}: {end} (n={found.seeds})"
    i2 = "" if found.i2 is None else f", I² {found.i2:.0%}"
    return (
        f"{found.claim}: {figure(found.ratio)}x ({figure(found.low)} to {figure(found.high)}, n={found.seeds}{i2})"
    )


def paragraphs(tables: Tables) -> Iterator[str]:
    """Yield a table for every task and place of several kinds of machines."""
    for (task, place), found in over_machines(tables).items():
        where = f"{TASKS[task].title} to {TASKS[task].target:.1%}, {AT[place].title}"
        machines = [machine for (machine, *at, _), of in tables if tuple(at) == (task, place) and OVER[0] in of]
        lines = [f"Over kinds of machines ({'; '.join(machines)}), {where}: {HOW}", ""]
        lines += [f"| entry | {' | '.join(f'over {peer}' for peer in OVER)} |", "|---|---|---|"]
        for name in dict.fromkeys(name for name, _ in found):
            cells = [told(found[name, peer]) if (name, peer) in found else "-" for peer in OVER]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        yield "\n".join(lines)
