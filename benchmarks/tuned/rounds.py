"""Which runs follow: trials rung by rung, the same for every entry, then the chosen setting on reported seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hooke.catalogue.validation import validate_experiment
from hooke.tuning.search import Known, Rung, Search, TrialKey, TrialResult, rungs, tuning_seeds
from hooke.tuning.settings import edges

from benchmarks.evidence.cells import key_of
from benchmarks.tuned.conditions import PROPOSING, SEEDS, TRIALS, TUNING_SEEDS, Place, Task
from benchmarks.tuned.entries import Entry
from benchmarks.tuned.rules import RULE, overlaps


@dataclass(frozen=True)
class Play:
    """One run of an entry. `trial` is the number of its setting, from 1; `rung` None: the run is reported."""

    task: Task
    place: Place
    entry: Entry
    trial: int
    rung: int | None
    seed: int
    parameters: dict[str, Any]
    document: dict[str, Any]
    effort: str
    """The search that it is part of, in words."""
    tuning: int = 1
    """Seeds of each trial: runs of searches with other numbers are not mixed."""
    repeats: Mapping[str, Any] = field(default_factory=dict)
    """What it repeats by another collective (`benchmarks.tuned.repeated`): that collective, and samples and
    seconds to the target of the published run."""
    unfair: str = ""
    """Why there is no verdict on its entry (`benchmarks.tuned.chosen`)."""
    fewer: str = ""
    """How its entry was tuned less than the others, so that it is not called slower."""
    pinned: bool = False
    """Whether its ranks are forks, pinned to a core each (`netlab.warm`)."""
    group: int = 0
    """Reported runs of a lower group come first."""

    @cached_property
    def key(self) -> str:
        """Return what identifies a result: also the rule of the clock, where it matters."""
        more: dict[str, Any] = {"rule": RULE} if overlaps(self.entry.method, self.parameters) else {}
        more |= {"tuning": self.tuning} if self.tuning > 1 else {}
        more |= {"repeated": self.repeats["collective"]} if self.repeats else {}
        return key_of(self.place, self.document | more)

    @property
    def edges(self) -> list[str]:
        """Return the searched parameters that lie at an end of their space."""
        return list(edges(self.parameters, self.entry.variant, self.entry.offer))

    @property
    def title(self) -> str:
        """Return a title that identifies the run."""
        what = f"seed {self.seed}" if self.rung is None else f"trial {self.trial}, rung {self.rung}"
        again = f", again by {self.repeats['collective']}" if self.repeats else ""
        return f"{self.entry.name}, {self.task.name}, {self.place.name}, {what}{again}"


class Rounds:
    """The search of one entry for one task at one place, and its reported runs."""

    def __init__(
        self,
        task: Task,
        place: Place,
        entry: Entry,
        trials: int = TRIALS,
        seeds: int = SEEDS,
        tuning: int = TUNING_SEEDS,
    ) -> None:
        """`seeds`: reported ones; `tuning`: those of every trial."""
        self.task, self.place, self.entry, self.seeds = task, place, entry.on(task), seeds
        self.tuning = tuning
        self.settings = self.entry.settings(trials, place.hosts)
        spec = _effort(task, trials, tuning)
        self.search = Search(len(self.settings), rungs(spec), tuning_seeds(spec))
        self.effort = f"{trials} trials by successive halving{_each(tuning)}"

    def known(self, results: Mapping[str, Mapping[str, Any]]) -> Known:
        """Return the results of its trials, from stored ones by key."""
        found: dict[TrialKey, TrialResult | None] = {}
        while missing := self.search.missing(found):
            there = {key: results.get(self.trial(key).key) for key in missing}
            found |= {key: outcome(result) for key, result in there.items() if result is not None}
            if None in there.values():
                break
        return found

    def missing(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        """Yield the runs that can be carried out now and have no result."""
        known = self.known(results)
        trials = self.search.missing(known)
        yield from (self.trial(key) for key in trials)
        if not trials:
            yield from self._reported_missing(known, results)

    def _reported_missing(self, known: Known, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        chosen = self.search.chosen(known)
        if chosen is not None:
            plays = (self.reported(chosen, seed) for seed in range(self.seeds))
            yield from (play for play in plays if play.key not in results)

    def trial(self, key: TrialKey) -> Play:
        """Return one run of a trial."""
        return self._play(key.trial, key.rung, key.seed, self.search.rungs[key.rung].samples)

    def reported(self, trial: int, seed: int) -> Play:
        """Return the run of a chosen setting with a reported seed."""
        return self._play(trial, None, seed, self.task.samples)

    def _play(self, trial: int, rung: int | None, seed: int, samples: int) -> Play:
        parameters = self.settings[trial - 1]
        document = self.entry.document(self.task, self.place, parameters, samples, seed)
        return Play(
            self.task, self.place, self.entry, trial, rung, seed, parameters, document, self.effort, self.tuning
        )


class Proposed(Rounds):
    """The trials that a search in virtual time proposes, each with the whole budget; reported runs of the best."""

    def __init__(
        self,
        task: Task,
        place: Place,
        entry: Entry,
        proposals: Sequence[int],
        seeds: int = SEEDS,
        tuning: int = TUNING_SEEDS,
    ) -> None:
        """`proposals`: numbers of its PROPOSING trials."""
        super().__init__(task, place, entry, PROPOSING, seeds, tuning)
        self.search = Search(len(self.settings), [Rung(len(self.settings), task.samples)], self.search.seeds)
        best = f"on the hosts the best {len(proposals)}{_each(tuning)}"
        self.effort = f"{PROPOSING} trials in virtual time (simulated), and {best}"
        self._keys = [TrialKey(trial, 0, seed) for trial in proposals for seed in self.search.seeds]

    def known(self, results: Mapping[str, Mapping[str, Any]]) -> Known:
        """Return the results of the proposed trials."""
        there = {key: results.get(self.trial(key).key) for key in self._keys}
        return {key: outcome(result) for key, result in there.items() if result is not None}

    def missing(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        """Yield the runs that can be carried out now and have no result."""
        known = self.known(results)
        lacking = [key for key in self._keys if key not in known]
        yield from (self.trial(key) for key in lacking)
        if not lacking:
            yield from self._reported_missing(known, results)


def outcome(result: Mapping[str, Any]) -> TrialResult:
    """Return what a stored result says of a trial."""
    return TrialResult(result["time_to_target"], None if result.get("diverged") else result["validation_accuracy"])


def _each(tuning: int) -> str:
    return f", each with {tuning} tuning seeds" if tuning > 1 else ""


def _effort(task: Task, trials: int, tuning: int) -> Any:
    """Return an experiment with this effort: the engine's rule determines its rungs and tuning seeds."""
    return validate_experiment(
        {
            "name": task.name,
            "workload": {"name": task.workload},
            "variants": [{"name": "any", "algorithm": "sync-sgd"}],
            "baseline": "any",
            "clusters": [{"name": "local", "workers": [2], "seeds": SEEDS}],
            "budget": {"samples": task.samples},
            "target": {"value": task.target},
            "evaluation": {"every": task.every},
            "tuning": {"trials": trials, "search": "halving", "seeds": tuning},
        }
    )
