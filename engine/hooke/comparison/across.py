"""One comparison over several clusters: ratios side by side, pooled, and whether the order of methods changes.

Seconds of different clusters are never mixed: every ratio is formed on one cluster, and only ratios are pooled
(`pooling`). Measured and simulated clusters are not pooled with each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from hooke.comparison.cells import Cell
from hooke.comparison.effort import Effort
from hooke.comparison.pooling import Pooled, holm_pooled, pooled
from hooke.comparison.ranges import Range
from hooke.comparison.verdict import Verdict, compare, holm, log_ratios
from hooke.comparison.wording import count, figure

ORDERED = {"faster": 1, "at least": 1, "slower": -1, "at most": -1}
"""Claims that order two variants -> the sign of the logarithm of the ratio."""


@dataclass(frozen=True)
class ComparedCluster:
    """The variants on one cluster, and the verdict on each against the baseline."""

    cluster: str
    simulated: bool
    cells: Mapping[str, Cell]
    verdicts: Mapping[str, Verdict]


@dataclass(frozen=True)
class Reversal:
    """Two variants of which one is shown to be faster on some clusters, and the other one on others."""

    first: str
    second: str
    first_wins: Mapping[str, Verdict]
    """Cluster -> verdict on `first` against `second`, where `first` is faster."""
    second_wins: Mapping[str, Verdict]
    """Likewise where `second` is faster."""


@dataclass(frozen=True)
class Across:
    """The comparison over all clusters with the same number of workers."""

    workers: int
    baseline: str
    clusters: Sequence[ComparedCluster]
    pooled: Mapping[str, Pooled]
    """Variant -> its ratio pooled over the clusters of `pool`; variants without a ratio are left out."""
    pool: Sequence[str]
    """Names of the pooled clusters: the measured ones, or all if all are simulated; empty with less than two."""
    reversals: Sequence[Reversal]
    agreed: int
    """Pairs of variants that are shown to have the same order on every cluster."""
    pairs: int
    """Pairs of variants that ran on every cluster."""

    @property
    def sentences(self) -> list[str]:
        """Return the conclusions."""
        return [self._of_ratios(), *self._of_order()]

    def _of_ratios(self) -> str:
        names = [each.cluster for each in self.clusters]
        if not self.pool:
            return (
                f"Over {_listed(names)} with {count(self.workers, 'worker')} nothing is pooled: a mean needs two "
                "measured clusters, or two simulated ones."
            )
        simulated = all(each.simulated for each in self.clusters)
        kind = "simulated clusters" if simulated else "clusters"
        head = f"Mean over {len(self.pool)} {kind} ({_listed(self.pool)}) with {count(self.workers, 'worker')}"
        told = [_of_pooled(name, found) for name, found in self.pooled.items()]
        return f"{head}, against {self.baseline}, 95% intervals: {'; '.join(told) or 'nothing'}."

    def _of_order(self) -> Iterator[str]:
        for found in self.reversals:
            first, second = found.first, found.second
            yield (
                f"The order changes with the cluster: {first} is faster than {second} on "
                f"{_places(found.first_wins)}, and {second} than {first} on "
                f"{_places({c: v.swapped for c, v in found.second_wins.items()})}."
            )
        if self.pairs and not self.reversals:
            rest = self.pairs - self.agreed
            yield (
                f"No two variants are shown to change their order: {self.agreed} of {count(self.pairs, 'pair')} "
                f"{'has' if self.agreed == 1 else 'have'} the same order on every cluster"
                + (f", and on some cluster {rest} cannot be told apart." if rest else ".")
            )


def across(clusters: Iterable[tuple[int, ComparedCluster]], baseline: str, effort: Effort) -> list[Across]:
    """Return a comparison for every number of workers that several clusters have.

    `clusters`: (number of workers, the cluster's variants). Claims need three seeds that ran on every cluster, and
    are corrected for the number of variants (ratios) or of pairs (order on a cluster) by Holm's method.
    """
    by_workers: dict[int, list[ComparedCluster]] = defaultdict(list)
    for workers, place in clusters:
        by_workers[workers].append(place)
    return [_across(n, places, baseline, effort) for n, places in sorted(by_workers.items()) if len(places) > 1]


def _across(workers: int, places: list[ComparedCluster], baseline: str, effort: Effort) -> Across:
    measured = [place for place in places if not place.simulated]
    pool = measured or places
    if len(pool) < 2:
        pool = []
    names = [n for n in places[0].cells if n != baseline and all(n in place.cells for place in places)]
    logs = {name: _logs(name, pool, baseline) for name in names}
    found = {name: _pooled(each) for name, each in logs.items() if len(each) == len(pool) > 0}
    orders = [_order(place, effort) for place in places]
    shared = [pair for pair in orders[0] if all(pair in order for order in orders)]
    reversals, agreed = [], 0
    for pair in shared:
        ways = {place.cluster: order[pair] for place, order in zip(places, orders, strict=True)}
        signs = {cluster: ORDERED.get(verdict.claim, 0) for cluster, verdict in ways.items()}
        wins, losses = ({c: ways[c] for c, sign in signs.items() if sign == way} for way in (1, -1))
        if wins and losses:
            reversals.append(Reversal(*pair, wins, losses))
        agreed += len(places) in (len(wins), len(losses))
    told = [place.cluster for place in pool]
    return Across(workers, baseline, places, holm_pooled(found), told, reversals, agreed, len(shared))


def _pooled(logs: Mapping[str, Mapping[int, Range]]) -> Pooled:
    """Return the pooled ratio; no claim where less than two clusters have enough pairs."""
    found = pooled(logs)
    if found.machines > 1:
        return found
    common = set.intersection(*(set(each) for each in logs.values()))
    return Pooled("no claim", machines=found.machines, seeds=len(common), left_out=found.left_out)


def _logs(variant: str, places: Iterable[ComparedCluster], baseline: str) -> dict[str, dict[int, Range]]:
    """Return the log-ratios by seed of each cluster that allows a claim."""
    return {
        place.cluster: log_ratios(place.cells[baseline].crossings(), place.cells[variant].crossings())
        for place in places
        if baseline in place.cells and not place.verdicts[variant].unequal
    }


def _order(place: ComparedCluster, effort: Effort) -> dict[tuple[str, str], Verdict]:
    """Return the verdict on the first of each pair of variants against the second, corrected for their number."""
    cells = place.cells
    crossings = {name: cell.crossings() for name, cell in cells.items()}
    found = holm({(a, b): compare(crossings[b], crossings[a]) for a, b in combinations(sorted(cells), 2)})
    return {(a, b): effort.judged(cells, b, {a: verdict})[a] for (a, b), verdict in found.items()}


def _of_pooled(variant: str, found: Pooled) -> str:
    """Return a pooled ratio in words, with its heterogeneity."""
    notes = [count(found.seeds, "seed")]
    if found.i2 is not None:
        notes.append(f"{found.i2:.0%} of the spread is between clusters")
    if found.ratio is None or found.claim == "no claim":
        return f"{variant}: no claim ({notes[0]} on every cluster)"
    low = "?" if found.low is None else figure(found.low)
    high = "?" if found.high is None else figure(found.high)
    shown = ", not shown" if found.claim == "not shown" else ""
    return f"{variant} {figure(found.ratio)}x ({low} to {high}, {', '.join(notes)}{shown})"


def _places(verdicts: Mapping[str, Verdict]) -> str:
    told = []
    for cluster, v in verdicts.items():
        low = "" if v.low is None else figure(v.low)
        high = "" if v.high is None else figure(v.high)
        ends = f"{low} to {high}" if low and high else f"from {low}"
        told.append(f"{cluster} ({f'{figure(v.ratio)}x, ' if v.ratio and high else ''}{ends})")
    return _listed(told)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
