"""Which runs follow: trials rung by rung, the same for every layer, then the chosen setting on reported seeds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hooke.catalogue.validation import validate_experiment
from hooke.tuning.search import Known, Search, TrialKey, TrialResult, rungs, tuning_seeds
from hooke.tuning.settings import edges

from benchmarks.slide.conditions import LAYERS, SPACES, TRIAL_TEST_ITEMS, Layer, Problem, Size


@dataclass(frozen=True)
class Play:
    """One run of a layer. `trial`: the number of its setting, from 1; `rung` None: the run is reported."""

    problem: Problem
    size: Size
    layer: Layer
    trial: int
    rung: int | None
    seed: int
    setting: Mapping[str, Any]
    document: dict[str, Any]

    @cached_property
    def key(self) -> str:
        """Return what identifies a result."""
        known = {"size": self.size.name, "spaces": SPACES, "document": self.document}
        text = json.dumps(known, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def edges(self) -> list[str]:
        """Return the searched parameters that lie at an end of their space."""
        return list(edges(self.setting, self.layer.variant, self.layer.offer))

    @property
    def title(self) -> str:
        """Return a title that identifies the run."""
        what = f"seed {self.seed}" if self.rung is None else f"trial {self.trial}, rung {self.rung}"
        return f"{self.problem.name}, {self.layer.name}, {what}"


class Rounds:
    """The search of one layer for one problem, and its reported runs."""

    def __init__(self, problem: Problem, size: Size, layer: Layer, threads: int) -> None:
        self.problem, self.size, self.layer, self._threads = problem, size, layer, threads
        self.settings = layer.trials(size.trials)
        spec = _effort(problem, size)
        self.search = Search(len(self.settings), rungs(spec), tuning_seeds(spec))

    def missing(self, results: Mapping[str, Mapping[str, Any]]) -> Iterator[Play]:
        """Yield the runs that can be carried out now and have no result."""
        known = self._known(results)
        trials = self.search.missing(known)
        yield from (self.trial(key) for key in trials)
        chosen = None if trials else self.search.chosen(known)
        if chosen is not None:
            plays = (self.reported(chosen, seed) for seed in range(self.size.seeds))
            yield from (play for play in plays if play.key not in results)

    def trial(self, key: TrialKey) -> Play:
        """Return one run of a trial."""
        return self._play(key.trial, key.rung, key.seed, self.search.rungs[key.rung].samples)

    def reported(self, trial: int, seed: int) -> Play:
        """Return the run of a chosen setting with a reported seed."""
        return self._play(trial, None, seed, self.size.samples)

    def _known(self, results: Mapping[str, Mapping[str, Any]]) -> Known:
        found: dict[TrialKey, TrialResult | None] = {}
        while missing := self.search.missing(found):
            there = {key: results.get(self.trial(key).key) for key in missing}
            found |= {key: _outcome(result) for key, result in there.items() if result is not None}
            if None in there.values():
                break
        return found

    def _play(self, trial: int, rung: int | None, seed: int, samples: int) -> Play:
        setting = self.settings[trial - 1]
        document = self.layer.document(self.problem, setting, samples, seed, self._threads)
        if rung is not None:
            document["workload"]["parameters"]["test_items"] = TRIAL_TEST_ITEMS
        return Play(self.problem, self.size, self.layer, trial, rung, seed, setting, document)


def all_rounds(problems: Mapping[str, Problem], size: Size, threads: int) -> list[Rounds]:
    """Return the searches of all layers for the problems of a size."""
    return [Rounds(problems[name], size, layer, threads) for name in size.problems for layer in LAYERS.values()]


def following(rounds: list[Rounds], results: Mapping[str, Mapping[str, Any]], failed: set[str]) -> Play | None:
    """Return the next run, problem by problem.

    Of a problem trials come first, rung by rung over all layers, then reported runs seed by seed.
    """
    problems = list(dict.fromkeys(each.problem.name for each in rounds))
    for problem in problems:
        own = [each for each in rounds if each.problem.name == problem]
        plays = [play for each in own for play in each.missing(results) if play.key not in failed]
        if plays:
            return min(plays, key=lambda play: (play.rung is None, play.rung or 0, play.seed, play.trial))
    return None


def _outcome(result: Mapping[str, Any]) -> TrialResult:
    return TrialResult(result["time_to_target"], None if result.get("diverged") else result["validation_accuracy"])


def _effort(problem: Problem, size: Size) -> Any:
    """Return an experiment with this effort: the engine's rule determines its rungs and tuning seeds."""
    return validate_experiment(
        {
            "name": problem.name,
            "workload": {"name": "xmlc-mlp", "parameters": dict(problem.parameters)},
            "variants": [{"name": "any", "algorithm": "sgd"}],
            "baseline": "any",
            "clusters": [{"name": "local", "workers": [1], "seeds": size.seeds}],
            "budget": {"samples": size.samples},
            "target": {"value": problem.target},
            "evaluation": {"every": problem.every},
            "tuning": {"trials": size.trials, "search": "halving"},
        }
    )
