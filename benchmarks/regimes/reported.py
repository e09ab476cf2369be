"""Chosen settings on reported seeds in simulated time: what hosts or trajectories have learnt, and its clocks.

What a synchronous method learns depends on no clock. The samples after which an entry met the target are therefore
those of its published runs on hosts with a core each, if it has any, else of trajectories. All clocks are computed
in closed form, with the link and the gradients of the virtual time that chose the settings.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare_all
from hooke.comparison.wording import short

from benchmarks.regimes import store
from benchmarks.regimes.cells import Cell
from benchmarks.regimes.clocks import Link, clocks
from benchmarks.regimes.conditions import LAB, TASKS
from benchmarks.regimes.learnt import PROPOSALS, timed
from benchmarks.regimes.networks import weights
from benchmarks.tuned.conditions import AT, SEEDS
from benchmarks.tuned.entries import DDP_BF16

HEADER = (
    "| entry | trial | thousand samples, by seed | simulated seconds, by seed | exposed | over DDP, bf16 hook |\n"
    "|---|---|---|---|---|---|"
)
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Reported:
    """An entry's chosen setting and, by seed, the samples of its evaluation that met the target; None: missed."""

    cell: Cell
    trial: int
    parameters: Mapping[str, Any]
    samples: Mapping[int, int | None]

    def crossings(self) -> dict[int, Crossing]:
        """Return the simulated times to the target by seed."""
        found = {}
        for seed, samples in self.samples.items():
            before, by = self._clocks(seed, samples or TASKS[self.cell.task].samples)
            found[seed] = Crossing(before, by) if samples else Crossing(by, None)
        return found

    def exposed(self, crossings: Mapping[int, Crossing]) -> float:
        """Return the mean share of its time in which a worker computes no gradient, over the seeds that met it."""
        document = self._document(0, TASKS[self.cell.task].every)
        per_sample = document["virtual"]["compute_seconds_per_sample"] / self.cell.workers
        busy = [(samples * per_sample, crossings[seed].by) for seed, samples in self.samples.items() if samples]
        return statistics.fmean(1 - own / by for own, by in busy if by)

    def line(self, crossings: Mapping[int, Crossing], told: str) -> str:
        """Return its row of the table."""
        samples = ", ".join("missed" if n is None else f"{n / 1000:.0f}" for n in self.samples.values())
        seconds = ", ".join("missed" if each.by is None else f"{each.by:.1f}" for each in crossings.values())
        met = any(self.samples.values())
        share = f"{self.exposed(crossings):.0%}" if met else "-"
        return f"| {self.cell.method} | {self.trial} | {samples} | {seconds} | {share} | {told} |"

    def _document(self, seed: int, samples: int) -> dict[str, Any]:
        return self.cell.run(self.trial, seed, LAB).document(self.parameters, samples)

    def _clocks(self, seed: int, samples: int) -> tuple[float, float]:
        """Return the clocks of the evaluation before the one that met the target, and of that one, s."""
        document = self._document(seed, samples)
        link = Link(document["virtual"]["latency"], document["virtual"]["seconds_per_byte"])
        by, before = clocks(document, weights(TASKS[self.cell.task].workload), [link], [{}])
        return float(before[0, 0]), float(by[0, 0])


def table(task: str, tuned: Iterable[Record], workers: int = 8, folder: Path = PROPOSALS) -> str:
    """Return the entries with trials of their own and SEEDS reported seeds, the fastest first."""
    found = {each.cell.method: each for each in entries(task, list(tuned), workers, folder)}
    times = {name: each.crossings() for name, each in found.items()}
    baseline = times.get(DDP_BF16.name, {})
    said = compare_all(baseline, {name: own for name, own in times.items() if name != DDP_BF16.name})
    told = {name: f"{each.claim}: {short(name, each)}" for name, each in said.items()} | {DDP_BF16.name: "-"}
    order = sorted(found, key=lambda name: _order(times[name]))
    return "\n".join([HEADER, *(found[name].line(times[name], told[name]) for name in order)])


def entries(task: str, tuned: list[Record], workers: int, folder: Path) -> Iterator[Reported]:
    """Yield the entries: with the setting that hosts have run, else with the fastest of their trials."""
    records = store.read(folder / f"{task}-{workers}-workers.jsonl")
    named = dict.fromkeys(run.method for run in records if timed(run.method))
    first = TASKS[task].first_seed
    seeds = range(first, first + SEEDS)
    chosen = _chosen(folder / f"{task}-{workers}-hosts-chosen.json")
    for method in named:
        cell = Cell(task, workers, method, records)
        trial = chosen.get(method) or cell.chosen(LAB)
        if trial is None:
            continue
        hosts = {each["seed"]: each["samples_to_target"] for each in _of_hosts(tuned, task, workers, method)}
        runs = {seed: records.get(cell.run(trial, seed)) for seed in seeds}
        own = {seed: run["met"] for seed, run in runs.items() if run is not None}
        samples = hosts if hosts.keys() >= set(seeds) else own
        if samples.keys() >= set(seeds):
            yield Reported(cell, trial, cell.settings[trial - 1], {seed: samples[seed] for seed in seeds})


def _chosen(path: Path) -> dict[str, int]:
    found = json.loads(path.read_text())["entries"] if path.exists() else []
    return {each["entry"]: each["trial"] for each in found if not each.get("unfair") and not each.get("fewer")}


def _of_hosts(tuned: list[Record], task: str, workers: int, method: str) -> Iterator[Record]:
    for each in tuned:
        own = (each["task"], each["entry"], each["rung"]) == (task, method, None) and not each.get("repeats")
        place, cores = AT[each["place"]], each["hardware"]["cores"]
        if own and place.world != "virtual" and place.hosts == workers <= cores:
            yield each


def _order(crossings: Mapping[int, Crossing]) -> tuple[int, float]:
    times = [each.by for each in crossings.values() if each.by is not None]
    return len(crossings) - len(times), statistics.geometric_mean(times) if times else 0.0
