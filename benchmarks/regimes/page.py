"""The page: where the fastest elastic method is faster than the fastest other one."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import Verdict, compare, holm
from hooke.comparison.wording import short

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.regimes import networks_page
from benchmarks.regimes.cells import Cell
from benchmarks.regimes.conditions import METHODS, TASKS, Regime, plan_of
from benchmarks.regimes.real import Point
from benchmarks.regimes.runs import Run
from benchmarks.tuned.conditions import BATCH
from benchmarks.tuned.entries import elastic

INTRODUCTION = f"""\
All figures are **simulated**: virtual seconds until the target was met on the validation part, with constants
that are assumptions (160 us per sample; batch {BATCH} per worker; bf16 on the wire with error feedback).
All-reduces go along a binomial tree, the paper's schedule; by recursive halving, the product's default, the order
of methods may be another one ([decision 109](../decisions/0109-simulated-rivals.md)). *Jitter* is the sigma of the
log-normal factor on the time of each gradient. All workers stop at evaluations, and those that ran ahead wait: of
the digits, evaluated every 2.5 or 5 steps of 8 workers, Local SGD takes 1.6 or 1.3 times as long with jitter 1 as
between rare evaluations, Sync SGD as long ([decision
166](../decisions/0166-what-evaluations-cost-workers-that-run-ahead.md)). So methods with local steps are shown too
slow there. Each method has the same number of trials with
the whole budget, at settings drawn from the space that it declares, on a seed that no result has; the one that met
the target first under a link and jitter is measured on other seeds. Seconds are geometric means over them.
Verdicts follow [the rule](../decisions/0020-one-rule-of-verdict.md): 95%, paired by seed, corrected for the number
of rows, but not for the choice of the two methods that a row compares. Real hosts:
[the tuned comparison](tuned.md)."""


@dataclass(frozen=True)
class Row:
    """The fastest elastic method and the fastest other one for a number of workers, a link and a spread."""

    workers: int
    regime: Regime
    elastic: str
    other: str
    times: Mapping[str, Mapping[int, Crossing]]
    seeds: int

    def mean(self, method: str) -> float | None:
        """Return the geometric mean of a method's times; None unless all seeds met the target."""
        found = [each.by for each in self.times[method].values() if each.by is not None]
        return statistics.geometric_mean(found) if len(found) == self.seeds else None

    def seconds(self, method: str) -> str:
        """Return the geometric mean of a method's times, or the number of seeds that met the target."""
        if (mean := self.mean(method)) is not None:
            return f"{mean:.3g}"
        return f"{sum(each.by is not None for each in self.times[method].values())} of {self.seeds} met it"


def rows(task: str, records: dict[Run, Record]) -> list[Row]:
    """Return all rows of a task of which both sides are complete."""
    found, plan = [], plan_of(task)
    for workers in sorted({run.workers for run in records if run.task == task}):
        cells = {method: Cell(task, workers, method, records) for method in METHODS}
        for regime in plan.regimes:
            times = {method: cell.crossings(regime) for method, cell in cells.items()}
            times = {method: each for method, each in times.items() if len(each) == plan.seeds}
            mine = min((m for m in times if elastic(m)), key=lambda m: _order(times[m]), default=None)
            other = min((m for m in times if not elastic(m)), key=lambda m: _order(times[m]), default=None)
            if mine and other:
                found.append(Row(workers, regime, mine, other, times, plan.seeds))
    return found


def _order(crossings: Mapping[int, Crossing]) -> tuple[int, float]:
    met = [each.by for each in crossings.values() if each.by is not None]
    return len(crossings) - len(met), statistics.geometric_mean(met) if met else 0.0


def page(records: dict[Run, Record], networks: Sequence[Record] = (), points: Sequence[Point] = ()) -> str:
    """Return the page; `networks`: records of the map over networks, `points`: what hosts have measured of it."""
    found = {task: rows(task, records) for task in TASKS}
    found = {task: each for task, each in found.items() if each}
    verdicts = {task: _verdicts(each) for task, each in found.items()}
    lines = [
        "# Where is elastic averaging faster?",
        "",
        "<!-- written by `python -m benchmarks.regimes publish` -->",
    ]
    lines += [networks_page.answer(networks), ""] if networks else []
    lines += [_conclusion([v for each in verdicts.values() for v in each]), "", INTRODUCTION]
    for task, each in found.items():
        title = f"## {TASKS[task].title} to {TASKS[task].target:.1%} (simulated)"
        plan = plan_of(task)
        effort = f"{plan.trials} trials of every method, {plan.seeds} seeds of the result."
        lines += ["", title, "", effort, "", *_against(each, verdicts[task]), "", *_all(each), "", *_spread(each)]
    further = networks_page.section(networks, points)
    return "\n".join([*lines, *(["", *further] if further else [])]) + "\n"


def _verdicts(found: Sequence[Row]) -> list[Verdict]:
    judged = {n: compare(row.times[row.other], row.times[row.elastic]) for n, row in enumerate(found)}
    return [verdict for _, verdict in sorted(holm(judged).items())]


def _conclusion(verdicts: Sequence[Verdict]) -> str:
    counts = Counter(verdict.claim for verdict in verdicts)
    said = ", ".join(f"{counts[claim]} {claim}" for claim in sorted(counts))
    return (
        f"**The fastest elastic method, over the fastest of all others, in {len(verdicts)} simulated conditions: "
        f"{said}.**"
    )


def _against(found: Sequence[Row], verdicts: Sequence[Verdict]) -> Iterable[str]:
    header = ("workers", "link", "jitter", "fastest elastic, s", "fastest other, s", "verdict")
    lines = []
    for row, verdict in zip(found, verdicts, strict=True):
        sides = (f"{method} {row.seconds(method)}" for method in (row.elastic, row.other))
        said = f"{verdict.claim}: {short(row.elastic, verdict)}"
        lines.append((str(row.workers), row.regime.link, f"{row.regime.jitter:g}", *sides, said))
    return table(header, lines)


def _all(found: Sequence[Row]) -> Iterable[str]:
    header = ("method", *(f"{row.workers} w., {row.regime.link}, {row.regime.jitter:g}" for row in found))
    methods = [method for method in METHODS if any(method in row.times for row in found)]
    return table(header, ((m, *(row.seconds(m) if m in row.times else "" for row in found)) for m in methods))


def _spread(found: Sequence[Row]) -> Iterable[str]:
    """Yield what every jitter costs a method: its seconds over those with the least one, geometric means."""
    jitters = sorted({row.regime.jitter for row in found})
    yield f"Seconds over those with jitter {jitters[0]:g}, geometric mean over workers and links with both:"
    yield ""
    at = {(row.workers, row.regime.link, row.regime.jitter): row for row in found}
    lines = []
    for method in METHODS:
        ratios: dict[float, list[float]] = {jitter: [] for jitter in jitters[1:]}
        for (workers, link, jitter), row in at.items():
            least = at.get((workers, link, jitters[0]))
            here = row.mean(method) if method in row.times else None
            base = least.mean(method) if least is not None and method in least.times else None
            if jitter in ratios and here and base:
                ratios[jitter].append(here / base)
        said = [f"{statistics.geometric_mean(each):.2f}" if each else "-" for each in ratios.values()]
        lines.append((method, *said))
    yield from table(("method", *(f"jitter {jitter:g}" for jitter in jitters[1:])), lines)
