"""Which variant is the fastest in one place, and which others may be as fast: the answer that comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from hooke.comparison.cells import Cell
from hooke.comparison.crossing import Crossing
from hooke.comparison.effort import Effort
from hooke.comparison.intervals import CONFIDENCE
from hooke.comparison.verdict import LEAST_PAIRS, Verdict, compare, holm

AHEAD = ("faster", "at least")
FREE = 3
"""Equal variants of which the best one's interval needs no correction, as simulations have shown."""


@dataclass(frozen=True)
class Fastest:
    """The variant with the largest speed-up over the baseline, or the baseline if none has one above 1.

    If any variant is shown to be faster than the baseline, it is one of these.
    """

    variant: str
    verdict: Verdict
    """On it, against the baseline."""
    unseparated: tuple[str, ...]
    """The variants that it is not shown to be faster than, without those that have too few seeds for a claim."""
    among: int
    """Variants that may have been named: it and those of `unseparated`, without the baseline."""
    low: float | None
    """Interval of its speed-up as the best of so many; up to FREE of them, that of the verdict."""
    high: float | None


def fastest(
    cells: Mapping[str, Cell], baseline: str, verdicts: Mapping[str, Verdict], effort: Effort
) -> Fastest | None:
    """Return the fastest variant of one cluster and number of workers; None without a speed-up from three seeds.

    Against the baseline, the verdicts count as they are. Against the others, it is compared as the baseline is, by
    seed, and Holm's correction is for all pairs of them, because it was chosen among them.
    """
    if baseline not in cells:
        return None
    able = {name: v for name, v in verdicts.items() if v.pairs >= LEAST_PAIRS and not v.unfair}
    known = {name: v.ratio for name, v in able.items() if v.ratio is not None}
    if not known:
        return None
    best = max(known, key=lambda name: (able[name].claim in AHEAD, known[name]))
    if known[best] <= 1:
        best = baseline
    others = [name for name in able if name != best]  # also those of which neither ratio nor bound is known
    apart = _apart(cells, best, list(able), effort) if best != baseline else {}
    against = {name: verdicts[name].swapped if best == baseline else apart[name] for name in others}
    if best != baseline:
        against[baseline] = verdicts[best]
    unseparated = tuple(name for name in cells if name in against and against[name].claim not in AHEAD)
    among = len({best, *unseparated} - {baseline})
    low, high = verdicts[best].low, verdicts[best].high
    if best != baseline and among > FREE:
        free = FREE if known[best] == max(known.values()) else 1
        low, high = chosen_interval(
            cells[baseline].crossings(), cells[best].crossings(), verdicts[best], among, free
        )
    return Fastest(best, verdicts[best], unseparated, among, low, high)


def chosen_interval(
    baseline: Mapping[int, Crossing], best: Mapping[int, Crossing], verdict: Verdict, among: int, free: int = FREE
) -> tuple[float | None, float | None]:
    """Return the interval of a variant's speed-up that was chosen as the largest one of `among`.

    The largest of many is too large: of k equal variants the best one's 95% interval misses the truth in 5%
    (k = 3) to 11% (20) of cases (docs/decisions/0109-simulated-rivals.md). So its error is 5% times FREE / k.
    `free`: 1 for one that comes before a larger ratio because only it is shown to be faster. Such a one was chosen
    for its small spread, too, so its error is 5% / k, which holds however it was chosen. A speed-up that is
    claimed, which is corrected by itself, stays above 1: so do intervals that belong to Holm's correction
    (Strassburger and Bretz, Statist. Med. 27, 2008).
    """
    found = compare(baseline, best, 1 - (1 - CONFIDENCE) * min(1.0, free / among))
    low = found.low
    return max(low, 1.0) if low is not None and verdict.claim in AHEAD else low, found.high


def _apart(cells: Mapping[str, Cell], best: str, names: list[str], effort: Effort) -> dict[str, Verdict]:
    """Return the verdict on the best against each other variant, after correction for all pairs."""
    crossings = {name: cells[name].crossings() for name in names}
    pairs = holm({(a, b): compare(crossings[b], crossings[a]) for a, b in combinations(names, 2)})
    found = {}
    for (a, b), verdict in pairs.items():
        if best in (a, b):
            other = b if a == best else a
            mine = verdict if a == best else verdict.swapped
            found[other] = effort.judged(cells, other, {best: mine})[best]
    return found
