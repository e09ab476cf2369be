"""The map over networks: for every link and spread of speeds, the best of the same trials of every entry.

What the trials have learnt is published already; only their clocks are computed for each cell, in closed form.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hooke.catalogue.workload import workload
from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import LEAST_PAIRS, Verdict, compare, holm

from benchmarks.evidence.conditions import Place
from benchmarks.regimes.clocks import Link, clocks
from benchmarks.regimes.learnt import SOURCES, Learnt, Source, Trials
from benchmarks.tuned.entries import elastic, entry_of

Record = Mapping[str, Any]
LINKS: Mapping[str, Link] = {
    "100 Mb/s, 20 ms": Link(20e-3, 80e-9),
    "100 Mb/s": Link(50e-6, 80e-9),
    "1 Gb/s, 5 ms": Link(5e-3, 8e-9),
    "1 Gb/s": Link(10e-6, 8e-9),
    "10 Gb/s": Link(10e-6, 0.8e-9),
    "100 Gb/s": Link(2e-6, 0.08e-9),
}
"""One direction; a latency is named where it is that of another place or country."""
SPREADS = ("jitter 0.05", "jitter 0.5", "jitter 1", "1% ten times as long", "one worker at half speed")
"""Log-normal jitter of each gradient, by its sigma; 0.05 in the last two as well."""
LAN, EQUAL = "1 Gb/s", SPREADS[0]
SHOWN = ("faster", "slower", "at least", "at most", "same")
"""Claims."""


def constants(spread: str, workers: int) -> dict[str, Any]:
    """Return the constants of a virtual cluster with this spread of speeds."""
    if spread.startswith("jitter"):
        return {"compute_jitter": float(spread.split()[1])}
    if spread == SPREADS[3]:
        return {"straggling": 0.01, "straggling_factor": 10}
    return {"speeds": (0.5, *(1.0,) * (workers - 1))}


def computed(source: Source, trials: Trials) -> Iterator[dict[str, Any]]:
    """Yield the record of every run of a source, with its clocks in all cells if it has any that count."""
    for run in trials.runs():
        tuning = trials.tried[run.entry].get(run.trial) is run
        about = {"source": source.name, "entry": run.entry, "trial": run.trial, "seed": run.seed, "tuning": tuning}
        found = about | {"met": run.met, "diverged": run.diverged, "samples": run.samples}
        if run.diverged or (tuning and not run.met) or run.samples is None:
            yield found
            continue
        by, before = clocks(document(source, run), elements(source), [*LINKS.values()], spreads(source))
        yield found | {"seconds": _short(by), "before": _short(before)}


def document(source: Source, run: Learnt, collective: Any = "halving") -> dict[str, Any]:
    """Return the virtual run that ends with the evaluation at which `run` met its target."""
    task = replace(source.of, collective=collective)
    place = Place(source.name, source.name, "virtual", source.workers)
    made = entry_of(run.entry).on(task).document(task, place, run.parameters, run.samples or 0, run.seed)
    return made | {"target": None}


def elements(source: Source) -> int:
    """Return the number of weights of a source's model."""
    return weights(source.of.workload)


def weights(name: str) -> int:
    """Return the number of weights of a workload's model."""
    sizes = workload(name)().memory_sizes()
    assert sizes is not None  # noqa: S101 - of the workloads of SOURCES it is known
    return sizes.weights


def spreads(source: Source) -> list[dict[str, Any]]:
    """Return the constants of all spreads, with the pace of the workers where the source has one."""
    pace = {} if source.pace is None else {"compute_seconds_per_sample": source.pace}
    return [constants(spread, source.workers) | pace for spread in SPREADS]


def _short(seconds: Any) -> list[list[float]]:
    """Return clocks by spread and link, to seven figures."""
    return [[float(f"{each:.7g}") for each in row] for row in seconds]


@dataclass(frozen=True)
class Side:
    """The best trial of an entry in a cell, with its times there."""

    entry: str
    trial: int
    seconds: float
    """On the tuning seed, where it was chosen."""
    crossings: Mapping[int, Crossing]
    """Of reported seeds, if it has as many as a claim needs; else none."""

    @property
    def mean(self) -> float | None:
        """Return the geometric mean over reported seeds; None if there are none, or any missed the target."""
        times = [each.by for each in self.crossings.values() if each.by is not None]
        return statistics.geometric_mean(times) if times and len(times) == len(self.crossings) else None


@dataclass(frozen=True)
class Cell:
    """A link and a spread: the fastest elastic entry and the fastest other one by the tuning seed, and all."""

    source: Source
    spread: str
    link: str
    sides: Mapping[str, Side]

    @property
    def elastic(self) -> Side | None:
        """Return the fastest elastic entry."""
        return min((s for n, s in self.sides.items() if elastic(n)), key=lambda s: s.seconds, default=None)

    @property
    def other(self) -> Side | None:
        """Return the fastest of all other entries."""
        return min((s for n, s in self.sides.items() if not elastic(n)), key=lambda s: s.seconds, default=None)

    @property
    def verdict(self) -> Verdict | None:
        """Return the verdict on the elastic side, not corrected; None without enough reported seeds of both."""
        mine, other = self.elastic, self.other
        if mine is None or other is None or len(mine.crossings.keys() & other.crossings.keys()) < LEAST_PAIRS:
            return None
        return compare(other.crossings, mine.crossings)

    @property
    def ratio(self) -> float | None:
        """Return how many times as long the other side takes: on the reported seeds if all met the target, else on
        the tuning seed; None without an elastic side."""
        mine, other, verdict = self.elastic, self.other, self.verdict
        if mine is None or other is None:
            return None
        return (
            verdict.ratio if verdict and verdict.ratio and not verdict.censored else other.seconds / mine.seconds
        )


def judged(of: Sequence[Cell]) -> dict[int, Verdict]:
    """Return the verdicts on the cells of one comparison that have enough seeds, corrected for their number."""
    found = {n: verdict for n, cell in enumerate(of) if (verdict := cell.verdict)}
    return dict(holm(found)) if found else {}


def cells(source: Source, records: Iterable[Record]) -> list[Cell]:
    """Return all cells of a source, spread by spread."""
    own = [record for record in records if record["source"] == source.name]
    return [
        Cell(source, spread, link, {entry: side for entry in _entries(own) if (side := _best(own, entry, i, j))})
        for i, spread in enumerate(SPREADS)
        for j, link in enumerate(LINKS)
    ]


def _entries(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record["entry"] for record in records))


def _best(records: Sequence[Record], entry: str, i: int, j: int) -> Side | None:
    own = [record for record in records if record["entry"] == entry]
    tried = [record for record in own if record["tuning"] and record["met"]]
    best = min(tried, key=lambda record: record["seconds"][i][j], default=None)
    if best is None:
        return None
    again = [record for record in own if not record["tuning"] and record["trial"] == best["trial"]]
    found = {record["seed"]: _crossing(record, i, j) for record in again}
    return Side(entry, best["trial"], best["seconds"][i][j], found if len(found) >= LEAST_PAIRS else {})


def _crossing(record: Record, i: int, j: int) -> Crossing:
    if record["diverged"] or "seconds" not in record:
        return Crossing(0.0, None, diverged=True)
    seconds, before = record["seconds"][i][j], record["before"][i][j]
    return Crossing(before, seconds) if record["met"] else Crossing(seconds, None)


def sources(records: Iterable[Record]) -> list[Source]:
    """Return the sources of which there are an elastic entry and another one."""
    known = {(record["source"], elastic(record["entry"])) for record in records if record["met"]}
    return [source for source in SOURCES if {(source.name, True), (source.name, False)} <= known]
