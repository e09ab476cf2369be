"""The trials of an experiment and what they have shown, from the figures computed at ingest."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence

from hooke.errors import SpecError
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import TERMINAL
from hooke.tuning.plan import Plan, Where
from hooke.tuning.search import Known, Search, rungs, tuning_seeds
from hooke.tuning.settings import edges, free_spaces
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.models import Experiment, Run
from hooke_api.planning.schemas import RungView, SearchView, TrialView, TuningView
from hooke_api.planning.steps import plan_of
from hooke_api.planning.trials import ENDED_WELL, known, trial_runs, where


def answer_tuning(session: Session, experiment_id: str) -> TuningView:
    """Return the searches of an experiment. Raises ResourceNotFound without tuning, Conflict if its clusters
    do not offer its algorithms any more."""
    experiment = session.get(Experiment, experiment_id)
    if experiment is None:
        raise ResourceNotFound(f"no experiment has the id {experiment_id!r}")
    spec = ExperimentSpec.model_validate(experiment.spec)
    if spec.tuning is None:
        raise ResourceNotFound("this experiment has no tuning: its parameters are as given")
    try:
        plan = plan_of(session, spec, experiment)
    except SpecError as error:
        raise Conflict(f"its clusters have changed since its submission: {error}") from None
    runs = trial_runs(session, experiment_id)
    of_search: dict[Where, list[Run]] = defaultdict(list)
    for run in runs:
        of_search[where(run)].append(run)
    results = known(spec, runs)
    searches = [_search(plan, each, of_search[each], results.get(each, {})) for each in plan.searches]
    return TuningView(
        experiment=experiment.id,
        tuning=spec.tuning,
        rungs=[RungView(trials=rung.trials, samples=rung.samples) for rung in rungs(spec)],
        seeds=tuning_seeds(spec),
        searches=searches,
        complete=all(search.ended for search in searches),
    )


def _search(plan: Plan, at: Where, runs: Sequence[Run], results: Known) -> SearchView:
    search, (variant, location) = plan.searches[at], plan.locations[at]
    offer = location.offered.algorithms[variant.algorithm]
    spaces = free_spaces(variant, offer)
    ended = search.ended(results)
    chosen = search.chosen(results) if ended else None
    at_edge = edges(plan.settings[at][chosen - 1], variant, offer) if chosen else {}
    of_trial: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        of_trial[run.trial or 0].append(run)
    ranks = {trial: rank for rank, trial in enumerate(search.ranking(results), 1)}
    trials = [
        _trial(number, plan.settings[at][number - 1], list(spaces), of_trial[number], search, results)
        for number in range(1, search.trials + 1)
    ]
    shown = [
        each.model_copy(update={"rank": ranks.get(each.trial), "chosen": each.trial == chosen}) for each in trials
    ]
    times = [search.seconds(trial, results) for trial in ranks]
    return SearchView(
        variant=variant.name,
        algorithm=variant.algorithm,
        cluster=at[1],
        simulated=location.cluster.virtual is not None,
        workers=at[2],
        spaces=spaces,
        trials=shown,
        ended=ended,
        chosen=chosen,
        edges={name: found.end for name, found in at_edge.items()},
        wider={name: found.wider for name, found in at_edge.items() if found.wider},
        reached=_share_reached(plan.spec, times),
        median_seconds=_median(times),
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
    latest = [run for run in runs if run.rung == last and run.state in ENDED_WELL]
    accuracies = [run.accuracy for run in latest if run.accuracy is not None]
    losses = [run.loss for run in latest if run.loss is not None and math.isfinite(run.loss)]
    return TrialView(
        trial=number,
        rank=None,
        chosen=False,
        parameters={name: setting[name] for name in searched if name in setting},
        rung=last,
        runs=[run.id for run in runs],
        open=sum(run.state not in TERMINAL for run in runs),
        failed=sum(run.state in TERMINAL and (run.diverged or run.state not in ENDED_WELL) for run in runs),
        seconds=search.seconds(number, results),
        accuracy=statistics.fmean(accuracies) if accuracies else None,
        loss=statistics.fmean(losses) if losses else None,
        samples=sum(run.samples for run in runs),
    )


def _share_reached(spec: ExperimentSpec, times: Sequence[float | None]) -> float | None:
    if spec.target is None or not times:
        return None
    return sum(each is not None for each in times) / len(times)


def _median(times: Sequence[float | None]) -> float | None:
    """Return the median of the times to the target; trials that missed it took longer than all others."""
    if not times:
        return None
    median = statistics.median(math.inf if each is None else each for each in times)
    return median if math.isfinite(median) else None


def _core_hours(run: Run) -> float:
    if run.started_at is None or run.finished_at is None:
        return 0.0
    cores = 1 if run.simulated else run.workers + run.servers
    return (run.finished_at - run.started_at).total_seconds() / 3600 * cores
