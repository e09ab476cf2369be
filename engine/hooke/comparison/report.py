"""The comparison of an experiment's runs: a row per variant and place, and one sentence for each place."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hooke.comparison import wording
from hooke.comparison.across import Across, ComparedCluster, across
from hooke.comparison.cells import Cell
from hooke.comparison.effort import Effort
from hooke.comparison.fastest import Fastest, fastest
from hooke.comparison.figures import FAILED, FINISHED, PhaseSums, RunFigures, throughput
from hooke.comparison.intervals import CONFIDENCE, Interval, interval, p_value
from hooke.comparison.verdict import (
    LEAST_PAIRS,
    Verdict,
    compare_all,
    compare_values,
    holm,
    holm_adjusted,
    paired_difference,
)
from hooke.comparison.without_target import without_target
from hooke.spec.specification import Target
from hooke.spec.states import TERMINAL, RunState
from hooke.trace.phases import PHASES


@dataclass(frozen=True)
class TimeToTarget:
    """Train-clock seconds to the target over seeds; seeds that missed it are censored at their last clock."""

    mean: float | None
    """Geometric mean, whose ratio over the same seeds is a speed-up; None if a seed missed the target."""
    median: float | None
    """None if half of the seeds or more missed the target."""
    low: float | None
    """Least over the seeds that reached it."""
    high: float | None
    reached: int
    n: int


@dataclass(frozen=True)
class Row:
    """One variant on one cluster with one number of workers. Intervals are 95% t intervals over seeds."""

    first: RunFigures
    """One of its runs: variant, algorithm, cluster, workers, whether it is simulated."""
    oversubscribed: bool
    overlapped: int
    """Its runs that shared their machine with a run of another cluster."""
    runs: int
    finished: int
    failed: int
    time_to_target: TimeToTarget | None
    verdict: Verdict
    sentence: str
    """The claim in words."""
    accuracy: Interval
    """Of the latest evaluation of a run."""
    target_accuracy: Interval
    """Of the evaluation that met the target."""
    best_accuracy: Interval
    test_accuracy: Interval
    communication_fraction: Interval
    hidden: Interval
    """Hidden communication, s per run, mean over workers."""
    wire: Interval
    """Bytes sent by all ranks of a run."""
    throughput: Interval
    """Samples per train-clock second, all workers."""
    samples: Interval
    """Samples of a run, all workers: of one that met its target, those up to it."""
    energy: Interval
    """Joules of the whole machine while the ranks of a run ran."""
    energy_shared: int
    """Finished runs with such a figure that shared their machine meanwhile."""
    staleness: Interval
    lost_mass: Interval
    phases: Mapping[str, float]
    """Mean share of wall time per phase over workers and seeds."""


@dataclass(frozen=True)
class Report:
    """The rows, grouped by cluster and workers, and for each group a sentence and the fastest variant."""

    rows: list[Row]
    sentences: list[str]
    fastest: list[Fastest | None]
    """Of each group, in the order of the sentences; None where nothing can be said, or without a target."""
    tuning: str
    """How the settings were chosen, in words: the effort on which every claim stands."""
    note: str | None
    """Remark on all figures: runs were made without a validation part."""
    across: list[Across]
    """Where several clusters have a number of workers: the comparison over them. Empty without a target."""


def report(runs: Sequence[RunFigures], baseline: str, target: Target | None, effort: Effort) -> Report:
    """Return the comparison of the reported runs of an experiment, in the order of the runs."""
    groups: dict[tuple[str, int], dict[str, Cell]] = defaultdict(dict)
    for run in runs:
        group = groups[run.cluster, run.workers]
        group.setdefault(run.variant, Cell(run.variant, [])).runs.append(run)
    compared = [_Group(cells, baseline, target, effort) for cells in groups.values()]
    tested = (target is not None and target.part == "test") or any(run.evaluated_part == "test" for run in runs)
    return Report(
        rows=[each.row(name) for each in compared for name in each.cells],
        sentences=[each.sentence() for each in compared],
        fastest=[each.fastest for each in compared],
        tuning=effort.sentence,
        note=wording.describe_parts(target, tested),
        across=across((each.compared for each in compared), baseline, effort) if target else [],
    )


class _Group:
    """The variants on one cluster with one number of workers."""

    def __init__(self, cells: dict[str, Cell], baseline: str, target: Target | None, effort: Effort) -> None:
        self.cells, self._baseline, self._target = cells, baseline, target
        self._verdicts = effort.judged(cells, baseline, self._compared())
        self.fastest = fastest(cells, baseline, self._verdicts, effort)
        self._unchosen = effort.unchosen(cells)

    def _compared(self) -> dict[str, Verdict]:
        """Return the verdict on each variant, corrected for their number."""
        baseline = self._baseline
        found = {name: Verdict("baseline" if name == baseline else "no claim") for name in self.cells}
        if self._target is None or baseline not in self.cells:
            return found
        others = {name: cell.crossings() for name, cell in self.cells.items() if name != baseline}
        return found | compare_all(self.cells[baseline].crossings(), others)

    @property
    def compared(self) -> tuple[int, ComparedCluster]:
        """Return its number of workers, and its part in the comparison over clusters."""
        run = next(iter(self.cells.values())).runs[0]
        return run.workers, ComparedCluster(run.cluster, run.simulated, self.cells, self._verdicts)

    def row(self, name: str) -> Row:
        """Return the row of a variant."""
        cell, first = self.cells[name], self.cells[name].runs[0]
        shares = [
            run.totals.shares
            for run in cell.runs
            if run.state not in FAILED and run.totals is not None and run.totals.shares
        ]

        def estimate(figure: Callable[[RunFigures], float | None], most: float | None = None) -> Interval:
            return _possible(interval(list(cell.finished(figure).values())), most)

        def total(figure: Callable[[PhaseSums], float]) -> Callable[[RunFigures], float | None]:
            return lambda run: None if run.totals is None else figure(run.totals)

        return Row(
            first=first,
            oversubscribed=any(run.oversubscribed for run in cell.runs),
            overlapped=_overlapped(cell.runs),
            runs=len(cell.runs),
            finished=sum(run.state in FINISHED for run in cell.runs),
            failed=sum(run.state in FAILED for run in cell.runs),
            time_to_target=_time_to_target(cell) if self._target else None,
            verdict=self._verdicts[name],
            sentence=self._row_sentence(name),
            accuracy=estimate(lambda run: run.accuracy, 1.0),
            target_accuracy=estimate(lambda run: run.target_accuracy, 1.0),
            best_accuracy=estimate(lambda run: run.best_accuracy, 1.0),
            test_accuracy=estimate(lambda run: run.test_accuracy, 1.0),
            communication_fraction=estimate(lambda run: run.communication_fraction, 1.0),
            hidden=estimate(total(lambda sums: sums.hidden)),
            wire=estimate(total(lambda sums: sums.wire)),
            throughput=estimate(throughput),
            samples=estimate(lambda run: run.samples),
            energy=estimate(lambda run: run.energy),
            energy_shared=sum(
                run.energy_shared and run.energy is not None and run.state in FINISHED for run in cell.runs
            ),
            staleness=estimate(lambda run: run.staleness),
            lost_mass=estimate(lambda run: run.lost_mass, 1.0),
            phases={str(p): statistics.fmean(s[str(p)] for s in shares) for p in PHASES} if shares else {},
        )

    def _row_sentence(self, name: str) -> str:
        baseline, cell, verdict = self._baseline, self.cells[name], self._verdicts[name]
        if name != baseline and baseline in self.cells and self._target is None:
            said = self._without_target()[name]
            return f"No target was set, so there is no time to it. Against {baseline}{_marks(cell)}: {said}."
        unpaired = None
        if baseline not in self.cells:
            run = cell.runs[0]
            unpaired = f"{baseline} did not run on {run.cluster} with {wording.count(run.workers, 'worker')}"
        return wording.sentence(name, baseline, verdict, _marks(cell), unpaired)

    def _without_target(self) -> dict[str, str]:
        """Return the conclusion on each variant for an experiment without a target, paired by seed.

        Claims are corrected for the number of variants: those on throughput, and those on accuracy.
        """
        base = self.cells[self._baseline]
        others = {name: cell for name, cell in self.cells.items() if name != self._baseline}
        compared = {
            n: compare_values(c.finished(throughput), base.finished(throughput)) for n, c in others.items()
        }
        speeds = holm(compared)

        def accuracy(cell: Cell) -> Interval:
            sides = [side.finished(lambda run: run.accuracy) for side in (base, cell)]
            return paired_difference(sides[0], sides[1])

        scores = {name: accuracy(cell) for name, cell in others.items()}
        tested = {n: p for n, each in scores.items() if each.n >= LEAST_PAIRS and (p := p_value(each)) is not None}
        shown = {name for name, p in holm_adjusted(tested).items() if p < 1 - CONFIDENCE}
        judged = {n: replace(speeds[n], unfair=self._verdicts[n].unfair) for n in others}
        return {n: without_target(n, scores[n], judged[n], n in shown, self._diverged(n)) for n in others}

    def _diverged(self, variant: str) -> dict[str, int]:
        """Return of the baseline and a variant those that diverged, with how many seeds."""
        return {name: k for name in (self._baseline, variant) if (k := self.cells[name].diverged)}

    def sentence(self) -> str:
        """Return the conclusions of the group."""
        runs = [run for cell in self.cells.values() for run in cell.runs]
        place = wording.ComparedPlace(
            cluster=runs[0].cluster,
            workers=runs[0].workers,
            simulated=runs[0].simulated,
            oversubscribed=any(run.oversubscribed for run in runs),
            overlapped=_overlapped(runs),
            ended=sum(run.state in TERMINAL for run in runs),
            runs=len(runs),
            failed=Counter(run.variant for run in runs if run.state in FAILED),
            cancelled=Counter(run.variant for run in runs if run.state is RunState.CANCELLED),
        )
        baseline = self._baseline
        if baseline in self._unchosen:
            return f"{place}: no claim: none of the trials of the baseline {baseline} gave a result."
        if baseline not in self.cells:
            return f"{place}: no claim: the baseline {baseline} did not run here."
        if self._target is None:
            said = self._without_target().values()
            return (
                f"{place}, no target was set; against {baseline}, 95% intervals: {'; '.join(said) or 'nothing'}."
            )
        others = [(name, self._verdicts[name]) for name in self.cells if name != baseline]
        target = wording.describe_target(self._target)
        return wording.group_sentence(place, baseline, target, others, self._unchosen)


def _possible(found: Interval, most: float | None) -> Interval:
    """Return an interval clipped to possible values: no figure is negative, and a share is at most 1."""
    low = None if found.low is None else max(0.0, found.low)
    high = found.high if most is None or found.high is None else min(most, found.high)
    return replace(found, low=low, high=high)


def _time_to_target(cell: Cell) -> TimeToTarget:
    crossings = list(cell.crossings().values())
    reached = sorted(c.seconds for c in crossings if c.met)
    all_met = bool(reached) and len(reached) == len(crossings) and reached[0] > 0
    is_known = 2 * len(reached) > len(crossings)  # the median is not among the seeds that missed it
    missed = [float("inf")] * (len(crossings) - len(reached))
    return TimeToTarget(
        mean=statistics.geometric_mean(reached) if all_met else None,
        median=statistics.median([*reached, *missed]) if is_known else None,
        low=reached[0] if reached else None,
        high=reached[-1] if reached else None,
        reached=len(reached),
        n=len(crossings),
    )


def _marks(cell: Cell) -> str:
    marks = ", simulated" if cell.runs[0].simulated else ""
    marks += ", oversubscribed" if any(run.oversubscribed for run in cell.runs) else ""
    return marks + (", overlapped with other runs" if _overlapped(cell.runs) else "")


def _overlapped(runs: Sequence[RunFigures]) -> int:
    return sum(run.overlap is not None for run in runs)
