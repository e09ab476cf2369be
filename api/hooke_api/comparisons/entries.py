"""What one experiment contributes to the leaderboard, by cluster and number of workers, or why it does not."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hooke.comparison.cells import Cell
from hooke.comparison.trials import trials_made
from hooke.comparison.wording import count, describe_target
from hooke.spec.specification import ExperimentSpec
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.comparisons.figures import figures
from hooke_api.models import Experiment, Run
from hooke_api.planning.trials import continued, trial_runs, trials_of

Place = tuple[str, int, str]
"""Cluster, number of workers, and the constants of a virtual cluster as JSON (null of a real one)."""


@dataclass(frozen=True)
class MethodTimes:
    """One method on one workload: its best variant."""

    variant: str
    experiment: str
    variants: int
    """Variants of the method, of which this one has the least median time."""
    seconds: Mapping[int, float]
    """Time to the target by seed, infinite if it was missed; empty if no trial gave a setting."""

    @property
    def median(self) -> float:
        """Return the median over seeds; infinite if half of them or more missed the target."""
        return statistics.median(self.seconds.values()) if self.seconds else math.inf


@dataclass(frozen=True)
class Entry:
    """The methods of one experiment at one place, all tuned alike, on one workload."""

    experiment: Experiment
    place: Place
    workload: str
    """Name and parameters in words: entries with the same one are the same workload."""
    conditions: Mapping[str, Any]
    """What has to be equal for times to be comparable, by name."""
    target: str
    trials: int
    """Per variant."""
    methods: Mapping[str, MethodTimes]
    oversubscribed: bool


@dataclass(frozen=True)
class LeftOut:
    """An experiment, or one place of it, that does not count."""

    experiment: Experiment
    why: str


def entries(session: Session, experiment: Experiment) -> Iterator[Entry | LeftOut]:
    """Yield what a tuned experiment contributes, place by place."""
    spec = ExperimentSpec.model_validate(experiment.spec)
    if spec.tuning is None or spec.target is None:
        why = "its settings are as given: tune it" if spec.tuning is None else "it has no target: set one"
        yield LeftOut(experiment, why)
        return
    if experiment.finished_at is None:
        yield LeftOut(experiment, "its runs have not all ended: wait")
        return
    query = select(Run).where(Run.experiment_id == experiment.id, Run.rung.is_(None)).order_by(Run.number)
    places: dict[tuple[str, int], dict[str, Cell]] = defaultdict(dict)
    for run in session.scalars(query):
        places[run.cluster, run.workers].setdefault(run.variant, Cell(run.variant, [])).runs.append(figures(run))
    if not places:
        yield LeftOut(experiment, "it has no reported run: no trial gave a setting, or it was cancelled")
        return
    made = trials_made(trial_runs(session, spec, experiment.id))
    asked = spec.tuning.trials + sum(trials_of(each) for each in continued(session, spec))
    for (cluster, workers), cells in places.items():
        trials = {v.name: made.get((v.name, spec.tuning.cluster or cluster, workers)) for v in spec.variants}
        here = {name: number for name, number in trials.items() if number is not None}
        if len(set(here.values())) != 1:
            told = ", ".join(f"{count(number, 'trial')} of {name}" for name, number in here.items())
            yield LeftOut(experiment, f"unequal tuning on {cluster} with {count(workers, 'worker')}: {told}")
            continue
        yield from _entry(experiment, spec, cells, here, asked)


def _entry(
    experiment: Experiment, spec: ExperimentSpec, cells: Mapping[str, Cell], trials: Mapping[str, int], asked: int
) -> Iterator[Entry | LeftOut]:
    first = next(iter(cells.values())).runs[0]
    of_method: dict[str, list[MethodTimes]] = defaultdict(list)
    for variant in spec.variants:
        if variant.name not in trials:
            continue
        crossings = cells[variant.name].crossings() if variant.name in cells else {}
        if any(crossing.at_start for crossing in crossings.values()):
            yield LeftOut(experiment, "its target was met before the first step: set a harder one")
            return
        seconds = {seed: crossing.seconds if crossing.met else math.inf for seed, crossing in crossings.items()}
        if variant.name in cells and not seconds:
            continue  # a machine failed: nothing is known of the method
        of_method[variant.algorithm].append(MethodTimes(variant.name, experiment.id, 1, seconds))
    cluster = next(each for each in spec.clusters if each.name == first.cluster)
    virtual = cluster.virtual.model_dump(mode="json") if cluster.virtual else None
    target = describe_target(spec.target) if spec.target else ""
    yield Entry(
        experiment=experiment,
        place=(first.cluster, first.workers, json.dumps([cluster.host, virtual], sort_keys=True)),
        workload=_workload(spec),
        conditions=_conditions(spec, target, asked),
        target=target,
        trials=next(iter(trials.values())),
        methods={name: best(found) for name, found in of_method.items()},
        oversubscribed=any(run.oversubscribed for cell in cells.values() for run in cell.runs),
    )


def best(found: list[MethodTimes]) -> MethodTimes:
    """Return the variant with the least median time, and the number of all variants."""
    least = min(found, key=lambda each: each.median)
    variants = sum(each.variants for each in found)
    return MethodTimes(least.variant, least.experiment, variants, least.seconds)


def _workload(spec: ExperimentSpec) -> str:
    given = ", ".join(f"{name} {value}" for name, value in sorted(spec.workload.parameters.items()))
    return f"{spec.workload.name} ({given})" if given else spec.workload.name


def _conditions(spec: ExperimentSpec, target: str, trials: int) -> dict[str, Any]:
    tuning = spec.tuning
    return {
        "target": target,
        "batch": spec.batch,
        "sharding": spec.sharding,
        "budget": spec.budget.samples,
        "evaluation": spec.evaluation.every,
        "compute": spec.compute.model_dump(mode="json"),
        "tuning": [trials, tuning and (tuning.seeds, tuning.search, tuning.samples)],
    }
