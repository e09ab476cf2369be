"""The runs of an experiment, step by step: trials first, then the chosen settings on the experiment's seeds.

Without tuning there is one step. Nothing is stored here: the next step follows from the specification and from
the runs that exist, so that whoever plans (the API after every run, a program in a loop) may stop at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hooke.catalogue.expand import (
    Cell,
    Location,
    PlannedRun,
    cell,
    check_memory,
    check_number,
    check_runs,
    expand,
    locations,
)
from hooke.catalogue.joined import JoinedOffer, offer_of, split
from hooke.catalogue.validation import Catalogues
from hooke.errors import Fault, SpecError
from hooke.spec.limits import Budget
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.tuning.begun import Spaces, completed, in_both, spaces_of, with_spaces
from hooke.tuning.continued import Earlier, Trials, Tried, Where, brackets, differences, outside
from hooke.tuning.defaults import Defaults, defaults_of
from hooke.tuning.optuna_search import BATCH, first_settings, lacking, remembered, waits
from hooke.tuning.search import Known, Search, TrialKey, rungs, tuning_seeds
from hooke.tuning.settings import settings, why_none
from hooke.tuning.sources import changed_sources

__all__ = ["Earlier", "Plan", "Step", "Tried", "Where"]


@dataclass(frozen=True)
class Step:
    """The runs to be created now, and whether no others will follow."""

    runs: list[PlannedRun]
    complete: bool


class Plan:
    """The plan of an experiment on registered clusters. Raises SpecError as `expand` does, also for its trials.

    `tried`: its own trials so far, whose settings stay, whatever is declared now; without tuning its runs, whose
    defaults stay. `earlier`: the experiments that it continues, the first one first. `known`: the results of all
    these trials so far.
    """

    def __init__(  # noqa: PLR0913 - what exists already comes last and may be left out
        self,
        spec: ExperimentSpec,
        cores: dict[str, int],
        catalogues: Catalogues | None = None,
        tried: Trials | None = None,
        earlier: Sequence[Earlier] = (),
        known: Mapping[Where, Known] | None = None,
    ) -> None:
        self.spec = self._with_defaults = spec
        self._tried, self._earlier, self._known = tried or {}, earlier, known or {}
        self._cores, self._catalogues = cores, catalogues
        self._declared: dict[str, Spaces] = {}
        """Of each algorithm, the spaces that it declares now on all clusters."""
        self.locations: dict[Where, tuple[Variant, Location]] = {}
        """Every variant at every place, with or without trials."""
        self.searches: dict[Where, Search] = {}
        """The search of every variant at every place that has trials."""
        self._spaces: dict[str, tuple[Spaces, bool]] = {}
        """Of each algorithm, the spaces of its searches, and whether these have been begun with them."""
        self.settings: dict[Where, list[dict[str, Any]]] = {}
        """The settings of each search: trial k has the one at k - 1."""
        self.defaults = Defaults()
        """What runs that exist have had by default."""
        if spec.tuning is not None:
            self._prepare(spec.tuning.cluster)
        elif self._tried:
            self._keep_defaults(locations(spec, cores, catalogues))

    def _keep_defaults(self, places: Sequence[Location]) -> None:
        made = [Earlier(self.spec, self._tried), *reversed(self._earlier)]
        spaces = {name: found for name, (found, _) in self._spaces.items()}
        self.defaults = defaults_of(self.spec, places, made, spaces)
        self._with_defaults = self.defaults.applied(self.spec)

    def _prepare(self, deciding: str | None) -> None:
        """Find the places of all runs and the settings of all trials; `deciding`: the cluster that has trials."""
        places = locations(self.spec, self._cores, self._catalogues)
        for location in places:
            for variant in self.spec.variants:
                offer = location.offered.algorithms[variant.algorithm]
                workers = min(location.workers, offer.max_workers or location.workers)
                self.locations.setdefault((variant.name, location.cluster.name, workers), (variant, location))
                before = self._declared.get(variant.algorithm)
                self._declared[variant.algorithm] = in_both(before, offer.spaces)
        experiments = [*self._earlier, Earlier(self.spec, self._tried)]
        self._spaces = {name: spaces_of(name, now, experiments) for name, now in self._declared.items()}
        self._keep_defaults(places)
        if self.spec.tuning and (why := lacking(self.spec.tuning)):
            raise SpecError([why])
        faults = [fault for each in self._earlier for fault in differences(self.spec, each.spec)]
        for where in self.locations:
            if where[1] == (deciding or where[1]):
                faults += self._begin(where)
        faults += [
            Fault("/tuning/cluster", f"{where[1]} has runs with {where[2]} workers, {deciding} no trials")
            for where in self.locations
            if deciding and (where[0], deciding, where[2]) not in self.searches
        ]
        if faults:
            raise SpecError(list(dict.fromkeys(faults)))
        check_number(self.trial_runs + self.reported_runs)

    def offer(self, where: Where) -> JoinedOffer:
        """Return what the variant of a search searches there."""
        variant, location = self.locations[where]
        workload = location.offered.workloads[self.spec.workload.name]
        method, (spaces, _) = location.offered.algorithms[variant.algorithm], self._spaces[variant.algorithm]
        chosen, kept = self._with_defaults.workload, self.defaults.of(variant.name)
        return offer_of(variant, method, workload, chosen, spaces, kept)

    @property
    def begun(self) -> ExperimentSpec:
        """Return the specification with the search spaces of its algorithms, which all later trials have."""
        spaces = {name: found for name, (found, _) in self._spaces.items()}
        before = [name for name, (_, begun) in self._spaces.items() if begun] if self._tried else list(spaces)
        return with_spaces(self.spec, spaces, self._declared, before, self._earlier, stored=bool(self._tried))

    def _begin(self, where: Where) -> Iterator[Fault]:
        """Begin or resume a search: its earlier trials, then its own. Yields why it cannot be."""
        variant, offer = self.locations[where][0], self.offer(where)
        earlier = brackets(self._earlier, where)
        before = {n: tried for each in self._earlier for n, tried in each.tried.get(where, {}).items()}
        made = completed(before, offer)
        own = self._own_settings(where, offer, made)
        self.settings[where] = made + own
        search = Search(len(own), rungs(self.spec), tuning_seeds(self.spec), earlier)
        place = ("variants", self.spec.variants.index(variant))
        excluded = list(outside(variant, offer, dict(zip(sorted(before), made, strict=True)), *place))
        self.searches[where] = search if excluded else self._proposed(where, offer, search)
        if not self.settings[where]:
            why = why_none(variant, offer, where[2])
            why = f"no setting in this space can run on {where[2]} workers: {why}"
            yield Fault(pointer(*place, "search"), why)
        here = f"{where[0]} on {where[1]} with {where[2]} workers"
        if self._earlier and not before:
            yield Fault(
                "/tuning/continues", f"that experiment has no trials of {here}, so its trials would be fewer"
            )
        if not all(each.ended(self._known.get(where, {})) for each in earlier):
            yield Fault(
                "/tuning/continues",
                f"not all trials of {here} have been made and have ended: wait for them, or continue another "
                "experiment if that one was cancelled",
            )
        yield from excluded

    def _own_settings(
        self, where: Where, offer: JoinedOffer, before: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        tuning, variant = self.spec.tuning, self.locations[where][0]
        if own := self._tried.get(where):
            return completed(own, offer)
        if tuning is None:
            return []
        if tuning.search == "optuna":
            return first_settings(tuning, variant, offer, where[2], before)
        return settings(tuning.trials, variant, offer, where[2], before)

    def _proposed(self, where: Where, offer: JoinedOffer, search: Search) -> Search:
        """Return a search with the trials that Optuna proposes after all others have ended."""
        tuning, known = self.spec.tuning, self._known.get(where, {})
        if tuning is None or not waits(tuning) or search.own_trials >= tuning.trials:
            return search
        if not search.ended(known):
            return replace(search, to_come=True)
        count = min(BATCH, tuning.trials - search.own_trials)
        tried, ranking = self.settings[where], search.ranking(known)
        usable = [trial for trial in ranking if search.usable(trial, known)]
        more = remembered(tuning.sampler, count, self.locations[where][0], offer, where[2], tried, usable)
        self.settings[where] = [*tried, *more]
        own = search.own_trials + len(more)
        return replace(search, own_trials=own, to_come=bool(more) and own < tuning.trials)

    @property
    def trial_runs(self) -> int:
        """Return the largest number of runs of all searches, without those of earlier experiments."""
        return self.trial_runs_of({where[0] for where in self.searches})

    def trial_runs_of(self, variants: Collection[str]) -> int:
        """Return the same of the searches of some variants."""
        return sum(
            len(search.seeds)
            * sum(rung.trials if search.to_come else min(rung.trials, search.own_trials) for rung in search.rungs)
            for where, search in self.searches.items()
            if where[0] in variants
        )

    @property
    def reported_runs(self) -> int:
        """Return the number of runs on the experiment's seeds; 0 without tuning, where `first` has them."""
        return sum(location.cluster.seeds for _, location in self.locations.values())

    def changed_sources(self) -> list[Fault]:
        """Return a fault for each own algorithm or workload whose source is not that of its trials any more."""
        return changed_sources(self.spec, self.locations, [*(each.tried for each in self._earlier), self._tried])

    def first(self) -> Step:
        """Return the first step. Raises SpecError for parameters that cannot run on a number of workers."""
        return self.next()

    def next(self, reported: frozenset[Cell] = frozenset()) -> Step:
        """Return the next step, given the results it was made with."""
        return self.following(self._known, reported)

    def following(self, known: Mapping[Where, Known], reported: frozenset[Cell] = frozenset()) -> Step:
        """Return the next step, given the runs of searches that exist, and the reported runs that exist."""
        if self.spec.tuning is None:
            runs = expand(self._with_defaults, self._cores, self._catalogues)
            return Step([run for run in runs if run.place not in reported], complete=True)
        self._go_on(known)
        runs = [run for where in self.searches for run in self._trials(where, known.get(where, {}))]
        waiting = {where[1] for where, search in self.searches.items() if not search.ended(known.get(where, {}))}
        clusters = [cluster.name for cluster in self.spec.clusters]
        ready = [name for name in clusters if (self.spec.tuning.cluster or name) not in waiting]
        final = [run for name in ready for run in self._reported(name, known, reported)]
        check_runs(self.spec, final)
        check_memory(self.spec, runs)
        return Step(runs + final, complete=len(ready) == len(clusters))

    def _go_on(self, known: Mapping[Where, Known]) -> None:
        """Add what Optuna proposes to the searches whose trials so far have ended."""
        self._known = known
        for where, search in self.searches.items():
            if search.to_come:
                self.searches[where] = self._proposed(where, self.offer(where), replace(search, to_come=False))

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
        whole = run.spec.budget
        scheduled = whole.schedule_samples or (whole.samples if whole.samples != rung.samples else None)
        shorter = {"samples": rung.samples, "schedule_samples": scheduled}
        budget = Budget.model_validate({**whole.model_dump(), **shorter})
        spec = run.spec.model_copy(update={"budget": budget, "checkpoint": "never", "checkpoint_every": None})
        return replace(run, spec=spec, rung=key.rung)

    def of_first_seed(self) -> Iterator[PlannedRun]:
        """Yield the reported run with the first seed of each variant at each place, as it would be planned now.

        Those whose search has not ended are left out.
        """
        if self.spec.tuning is None:
            for location in locations(self.spec, self._cores, self._catalogues):
                for variant in self._with_defaults.variants:
                    yield cell(self._with_defaults, variant, location, self.spec.first_seed)
        for where in self.locations:
            source = self.searched_at(where)
            found = self._known.get(source, {})
            search = self.searches[source]
            if search.ended(found) and (trial := search.chosen(found)) is not None:
                yield self._cell(where, trial, self.spec.first_seed)

    def _reported(
        self, cluster: str, known: Mapping[Where, Known], exist: frozenset[Cell]
    ) -> Iterator[PlannedRun]:
        """Yield the runs of the chosen settings that do not exist; seeds vary slowest."""
        here = {where: location for where, (_, location) in self.locations.items() if where[1] == cluster}
        seeds = next((location.cluster.seeds for location in here.values()), 0)
        for offset in range(seeds):
            for where in here:
                if (*where, self.spec.first_seed + offset) in exist:
                    continue
                source = self.searched_at(where)
                trial = self.searches[source].chosen(known.get(source, {}))
                if trial is not None:
                    yield self._cell(where, trial, self.spec.first_seed + offset)

    def _cell(self, where: Where, trial: int, seed: int) -> PlannedRun:
        variant, location = self.locations[where]
        parameters, settings = split(self.settings[self.searched_at(where)][trial - 1])
        chosen = variant.model_copy(update={"parameters": parameters, "workload_settings": settings})
        return replace(cell(self._with_defaults, chosen, location, seed), trial=trial)
