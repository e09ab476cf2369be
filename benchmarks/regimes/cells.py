"""The search of one method for one task on a number of workers, and its times under every link and spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.common.records import Record
from benchmarks.regimes import store
from benchmarks.regimes.conditions import LAB, TASKS, Plan, Regime, plan_of
from benchmarks.regimes.runs import Run, Todo
from benchmarks.tuned.chosen import CannotChoose
from benchmarks.tuned.conditions import PROPOSED
from benchmarks.tuned.entries import entry_of


@dataclass(frozen=True)
class Cell:
    """One method, task and number of workers, with all records by run."""

    task: str
    workers: int
    method: str
    records: dict[Run, Record]

    @property
    def plan(self) -> Plan:
        """Return how much is made of the task's map."""
        return plan_of(self.task)

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """Return the settings of its trials."""
        return entry_of(self.method).on(TASKS[self.task]).settings(self.plan.trials, self.workers)

    def run(self, trial: int, seed: int, regime: Regime | None = None) -> Run:
        """Return a trajectory, or its times under a link and spread."""
        there = (None, None) if regime is None else (regime.link, regime.jitter)
        return Run(self.task, self.workers, self.method, trial, seed, *there)

    def ranking(self, regime: Regime) -> list[int]:
        """Return the trials, those first that met the target first there, then those that came nearest to it.

        Empty if not all are known; without those that diverged.
        """
        trials = self._trials
        met = [k for k, record in trials.items() if record["met"] is not None]
        clocks = {k: self.records.get(self.run(k, FIRST_TUNING_SEED, regime)) for k in met}
        known = {k: record["seconds"] for k, record in clocks.items() if record is not None}
        if len(trials) < len(self.settings) or len(known) < len(met):
            return []
        rest = {k: record["accuracy"] for k, record in trials.items() if k not in known and not record["diverged"]}
        return [*sorted(known, key=lambda k: known[k]), *sorted(rest, key=lambda k: -rest[k])]

    def chosen(self, regime: Regime) -> int | None:
        """Return the best trial."""
        return next(iter(self.ranking(regime)), None)

    def crossings(self, regime: Regime) -> dict[int, Crossing]:
        """Return the times to the target of the chosen setting, by reported seed."""
        trial, found = self.chosen(regime), {}
        for seed in self._seeds(self.plan.seeds) if trial is not None else ():
            learnt = self.records.get(self.run(trial, seed))
            timed = self.records.get(self.run(trial, seed, regime))
            if learnt is not None and learnt["diverged"]:
                found[seed] = Crossing(0.0, None, diverged=True)
            elif learnt is not None and timed is not None:
                met = learnt["met"] is not None
                after, by = (timed["seconds_before"], timed["seconds"]) if met else (timed["seconds"], None)
                found[seed] = Crossing(after, by)
        return found

    def missing(self, regimes: Sequence[Regime] = (), seeds: int | None = None) -> Iterator[Todo]:
        """Yield what can be carried out now and has no record; without regimes and seeds those of the plan."""
        todo = [self._trajectory(k, FIRST_TUNING_SEED) for k in range(1, len(self.settings) + 1)]
        if lacking := [each for each in todo if each[0] not in self.records]:
            yield from lacking
            return
        for regime in regimes or self.plan.regimes:
            met = [k for k, record in self._trials.items() if record["met"] is not None]
            clocks = [self._times(k, FIRST_TUNING_SEED, regime) for k in met]
            yield from (each for each in clocks if each and each[0] not in self.records)
            trial = self.chosen(regime)
            for seed in self._seeds(self.plan.seeds if seeds is None else seeds) if trial is not None else ():
                following = self._times(trial, seed, regime) or self._trajectory(trial, seed)
                if following[0] not in self.records:
                    yield following

    def _seeds(self, count: int) -> range:
        first = TASKS[self.task].first_seed
        return range(first, first + count)

    @property
    def _trials(self) -> dict[int, Record]:
        runs = {k: self.run(k, FIRST_TUNING_SEED) for k in range(1, len(self.settings) + 1)}
        return {k: self.records[run] for k, run in runs.items() if run in self.records}

    def _trajectory(self, trial: int, seed: int) -> Todo:
        return self.run(trial, seed), self.settings[trial - 1], TASKS[self.task].samples, 0

    def _times(self, trial: int, seed: int, regime: Regime) -> Todo | None:
        """Return the run with the times of a trajectory; None if that is not known, or diverged."""
        learnt = self.records.get(self.run(trial, seed))
        if learnt is None or learnt["diverged"]:
            return None
        end = learnt["met"] or learnt["before"]
        return self.run(trial, seed, regime), self.settings[trial - 1], end, learnt["before"]


def proposals(path: Path, task: str, workers: int, method: str) -> list[int]:
    """Return the best trials of an entry in virtual time on a network like the emulated hosts', the best first.

    Raises CannotChoose where trials were ended early (`bounded`): of these only the best one is known.
    """
    cell = Cell(task, workers, method, store.read(path))
    if any("ended" in record for record in cell._trials.values()):
        raise CannotChoose(f"trials of {method} in {path.name} were ended early: only the best of them is known")
    return cell.ranking(LAB)[:PROPOSED]
