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
from hooke.comparison.verdict import LEAST_PAIRS, Verdict, compare, holm, log_ratios
from hooke.comparison.wording import count, figure, listed

ORDERED = {"faster": 1, "at least": 1, "slower": -1, "at most": -1}
"""Claims that order two variants -> the sign of the logarithm of the ratio."""


@dataclass(frozen=True)
class ComparedCluster:
    """The variants on one cluster, and the verdict on each against the baseline."""

    cluster: str
    simulated: bool
    cells: Mapping[str, Cell]
    verdicts: Mapping[str, Verdict]

    @property
    def oversubscribed(self) -> bool:
        """Return whether ranks of a run shared cores."""
        return any(run.oversubscribed for cell in self.cells.values() for run in cell.runs)

    @property
    def overlapped(self) -> int:
        """Return the number of its runs that shared their machine with a run of another cluster."""
        return sum(run.overlap is not None for cell in self.cells.values() for run in cell.runs)


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
    left_out: Mapping[str, str]
    """Variant without a pooled ratio -> the reason."""

    @property
    def sentences(self) -> list[str]:
        """Return the conclusions."""
        return [self._of_ratios(), *self._of_order()]

    def _of_ratios(self) -> str:
        names = [each.cluster for each in self.clusters]
        if not self.pool:
            return (
                f"Over {listed(names)} with {count(self.workers, 'worker')} nothing is pooled: a mean needs two "
                "measured clusters, or two simulated ones."
            )
        simulated = all(each.simulated for each in self.clusters)
        kind = "simulated clusters" if simulated else "clusters"
        head = f"Mean over {len(self.pool)} {kind} ({listed(self.pool)}) with {count(self.workers, 'worker')}"
        told = [_of_pooled(name, found) for name, found in self.pooled.items()]
        told += [f"{name}: no mean, {why}" for name, why in self.left_out.items()]
        return f"{head}, against {self.baseline}, 95% intervals: {'; '.join(told)}.{self._doubts()}"

    def _doubts(self) -> str:
        """Return what speaks against the times of pooled clusters, as further sentences."""
        pool = [each for each in self.clusters if each.cluster in self.pool]
        shared = [each.cluster for each in pool if each.oversubscribed]
        told = f" Oversubscribed, more ranks than cores: {listed(shared)}." if shared else ""
        for each in pool:
            if each.overlapped:
                runs = count(each.overlapped, "run")
                told += f" {runs} on {each.cluster} overlapped with those of another cluster on its machine."
        return told

    def _of_order(self) -> Iterator[str]:
        for found in self.reversals:
            first, second = found.first, found.second
            yield (
                f"The order changes with the cluster: {first} is faster than {second} on "
                f"{self._places(found.first_wins)}, but {second} is faster than {first} on "
                f"{self._places({c: v.swapped for c, v in found.second_wins.items()})}."
            )
        if self.pairs and not self.reversals:
            yield self._unchanged()

    def _unchanged(self) -> str:
        kinds = {each.simulated for each in self.clusters}
        where = {frozenset({True, False}): ", measured or simulated", frozenset({True}): " (all simulated)"}
        every = f"every cluster{where.get(frozenset(kinds), '')}"
        if self.agreed == self.pairs:
            return f"The order of the variants is the same on {every}."
        if not self.agreed:
            return f"Whether the order changes with the cluster is open: no two variants are separated on {every}."
        have, rest = ("has", "have")[self.agreed > 1], self.pairs - self.agreed
        return (
            f"No change of the order is shown: {self.agreed} of {self.pairs} pairs of variants {have} the same "
            f"order on {every}; that of the other {rest if rest > 1 else 'one'} is not shown on all of them."
        )

    def _places(self, verdicts: Mapping[str, Verdict]) -> str:
        simulated = {each.cluster for each in self.clusters if each.simulated}
        told = []
        for cluster, v in verdicts.items():
            ends = f"{_end(v.low)} to {_end(v.high)}" if v.high is not None else f"at least {_end(v.low)}"
            mean = f"{figure(v.ratio)}x, " if v.ratio is not None and v.high is not None else ""
            told.append(f"{cluster} ({'simulated, ' if cluster in simulated else ''}{mean}{ends})")
        return listed(told)


def across(clusters: Iterable[tuple[int, ComparedCluster]], baseline: str, effort: Effort) -> list[Across]:
    """Return a comparison for every number of workers that several clusters have.

    `clusters`: (number of workers, the cluster's variants). Claims need three seeds that ran on every cluster, and
    are corrected by Holm's method for the number of variants (ratios), or of pairs on all clusters (order).
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
    found, left_out = _ratios(pool, baseline)
    orders = _orders(places, effort)
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
    return Across(workers, baseline, places, holm_pooled(found), told, reversals, agreed, len(shared), left_out)


def _ratios(pool: Sequence[ComparedCluster], baseline: str) -> tuple[dict[str, Pooled], dict[str, str]]:
    """Return variant -> its pooled ratio, and variant -> the reason why it has none."""
    found, left_out = dict[str, Pooled](), dict[str, str]()
    for name in dict.fromkeys(name for place in pool for name in place.cells if name != baseline):
        logs = {place.cluster: _logs(place, name, baseline) for place in pool}
        reasons = [f"{each} on {cluster}" for cluster, each in logs.items() if isinstance(each, str)]
        told = {cluster: each for cluster, each in logs.items() if not isinstance(each, str)}
        if reasons:
            left_out[name] = "; ".join(reasons)
            continue
        one = pooled(told)
        few = [cluster for cluster, each in told.items() if len(each) < LEAST_PAIRS]
        if few:
            left_out[name] = f"fewer than {LEAST_PAIRS} seeds on {listed(few)}"
        elif one.claim == "no claim":
            left_out[name] = f"fewer than {LEAST_PAIRS} seeds that all clusters have"
        elif one.ratio is None:
            left_out[name] = "the target was missed on both sides, so there is no bound"
        else:
            found[name] = one
    return found, left_out


def _logs(place: ComparedCluster, variant: str, baseline: str) -> dict[int, Range] | str:
    """Return the log-ratios by seed on a cluster, or why there are none."""
    if variant not in place.cells or baseline not in place.cells:
        return f"{variant if variant not in place.cells else baseline} did not run"
    if why := place.verdicts[variant].unfair:
        return why
    return log_ratios(place.cells[baseline].crossings(), place.cells[variant].crossings())


def _orders(places: Sequence[ComparedCluster], effort: Effort) -> list[dict[tuple[str, str], Verdict]]:
    """Return for each cluster the verdict on the first of each pair of variants against the second.

    Corrected for all pairs on all clusters: a reversal is claimed where any of them disagree.
    """
    crossings = [{name: cell.crossings() for name, cell in place.cells.items()} for place in places]
    raw = {
        (k, a, b): compare(each[b], each[a])
        for k, each in enumerate(crossings)
        for a, b in combinations(sorted(each), 2)
    }
    found: list[dict[tuple[str, str], Verdict]] = [{} for _ in places]
    for (k, a, b), verdict in holm(raw).items():
        found[k][a, b] = effort.judged(places[k].cells, b, {a: verdict})[a]
    return found


def _of_pooled(variant: str, found: Pooled) -> str:
    """Return a pooled ratio in words, with its heterogeneity; a bound where a target was missed."""
    notes = [count(found.seeds, "seed")]
    if found.i2 is not None:
        notes.append(f"{found.i2:.0%} of the spread is between clusters")
    if found.claim == "not shown":
        notes.append("not shown")
    if found.low is None or found.high is None:
        bound = f"at least {figure(found.low)}x" if found.low is not None else f"at most {_end(found.high)}x"
        return f"{variant} {bound} ({', '.join(notes)})"
    return f"{variant} {figure(found.ratio or 1)}x ({_end(found.low)} to {_end(found.high)}, {', '.join(notes)})"


def _end(value: float | None) -> str:
    """Return an end of an interval: 1.0 where it differs from 1 by less than a digit that matters."""
    if value is None:
        return "?"
    return "1.0" if abs(value - 1) < 5e-4 else figure(value)
