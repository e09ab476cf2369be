"""When two entries are told apart: by the rule of verdict, and by more than tuning alone makes of one method.

The rule (`hooke.comparison.verdict`) is about two settings. Which settings an entry has is chance, too: a few
trials are drawn for each. Where all workers are equally fast, two entries compute the same (`identical`) and
differ by their draws and seeds alone, so that these pairs measure what else is in every ratio.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

from hooke.comparison.crossing import Crossing
from hooke.comparison.intervals import t_quantile
from hooke.comparison.pooling import Pooled, pooled
from hooke.comparison.verdict import Verdict, compare, compare_all, holm, log_ratios
from hooke.comparison.wording import figure

from benchmarks.common.records import Record
from benchmarks.unequal.conditions import CONDITIONS, of_kind
from benchmarks.unequal.entries import SPLIT, SYNC, entries
from benchmarks.unequal.runs import Run, complete, results
from benchmarks.unequal.tasks import TASKS

Place = tuple[str, str]
"""Task and condition."""
Ratio = Verdict | Pooled
WAYS = {"faster": 1, "at least": 1, "slower": -1, "at most": -1}
"""Claims that tell two entries apart -> the sign of the logarithm of the ratio."""
WIDE = 1000.0
"""Ends of an interval that are further apart say nothing, and are not told."""
ROUNDED = 1 - 1e-4
"""Clocks of curves have five digits: what is not below this share of the time to the target is that time."""


def crossing(record: Record) -> Crossing:
    """Return between which evaluations of a result its target was met."""
    if record["diverged"]:
        return Crossing(0.0, None, diverged=True)
    met = record["seconds"]
    if met is None:
        return Crossing(record.get("clock") or record["curve"][-1][0], None)
    return Crossing(max((clock for clock, _ in record["curve"] if clock < ROUNDED * met), default=0.0), met)


def times(records: Mapping[Run, Record], where: Place, entry: str) -> dict[int, Crossing]:
    """Return the times of an entry's results, by seed."""
    return {each["seed"]: crossing(each) for each in results(records, *where, entry) or ()}


def over(
    records: Mapping[Run, Record], where: Place, baseline: str, names: Iterable[str] = ()
) -> dict[str, Verdict]:
    """Return the verdict on each of these entries (all, if none is named), corrected for their number."""
    others = [each for each in names or entries(where[1]) if each != baseline]
    return compare_all(times(records, where, baseline), {each: times(records, where, each) for each in others})


def identical(records: Mapping[Run, Record]) -> dict[Place, Verdict]:
    """Return the verdict on the split step over the synchronous one where all workers are equally fast.

    Sizes are equal there: both entries compute the same, and differ by the settings that were drawn for them.
    """
    alike = [each for each in of_kind("cpus", "spread", "real") if len(set(CONDITIONS[each].speeds)) == 1]
    cells = [(task, each) for each in alike for task in TASKS if complete(records, task, each)]
    return {cell: compare(times(records, cell, SYNC), times(records, cell, SPLIT)) for cell in cells}


def noise(records: Mapping[Run, Record]) -> float:
    """Return the factor within which 95% of the ratios of two entries that compute the same are expected.

    The logarithms have the mean 0, and as many degrees of freedom as there are pairs. 1 without any.
    """
    logs = [math.log(each.ratio) for each in identical(records).values() if each.ratio is not None]
    if not logs:
        return 1.0
    return math.exp(t_quantile(len(logs)) * math.sqrt(math.fsum(log * log for log in logs) / len(logs)))


def apart(found: Verdict, noisy: float) -> int:
    """Return 1 if the entry is told apart as the faster one, -1 as the slower one, else 0.

    The rule claims a difference, and the ratio, or its known end, is larger than `noisy`.
    """
    way = WAYS.get(found.claim, 0)
    ends = (found.low, found.high) if found.low is None or found.high is None else (found.ratio, found.ratio)
    known = ends[0] if way > 0 else ends[1]
    return way if known is not None and way * math.log(known) > math.log(noisy) else 0


def of_pairs(records: Mapping[Run, Record], where: Place) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on the first of each pair of entries over the second, corrected for all pairs."""
    of = {name: times(records, where, name) for name in entries(where[1])}
    said = holm({(a, b): compare(of[b], of[a]) for a, b in combinations(of, 2)})
    return said | {(b, a): verdict.swapped for (a, b), verdict in said.items()}


def ahead_of_all(records: Mapping[Run, Record], where: Place, noisy: float) -> str | None:
    """Return the entry that is told apart from all others, corrected for all pairs; None without one."""
    names, said = entries(where[1]), of_pairs(records, where)
    return next((a for a in names if all(apart(said[a, b], noisy) > 0 for b in names if b != a)), None)


def over_several(records: Mapping[Run, Record], cells: Iterable[Place], entry: str, baseline: str) -> Pooled:
    """Return the ratio of an entry over cells, each with its own true one (random effects, decision 35)."""
    return pooled(
        {"/".join(cell): log_ratios(times(records, cell, baseline), times(records, cell, entry)) for cell in cells}
    )


def told(found: Ratio) -> str:
    """Return a ratio with its interval, or its bound; *open* without one, *wide* if it says nothing."""
    if found.low is None and found.high is None or found.ratio is None:
        return "open"
    if found.low is None or found.high is None:
        return f"≥ {figure(found.low)}x" if found.low is not None else f"≤ {figure(found.high or 0)}x"
    if found.high / found.low > WIDE:
        return f"{figure(found.ratio)}x (wide)"
    return f"{figure(found.ratio)}x ({figure(found.low)} to {figure(found.high)})"


def marked(found: Verdict, noisy: float) -> str:
    """Return a ratio in words; in bold type if the two are told apart."""
    return f"**{told(found)}**" if apart(found, noisy) else told(found)
