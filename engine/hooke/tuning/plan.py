"""The runs of an experiment, step by step: trials first, then the chosen settings on the experiment's seeds.

Without tuning there is one step. Nothing is stored here: the next step follows from the specification and from
the runs that exist, so that whoever plans (the API after every run, a program in a loop) may stop at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hooke.catalogue.expand import Location, PlannedRun, cell, check_number, check_runs, expand, locations
from hooke.catalogue.validation import Catalogues
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.specification import Budget, ExperimentSpec, Variant
from hooke.tuning.search import Known, Search, TrialKey, rungs, tuning_seeds
from hooke.tuning.settings import settings, why_none

Where = tuple[str, str, int]
"""(variant, cluster, workers) of a search."""
CHANGED = "the source of {name!r} has changed since its trials, so their choice does not hold for it: submit anew"


@dataclass(frozen=True)
class Tried:
    """What a trial has run with."""

    parameters: dict[str, object]
    algorithm_hash: str | None = None
    """SHA-256 of the source of a user's own algorithm."""
    workload_hash: str | None = None


@dataclass(frozen=True)
class Step:
    """The runs to be created now, and whether no others will follow."""

    runs: list[PlannedRun]
    complete: bool


class Plan:
    """The plan of an experiment on registered clusters. Raises SpecError as `expand` does, also for its trials.

    `tried`: the trials of searches that have begun, by number. Their settings stay, whatever is declared now.
    """

    def __init__(
        self,
        spec: ExperimentSpec,
        cores: dict[str, int],
        catalogues: Catalogues | None = None,
        tried: Mapping[Where, Mapping[int, Tried]] | None = None,
    ) -> None:
        self.spec = spec
        self._tried = tried or {}
        self._cores, self._catalogues = cores, catalogues
        self.locations: dict[Where, tuple[Variant, Location]] = {}
        """Every variant at every place, with or without trials."""
        self.searches: dict[Where, Search] = {}
        """The search of every variant at every place that has trials."""
        self.settings: dict[Where, list[dict[str, object]]] = {}
        """The settings of each search: trial k has the one at k - 1."""
        if spec.tuning is not None:
            self._prepare()

    def _prepare(self) -> None:
        tuning = self.spec.tuning
        assert tuning is not None  # noqa: S101 - for the type checker: the only caller has checked it
        found = locations(self.spec, self._cores, self._catalogues)
        for location in found:
            for variant in self.spec.variants:
                offer = location.offered.algorithms[variant.algorithm]
                workers = min(location.workers, offer.max_workers or location.workers)
                self.locations.setdefault((variant.name, location.cluster.name, workers), (variant, location))
        faults = []
        for where, (variant, location) in self.locations.items():
            if where[1] != (tuning.cluster or where[1]):
                continue
            offer = location.offered.algorithms[variant.algorithm]
            if before := self._tried.get(where):
                self.settings[where] = [before[trial].parameters for trial in sorted(before)]
            else:
                self.settings[where] = settings(tuning.trials, variant, offer, where[2])
            self.searches[where] = Search(len(self.settings[where]), rungs(self.spec), tuning_seeds(self.spec))
            if not self.settings[where]:
                place = pointer("variants", self.spec.variants.index(variant), "search")
                why = why_none(variant, offer, where[2])
                faults.append(Fault(place, f"no setting in this space can run on {where[2]} workers: {why}"))
        faults += [
            Fault("/tuning/cluster", f"{where[1]} has runs with {where[2]} workers, {tuning.cluster} no trials")
            for where in self.locations
            if tuning.cluster and (where[0], tuning.cluster, where[2]) not in self.searches
        ]
        if faults:
            raise SpecError(list(dict.fromkeys(faults)))
        check_number(self.trial_runs + self.reported_runs)

    @property
    def trial_runs(self) -> int:
        """Return the largest number of runs of all searches."""
        return sum(
            len(search.seeds) * sum(min(rung.trials, search.trials) for rung in search.rungs)
            for search in self.searches.values()
        )

    @property
    def reported_runs(self) -> int:
        """Return the number of runs on the experiment's seeds; 0 without tuning, where `first` has them."""
        return sum(location.cluster.seeds for _, location in self.locations.values())

    def changed_sources(self) -> list[Fault]:
        """Return a fault for each own algorithm or workload whose source is not that of its trials any more."""
        found = []
        for where, trials in self._tried.items():
            variant, location = self.locations[where]
            now = cell(self.spec, variant, location, self.spec.first_seed).spec
            place = pointer("variants", self.spec.variants.index(variant), "algorithm")
            for tried in trials.values():
                if tried.algorithm_hash != now.algorithm.hash:
                    found.append(Fault(place, CHANGED.format(name=variant.algorithm)))
                if tried.workload_hash != now.workload.hash:
                    found.append(Fault("/workload/name", CHANGED.format(name=self.spec.workload.name)))
        return list(dict.fromkeys(found))

    def first(self) -> Step:
        """Return the first step. Raises SpecError for parameters that cannot run on a number of workers."""
        return self.following({})

    def following(self, known: Mapping[Where, Known], reported: frozenset[str] = frozenset()) -> Step:
        """Return the next step, given the runs of searches that exist, and clusters with reported runs already."""
        if self.spec.tuning is None:
            return Step([] if reported else expand(self.spec, self._cores, self._catalogues), complete=True)
        runs = [run for where in self.searches for run in self._trials(where, known.get(where, {}))]
        waiting = {where[1] for where, search in self.searches.items() if not search.ended(known.get(where, {}))}
        clusters = [cluster.name for cluster in self.spec.clusters]
        ready = [name for name in clusters if (self.spec.tuning.cluster or name) not in waiting]
        final = [run for name in ready if name not in reported for run in self._reported(name, known)]
        check_runs(self.spec, final)
        return Step(runs + final, complete=len(ready) == len(clusters))

    def searched_at(self, where: Where) -> Where:
        """Return the search that decides for a variant at a place."""
        tuning = self.spec.tuning
        return (where[0], (tuning.cluster if tuning else None) or where[1], where[2])

    def _trials(self, where: Where, known: Known) -> Iterator[PlannedRun]:
        search = self.searches[where]
        for key in search.missing(known):
            yield self._trial(where, key)

    def _trial(self, where: Where, key: TrialKey) -> PlannedRun:
        run = self._cell(where, key.trial, key.seed)
        rung = self.searches[where].rungs[key.rung]
        budget = Budget.model_validate({**run.spec.budget.model_dump(), "samples": rung.samples})
        spec = run.spec.model_copy(update={"budget": budget, "checkpoint": "never", "checkpoint_every": None})
        return replace(run, spec=spec, rung=key.rung)

    def _reported(self, cluster: str, known: Mapping[Where, Known]) -> Iterator[PlannedRun]:
        """Yield the runs of the chosen settings; seeds vary slowest."""
        here = {where: location for where, (_, location) in self.locations.items() if where[1] == cluster}
        seeds = next((location.cluster.seeds for location in here.values()), 0)
        for offset in range(seeds):
            for where in here:
                source = self.searched_at(where)
                trial = self.searches[source].chosen(known.get(source, {}))
                if trial is not None:
                    yield self._cell(where, trial, self.spec.first_seed + offset)

    def _cell(self, where: Where, trial: int, seed: int) -> PlannedRun:
        variant, location = self.locations[where]
        chosen = variant.model_copy(update={"parameters": self.settings[self.searched_at(where)][trial - 1]})
        return replace(cell(self.spec, chosen, location, seed), trial=trial)
