"""The trials of an experiment and what they have shown, from the figures computed at ingest."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hooke.catalogue.joined import JoinedOffer, offer_of
from hooke.catalogue.offers import brought_along
from hooke.comparison.figures import FINISHED
from hooke.comparison.trials import known, where
from hooke.errors import SpecError
from hooke.spec.spaces import Space
from hooke.spec.specification import ExperimentSpec, Variant
from hooke.spec.states import TERMINAL
from hooke.tuning.begun import spaces_of
from hooke.tuning.continued import Earlier, brackets
from hooke.tuning.plan import Plan, Where
from hooke.tuning.search import Known, Search, median_time, rungs, share_met, tuning_seeds
from hooke.tuning.settings import AtEdge, edges, free_spaces
from sqlalchemy.orm import Session

from hooke_api.base.errors import ResourceNotFound
from hooke_api.models import Run
from hooke_api.planning.schemas import RungView, SearchView, TrialView, TuningView
from hooke_api.planning.steps import plan_of
from hooke_api.planning.trials import earlier_of, trial_runs, tried
from hooke_api.storage.present import present_experiment


def answer_tuning(session: Session, experiment_id: str) -> TuningView:
    """Return the searches of an experiment. Raises ResourceNotFound without tuning.

    Where its clusters do not offer its algorithms any more, it is answered from the runs alone.
    """
    experiment = present_experiment(session, experiment_id)
    spec = ExperimentSpec.model_validate(experiment.spec)
    if spec.tuning is None:
        raise ResourceNotFound("this experiment has no tuning: its parameters are as given")
    try:
        known_searches = _planned(plan_of(session, spec, experiment))
    except SpecError:
        known_searches = _stored(session, spec, experiment.id)
    runs = trial_runs(session, spec, experiment_id)
    of_search: dict[Where, list[Run]] = defaultdict(list)
    for run in runs:
        of_search[where(run)].append(run)
    results = known(spec, runs)
    searches = [_search(spec, each, of_search[each.at], results.get(each.at, {})) for each in known_searches]
    return TuningView(
        experiment=experiment.id,
        tuning=spec.tuning,
        rungs=[RungView(trials=rung.trials, samples=rung.samples) for rung in rungs(spec)],
        seeds=tuning_seeds(spec),
        searches=searches,
        complete=all(search.ended for search in searches),
    )


@dataclass(frozen=True)
class _Searched:
    """A search, and what its trials choose from."""

    at: Where
    variant: Variant
    simulated: bool
    search: Search
    settings: Sequence[dict[str, Any]]
    offer: JoinedOffer | None
    """None: no cluster offers the algorithm or the workload any more."""
    begun: Mapping[str, Space] = field(default_factory=dict)
    """Without an offer, the spaces of the algorithm with which the experiment was begun, as far as it says."""

    @property
    def spaces(self) -> dict[str, Space]:
        """Return the space of each searched parameter, as far as it is known."""
        if self.offer is not None:
            return free_spaces(self.variant, self.offer)
        declared = {**self.begun, **self.variant.search}
        free = {name: space for name, space in declared.items() if space and name not in self.variant.parameters}
        return {name: space for name, space in free.items() if any(map(space.applies, self.settings))}

    def edges(self, trial: int | None) -> dict[str, AtEdge]:
        """Return the parameters of a trial that lie at an end of their space."""
        return edges(self.settings[trial - 1], self.variant, self.offer) if trial and self.offer else {}


def _planned(plan: Plan) -> list[_Searched]:
    found = []
    for at, search in plan.searches.items():
        variant, location = plan.locations[at]
        simulated = location.cluster.virtual is not None
        found.append(_Searched(at, variant, simulated, search, plan.settings[at], plan.offer(at)))
    return found


def _stored(session: Session, spec: ExperimentSpec, experiment_id: str) -> list[_Searched]:
    """Return the searches as far as runs and specifications tell of them."""
    variants = {variant.name: variant for variant in spec.variants}
    simulated = {cluster.name: cluster.virtual is not None for cluster in spec.clusters}
    earlier, found = earlier_of(session, spec), []
    own_trials = tried(session, experiment_id)
    for at, own in own_trials.items():
        before = brackets(earlier, at)
        made = {
            number: trial
            for each in (*(e.tried.get(at, {}) for e in earlier), own)
            for number, trial in each.items()
        }
        search = Search(len(own), rungs(spec), tuning_seeds(spec), before)
        settings = [made[number].parameters for number in sorted(made)]
        variant = variants[at[0]]
        method = brought_along().algorithms.get(variant.algorithm)
        workload = brought_along().workloads.get(spec.workload.name)
        chain = [*earlier, Earlier(spec, own_trials)]
        begun, _ = spaces_of(variant.algorithm, method.spaces if method else {}, chain)
        offer = offer_of(variant, method, workload, spec.workload, begun) if method and workload else None
        found.append(_Searched(at, variant, simulated[at[1]], search, settings, offer, begun))
    return found


def _search(spec: ExperimentSpec, searched: _Searched, runs: Sequence[Run], results: Known) -> SearchView:
    at, search, variant, spaces = searched.at, searched.search, searched.variant, searched.spaces
    ended = search.ended(results)
    chosen = search.chosen(results) if ended else None
    at_edge = searched.edges(chosen)
    of_trial: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        of_trial[run.trial or 0].append(run)
    ranks = {trial: rank for rank, trial in enumerate(search.ranking(results), 1)}
    trials = [
        _trial(number, searched.settings[number - 1], list(spaces), of_trial[number], search, results)
        for number in range(1, search.trials + 1)
    ]
    shown = [
        each.model_copy(update={"rank": ranks.get(each.trial), "chosen": each.trial == chosen}) for each in trials
    ]
    times = search.times(results)
    return SearchView(
        variant=variant.name,
        algorithm=variant.algorithm,
        cluster=at[1],
        simulated=searched.simulated,
        workers=at[2],
        spaces=spaces,
        trials=shown,
        earlier_trials=search.earlier_trials,
        ended=ended,
        chosen=chosen,
        edges={name: found.end for name, found in at_edge.items()},
        wider={name: found.wider for name, found in at_edge.items() if found.wider},
        reached=share_met(times) if spec.target else None,
        median_seconds=median_time(times),
        samples=sum(run.samples for run in runs),
        core_hours=sum(map(_core_hours, runs)),
    )


def _trial(
    number: int,
    setting: dict[str, object],
    searched: list[str],
    runs: Sequence[Run],
    search: Search,
    results: Known,
) -> TrialView:
    last = max((run.rung or 0 for run in runs), default=0)
    latest = [run for run in runs if run.rung == last and run.state in FINISHED]
    accuracies = [run.accuracy for run in latest if run.accuracy is not None]
    losses = [run.loss for run in latest if run.loss is not None and math.isfinite(run.loss)]
    return TrialView(
        trial=number,
        rank=None,
        chosen=False,
        parameters={name: setting[name] for name in searched if name in setting},
        rung=last,
        experiment=next((run.experiment_id for run in runs), None),
        runs=[run.id for run in runs],
        open=sum(run.state not in TERMINAL for run in runs),
        failed=sum(run.state in TERMINAL and (run.diverged or run.state not in FINISHED) for run in runs),
        seconds=search.seconds(number, results),
        accuracy=statistics.fmean(accuracies) if accuracies else None,
        loss=statistics.fmean(losses) if losses else None,
        samples=sum(run.samples for run in runs),
    )


def _core_hours(run: Run) -> float:
    if run.started_at is None or run.finished_at is None:
        return 0.0
    cores = 1 if run.simulated else run.workers + run.servers
    return (run.finished_at - run.started_at).total_seconds() / 3600 * cores
