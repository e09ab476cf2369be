"""The search for one variant's setting at one place: trials, rungs of successive halving, and the choice.

A trial is a setting; on each rung it runs once per tuning seed, with the budget of the rung. The better half goes
on to the next rung, which has twice the budget (Jamieson and Talwalkar 2016, arXiv 1502.07943); all rungs are the
same for every variant. Schedules of the learning rate run over the whole budget on each rung. So a trial that met
the target within its budget is not run again: with a larger one it would take the same time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hooke.spec.specification import ExperimentSpec

LEAST_ON_LAST_RUNG = 3
"""Trials that are compared with the whole budget."""
FIRST_TUNING_SEED = 1_000_003
"""Tuning seeds begin this far above the experiment's first seed, of which it has at most 100."""


@dataclass(frozen=True)
class Rung:
    """A stage of the search."""

    trials: int
    samples: int
    """Budget of each of its runs."""


@dataclass(frozen=True, order=True)
class TrialKey:
    """One run of a search: its trial (from 1), rung (from 0) and seed."""

    trial: int
    rung: int
    seed: int


@dataclass(frozen=True)
class TrialResult:
    """What one run of a search has shown; `quality` is None if it failed or diverged."""

    seconds: float | None
    """Train clock at which it met the target."""
    quality: float | None
    """Of its last evaluation: accuracy, or minus the loss."""
    had_budget: bool = True
    """Whether it ended as it would again: not if it was cancelled, or lost its machine."""


Known = Mapping[TrialKey, TrialResult | None]
"""The runs created so far; None: not ended."""
Score = tuple[int, float, float, int]
"""Orders trials, the best first: seeds that missed the target, seconds, minus quality, number of the trial."""


def tuning_seeds(spec: ExperimentSpec) -> list[int]:
    """Return the seeds of trials, which no reported run has."""
    count = spec.tuning.seeds if spec.tuning else 0
    return [spec.first_seed + FIRST_TUNING_SEED + k for k in range(count)]


def rungs(spec: ExperimentSpec) -> list[Rung]:
    """Return the stages of every search of an experiment with tuning."""
    tuning = spec.tuning
    assert tuning is not None  # noqa: S101 - for the type checker: callers have checked it
    samples = tuning.samples or spec.budget.samples
    halvings = 0
    if tuning.search == "halving":
        halvings = max(0, int(math.log2(tuning.trials / LEAST_ON_LAST_RUNG)))
    return [
        Rung(math.ceil(tuning.trials / 2**k), math.ceil(samples / 2 ** (halvings - k)))
        for k in range(halvings + 1)
    ]


@dataclass(frozen=True)
class Bracket:
    """Trials that pass the same rungs together: those of one experiment."""

    first: int
    """The number of its first trial."""
    trials: int
    rungs: list[Rung]
    seeds: list[int]

    def missing(self, known: Known) -> list[TrialKey]:
        """Return the runs to be created now: those of the first rung that is not complete, unless they exist."""
        alive: Sequence[int] = self._numbers
        for k, rung in enumerate(self.rungs):
            alive = alive[: rung.trials]
            keys = self._keys(alive, k, known)
            if lacking := [key for key in keys if key not in known]:
                return lacking
            if any(known[key] is None for key in keys):
                return []
            alive = self._ranked(alive, k, known)
        return []

    def ended(self, known: Known) -> bool:
        """Return whether all its runs exist and have ended."""
        own = (result for key, result in known.items() if key.trial in self._numbers)
        return not self.missing(known) and all(result is not None for result in own)

    def passed(self, known: Known) -> list[list[tuple[Score, int]]]:
        """Return the trials with results on each rung, with their scores there, the best first.

        The rungs are those with the largest budget first, on which brackets agree; those not reached are empty.
        """
        alive: Sequence[int] = self._numbers
        found: list[list[tuple[Score, int]]] = [[] for _ in self.rungs]
        for k, rung in enumerate(self.rungs):
            alive = alive[: rung.trials]
            ranked = self._ranked([each for each in alive if self.results(each, known, k)], k, known)
            found[-1 - k] = [(self._score(each, k, known), each) for each in ranked]
            if any(known.get(key) is None for key in self._keys(alive, k, known)):
                break
            alive = ranked
        return found

    def results(self, trial: int, known: Known, rung: int | None = None) -> list[TrialResult]:
        """Return the latest results of a trial up to a rung (None: the last), one per seed that has any."""
        last = len(self.rungs) - 1 if rung is None else rung
        latest = [
            next((r for k in range(last, -1, -1) if (r := known.get(TrialKey(trial, k, seed)))), None)
            for seed in self.seeds
        ]
        return [each for each in latest if each is not None]

    def has(self, trial: int) -> bool:
        """Return whether a trial is one of its own."""
        return trial in self._numbers

    @property
    def _numbers(self) -> range:
        return range(self.first, self.first + self.trials)

    def _keys(self, trials: Sequence[int], rung: int, known: Known) -> list[TrialKey]:
        """Return the runs of trials on a rung that are not decided by an earlier one."""
        return [
            TrialKey(trial, rung, seed)
            for trial in trials
            for seed in self.seeds
            if not any(_met(known.get(TrialKey(trial, k, seed))) for k in range(rung))
        ]

    def _ranked(self, trials: Sequence[int], rung: int, known: Known) -> list[int]:
        return sorted(trials, key=lambda trial: self._score(trial, rung, known))

    def _score(self, trial: int, rung: int, known: Known) -> Score:
        results = self.results(trial, known, rung)
        times = [each.seconds for each in results if each.seconds is not None]
        qualities = [-math.inf if each.quality is None else each.quality for each in results]
        missed = len(self.seeds) - len(times)
        # a few seeds that met the target say nothing of the time with the others
        seconds = _geometric(times) if times and not missed else math.inf
        return missed, seconds, -statistics.fmean(qualities) if qualities else math.inf, trial


@dataclass(frozen=True)
class Search:
    """The search of one variant at one place: its own trials, after those of experiments that it continues."""

    own_trials: int
    rungs: list[Rung]
    seeds: list[int]
    earlier: tuple[Bracket, ...] = ()
    """Trials of earlier experiments, numbered before its own. They have ended."""
    to_come: bool = False
    """Whether trials will be added when these have ended, because their settings depend on the results."""

    @property
    def trials(self) -> int:
        """Return the number of all its trials."""
        return sum(each.trials for each in self._brackets)

    @property
    def earlier_trials(self) -> int:
        """Return the number of trials of the experiments that it continues."""
        return sum(each.trials for each in self.earlier)

    def missing(self, known: Known) -> list[TrialKey]:
        """Return the runs to be created now: those of the first rung that is not complete, unless they exist."""
        return self._own.missing(known)

    def ended(self, known: Known) -> bool:
        """Return whether all its runs exist and have ended."""
        return not self.to_come and all(each.ended(known) for each in self._brackets)

    def ranking(self, known: Known) -> list[int]:
        """Return the trials, the best first: those that came furthest, and of these the best scores.

        Trials without any result are left out. Rungs of different brackets with the same budget count as one.
        """
        of_brackets = [each.passed(known) for each in self._brackets]
        order: list[int] = []
        for level in range(max(map(len, of_brackets))):
            scored = [item for passed in of_brackets for item in passed[level : level + 1]]
            order += [trial for _, trial in sorted(item for each in scored for item in each)]
        return list(dict.fromkeys(order))

    def chosen(self, known: Known) -> int | None:
        """Return the best trial of a search that has ended; None if none gave a result."""
        return next((trial for trial in self.ranking(known) if self.usable(trial, known)), None)

    def usable(self, trial: int, known: Known) -> bool:
        """Return whether no run of a trial failed or diverged."""
        results = self._results(trial, known)
        return bool(results) and all(each.seconds is not None or each.quality is not None for each in results)

    def seconds(self, trial: int, known: Known) -> float | None:
        """Return the geometric mean of a trial's times to the target, s; None if a seed missed it."""
        found = [each.seconds for each in self._results(trial, known)]
        times = [each for each in found if each is not None]
        return _geometric(times) if times and len(times) == len(found) else None

    def times(self, known: Known) -> list[float | None]:
        """Return the time to the target of each trial that had its budget, s; None of one that missed it."""
        told = [trial for trial in self.ranking(known) if all(r.had_budget for r in self._results(trial, known))]
        return [self.seconds(trial, known) for trial in told]

    @property
    def _own(self) -> Bracket:
        return Bracket(self.earlier_trials + 1, self.own_trials, self.rungs, self.seeds)

    @property
    def _brackets(self) -> tuple[Bracket, ...]:
        return (*self.earlier, self._own)

    def _results(self, trial: int, known: Known) -> list[TrialResult]:
        return next((each.results(trial, known) for each in self._brackets if each.has(trial)), [])


def share_met(times: Sequence[float | None]) -> float | None:
    """Return the share of trials that met the target, from their times; None without any."""
    return sum(each is not None for each in times) / len(times) if times else None


def median_time(times: Sequence[float | None]) -> float | None:
    """Return the median of the times to the target; trials that missed it took longer than all others."""
    median = statistics.median(math.inf if each is None else each for each in times) if times else math.inf
    return median if math.isfinite(median) else None


def _met(result: TrialResult | None) -> bool:
    return result is not None and result.seconds is not None


def _geometric(times: list[float]) -> float:
    """Return the geometric mean; a target met by the initial weights has time 0."""
    return math.exp(statistics.fmean(math.log(max(each, 1e-9)) for each in times))
