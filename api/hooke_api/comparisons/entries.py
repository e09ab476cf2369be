"""What one experiment contributes to the leaderboard, by cluster and number of workers, or why it does not."""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hooke.comparison.by_hand import by_hand, searched
from hooke.comparison.cells import Cell
from hooke.comparison.effort import later_spaces, trained
from hooke.comparison.trials import trials_made
from hooke.comparison.wording import count, describe_target, listed
from hooke.spec.specification import ClusterChoice, ExperimentSpec, WorkloadChoice
from hooke.tuning.plan import Where
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.comparisons.extended import extended
from hooke_api.comparisons.figures import figures
from hooke_api.models import Experiment, Run
from hooke_api.planning.trials import trial_runs

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

    def on(self, seeds: Collection[int]) -> MethodTimes:
        """Return the times with these seeds only."""
        return replace(self, seconds={seed: self.seconds[seed] for seed in self.seconds if seed in seeds})


@dataclass(frozen=True)
class Entry:
    """The methods of one experiment at one place, all tuned alike, on one workload."""

    experiment: Experiment
    place: Place
    workload: str
    """Name and the parameters as given, in words."""
    resolved: WorkloadChoice
    """The workload with all of its parameters: entries with the same ones are the same workload."""
    sources: Mapping[str, str | None]
    """Hash of the source file by algorithm; None of built-in ones."""
    conditions: Mapping[str, Any]
    """What has to be equal for times to be comparable, by name."""
    target: str
    trials: int
    """Per variant."""
    by_hand: str
    """What was left to no search (`hooke.comparison.by_hand`), and which spaces are later ones."""
    searched: Mapping[str, int | None]
    """Variant -> how many parameters were searched; None: its algorithm is not built in."""
    methods: Mapping[str, MethodTimes]
    oversubscribed: bool
    extended: str = ""
    """What else a reader of its comparison has to know (`hooke_api.comparisons.extended`)."""


@dataclass(frozen=True)
class LeftOut:
    """An experiment, or one place of it, that does not count."""

    experiment: Experiment
    why: str


def entries(session: Session, experiment: Experiment) -> Iterator[Entry | LeftOut]:
    """Yield what a tuned experiment contributes, place by place."""
    spec = ExperimentSpec.model_validate(experiment.spec)
    if experiment.origin is not None:
        yield LeftOut(experiment, "it was imported: clusters of other servers differ, even under the same name")
        return
    if spec.tuning is None or spec.target is None:
        untuned, aimless = "it is not tuned: clone it and switch tuning on", "it has no target: clone it with one"
        yield LeftOut(experiment, untuned if spec.tuning is None else aimless)
        return
    if experiment.finished_at is None:
        yield LeftOut(experiment, "its runs have not all ended")
        return
    query = select(Run).where(Run.experiment_id == experiment.id, Run.rung.is_(None)).order_by(Run.number)
    places: dict[tuple[str, int], dict[str, Cell]] = defaultdict(dict)
    reported = session.scalars(query).all()
    for run in reported:
        places[run.cluster, run.workers].setdefault(run.variant, Cell(run.variant, [])).runs.append(figures(run))
    if not places:
        yield LeftOut(experiment, "it has no reported run: no trial gave a setting, or it was cancelled")
        return
    tried = trial_runs(session, spec, experiment.id)
    made, chosen = trials_made(tried), _chosen(session, experiment)
    known = extended(session, experiment, [*reported, *tried]) or ""
    for (cluster, workers), cells in places.items():
        of_place = {v.name: (v.name, spec.tuning.cluster or cluster, workers) for v in spec.variants}
        trials = {name: made[search] for name, search in of_place.items() if search in made}
        if len(set(trials.values())) != 1:
            told = ", ".join(f"{count(number, 'trial')} of {name}" for name, number in trials.items())
            yield LeftOut(experiment, f"unequal tuning on {cluster} with {count(workers, 'worker')}: {told}")
            continue
        if overlapped := sum(run.overlap is not None for cell in cells.values() for run in cell.runs):
            told = (
                f"{count(overlapped, 'run')} on {cluster} overlapped with those of another cluster on its machine"
            )
            yield LeftOut(experiment, f"{told}: run it again")
            continue
        here = {
            name: chosen.get((name, cluster, workers)) or chosen.get(search) for name, search in of_place.items()
        }
        entry = _entry(experiment, spec, cells, trials, {name: each for name, each in here.items() if each})
        told = f"{known} {_without_a_result(cells, cluster, workers)}".strip()
        yield replace(entry, extended=told) if isinstance(entry, Entry) else entry


def _without_a_result(cells: Mapping[str, Cell], cluster: str, workers: int) -> str:
    """Return of which variants seeds do not count, because a person, a machine or an error ended their runs."""
    lacking = {name: len(cell.by_seed) - len(cell.crossings()) for name, cell in cells.items()}
    if not any(lacking.values()):
        return ""
    named = listed([f"{number} of {name}" for name, number in lacking.items() if number])
    return f"Seeds without a result on {cluster} with {count(workers, 'worker')}, which do not count: {named}."


@dataclass(frozen=True)
class _Chosen:
    """What the runs of a variant at one place have, with defaults."""

    workload: WorkloadChoice
    source: str | None
    """Hash of the algorithm's file; None of a built-in one."""


def _chosen(session: Session, experiment: Experiment) -> dict[Where, _Chosen]:
    """Return it for each variant at each place, from its first run: specifications of all runs are much data."""
    of_cell = (Run.variant, Run.cluster, Run.workers)
    mine = Run.experiment_id == experiment.id
    first = select(func.min(Run.number)).where(mine).group_by(*of_cell)
    query = select(*of_cell, Run.spec["workload"], Run.spec["algorithm"]).where(mine, Run.number.in_(first))
    return {
        (variant, cluster, workers): _Chosen(WorkloadChoice.model_validate(workload), algorithm["hash"])
        for variant, cluster, workers, workload, algorithm in session.execute(query)
    }


def _entry(
    experiment: Experiment,
    spec: ExperimentSpec,
    cells: Mapping[str, Cell],
    trials: Mapping[str, int],
    chosen: Mapping[str, _Chosen],
) -> Entry | LeftOut:
    first = next(iter(cells.values())).runs[0]
    if first.simulated and len(set(trained(spec).values())) > 1:
        return LeftOut(experiment, "its variants differ in workload settings, which do not change simulated times")
    of_method: dict[str, list[MethodTimes]] = defaultdict(list)
    for variant in spec.variants:
        if variant.name not in trials:
            continue
        crossings = cells[variant.name].crossings() if variant.name in cells else {}
        if any(crossing.at_start for crossing in crossings.values()):
            return LeftOut(experiment, "its target was met before the first step: clone it with a harder one")
        seconds = {seed: crossing.seconds if crossing.met else math.inf for seed, crossing in crossings.items()}
        if variant.name in cells and not seconds:
            continue  # a machine failed: nothing is known of the method
        of_method[variant.algorithm].append(MethodTimes(variant.name, experiment.id, 1, seconds))
    if not any(each.seconds for found in of_method.values() for each in found):
        where = f"on {first.cluster} with {count(first.workers, 'worker')}"
        return LeftOut(experiment, f"none of its reported runs {where} has a result")
    numbers = searched(spec)
    cluster = next(each for each in spec.clusters if each.name == first.cluster)
    virtual = cluster.virtual.model_dump(mode="json") if cluster.virtual else None
    kinds = [group.model_dump(mode="json") for group in cluster.groups]
    number = next(iter(trials.values()))
    return Entry(
        experiment=experiment,
        place=(first.cluster, first.workers, json.dumps([cluster.host, virtual, kinds], sort_keys=True)),
        workload=in_words(spec.workload),
        resolved=chosen[first.variant].workload,
        sources={v.algorithm: chosen[v.name].source for v in spec.variants if v.name in chosen},
        conditions=_conditions(spec, cluster, number),
        target=describe_target(spec.target) if spec.target else "",
        trials=number,
        by_hand=by_hand(spec) + (later_spaces(spec.tuning) if spec.tuning else ""),
        searched={name: numbers.get(name) for name in trials},
        methods={name: best(found) for name, found in of_method.items()},
        oversubscribed=any(run.oversubscribed for cell in cells.values() for run in cell.runs),
    )


def best(found: Sequence[MethodTimes]) -> MethodTimes:
    """Return the variant with the least median time over the seeds that all have, and the number of all variants.

    Without such a seed, it is among those with the most seeds. One without a setting never is the best of several.
    """
    tried = [each for each in found if each.seconds] or list(found)
    common = set.intersection(*(set(each.seconds) for each in tried))
    if not common:
        most = max(len(each.seconds) for each in tried)
        tried = [each for each in tried if len(each.seconds) == most]
    least = min(tried, key=lambda each: each.on(common or set(each.seconds)).median)
    return replace(least, variants=sum(each.variants for each in found))


def in_words(workload: WorkloadChoice) -> str:
    """Return the name of a workload with its parameters."""
    given = ", ".join(f"{name} {value}" for name, value in sorted(workload.parameters.items()))
    return f"{workload.name} ({given})" if given else workload.name


def _conditions(spec: ExperimentSpec, cluster: ClusterChoice, trials: int) -> dict[str, Any]:
    """Return them by name; `trials` are those made: of a method without a free parameter, fewer than asked for."""
    tuning = spec.tuning
    return {
        "target": spec.target and spec.target.model_dump(mode="json"),
        "batch": spec.batch,
        "sharding": spec.sharding,
        "first seed": spec.first_seed,
        "number of seeds": cluster.seeds,
        "budget": spec.budget.samples,
        "schedule": spec.budget.schedule_samples,
        "wall limit": spec.budget.max_seconds,
        "evaluation": spec.evaluation.every,
        "compute": spec.compute.model_dump(mode="json"),
        "rule for a bad worker": spec.on_bad_worker,
        "recording of a trace": spec.trace and cluster.virtual is None,
        "number of trials": trials,
        "tuning": tuning
        and (tuning.seeds, tuning.search, tuning.sampler, tuning.samples, tuning.cluster or cluster.name),
    }
