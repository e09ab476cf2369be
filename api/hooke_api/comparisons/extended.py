"""What a reader has to know of a comparison in which something was measured when other things were known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hooke.comparison.contrasts import PROCESSOR
from hooke.comparison.figures import FINISHED
from hooke.comparison.wording import count, listed
from hooke.spec.spaces import Space
from hooke.spec.specification import ExperimentSpec
from hooke.spec.states import RunState
from hooke.spec.sweeps import word
from hooke.tuning.defaults import WITHOUT
from sqlalchemy import exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from hooke_api.models import DroppedWorker, Experiment, Run, Transition
from hooke_api.planning.trials import continued

SHOWN = (RunState.FAILED_USER, RunState.TIMED_OUT)
"""Ends of a run that tell something of its method, after which it can be tried again."""
MOST_SHOWN = 3
"""Values of a fact that are named."""
Document = Mapping[str, Any]
"""A specification as it is stored."""


def extended(session: Session, experiment: Experiment, runs: Collection[Run] | None = None) -> str | None:
    """Return it in sentences; None if there is nothing to know.

    `runs`: its reported runs, and those of all trials that count, for who has read them: fewer queries.

    Of extensions: seeds that follow a look, variants that were measured when the others had been, not in turn with
    them, or have other defaults, and runs that were made by other programs or processors. Of any experiment:
    trials whose times another cluster has disturbed, runs that showed something, and were tried again, and runs
    that went on without a worker.
    """
    told = [*_of_trials(session, experiment, runs)]
    if runs is None or any(run.attempt > 1 and run.rung is None for run in runs):
        told += _of_retries(session, experiment)
    told += _of_dropped(session, experiment)
    if experiment.earlier:
        versions = [*(each["spec"] for each in experiment.earlier), experiment.spec]
        told += [*_of_seeds(versions), *_of_variants(versions), *_of_defaults(session, experiment)]
        told += _of_machines(session, experiment)
    return " ".join(told) or None


def made_by(simulated: bool, hardware: Document | None, versions: Document | None) -> dict[str, str]:
    """Return by name what a run told of the programs that made it and, of a real one, of its processor."""
    facts = dict(versions or {})
    if not simulated and hardware:
        facts[PROCESSOR] = hardware.get("cpu")
    return {name: str(value) for name, value in facts.items() if value}


def made_apart(session: Session, experiments: Mapping[str, int], cluster: str, workers: int) -> str:
    """Return in a sentence in which programs and processors experiments differ that were measured at one place.

    `experiments`: id -> number. Of each, its first run there that ended by itself tells them: in what its runs
    differ among themselves, `extended` tells. Empty: in nothing.
    """
    here = (Run.experiment_id.in_(experiments), Run.cluster == cluster, Run.workers == workers)
    ended = (Run.rung.is_(None), Run.state.in_(FINISHED))
    firsts = select(func.min(Run.number).label("number"), Run.experiment_id).where(*here, *ended)
    first = firsts.group_by(Run.experiment_id).subquery()
    query = select(Run.experiment_id, Run.simulated, Run.hardware, Run.versions).join(
        first, (Run.experiment_id == first.c.experiment_id) & (Run.number == first.c.number)
    )
    seen: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for of, simulated, hardware, versions in session.execute(query):
        for name, value in made_by(simulated, hardware, versions).items():
            seen[name][value].append(experiments[of])
    told = [f"{name} {_by_numbers(values)}" for name, values in sorted(seen.items()) if len(values) > 1]
    return f"Its experiments were not measured by the same: {'; '.join(told)}." if told else ""


def _by_numbers(values: Mapping[str, Collection[int]]) -> str:
    """Return values with the numbers of their experiments, those of the newest one first."""
    newest = sorted(values, key=lambda value: max(values[value]), reverse=True)
    named = [
        f"{value} ({', '.join(f'#{number}' for number in sorted(values[value], reverse=True))})"
        for value in newest[:MOST_SHOWN]
    ]
    more = len(newest) - len(named)
    return listed([*named, f"{more} more"] if more else named)


def _of_trials(session: Session, experiment: Experiment, runs: Collection[Run] | None) -> Iterator[str]:
    """Yield of which variants runs of trials overlapped with those of another cluster on their machine."""
    if runs is None:
        counted = _overlapped(session, experiment)
    else:
        counted = Counter(run.variant for run in runs if run.rung is not None and run.overlap is not None)
    if told := [f"{counted[variant]} of {variant}" for variant in experiment.variants if counted[variant]]:
        yield (
            "Runs of trials overlapped with those of another cluster on their machine, so that the times by which "
            f"settings were chosen cannot be trusted: {listed(told)}."
        )


def _overlapped(session: Session, experiment: Experiment) -> Counter[str]:
    tuning, counting = experiment.spec.get("tuning"), [experiment.id]
    if not tuning:
        return Counter()
    if tuning.get("continues"):
        before = continued(session, ExperimentSpec.model_validate(experiment.spec))
        counting += [each.id for each in before]
    mine = (Run.experiment_id.in_(counting), Run.rung.is_not(None), Run.overlap.is_not(None))
    rows = session.execute(select(Run.variant, func.count()).where(*mine).group_by(Run.variant))
    return Counter({variant: number for variant, number in rows})


def _of_retries(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield how many reported runs a user has had tried again that had not been ended by a machine.

    Of cancelled ones those that had been running: what they showed may be why they were cancelled.
    """
    before = aliased(Transition)
    ran = exists().where(
        before.run_id == Transition.run_id,
        before.state == RunState.RUNNING,
        before.attempt < Transition.attempt,
    )
    again = (Transition.source.in_((*SHOWN, RunState.CANCELLED)), Transition.state == RunState.QUEUED)
    query = select(Transition.source, Transition.run_id).join(Run, Run.id == Transition.run_id)
    mine = (Run.experiment_id == experiment.id, Run.rung.is_(None))
    shown = or_(Transition.source != RunState.CANCELLED, ran)
    found = session.execute(query.where(*mine, *again, shown)).all()
    ended = {run for source, run in found if source != RunState.CANCELLED}
    cancelled = {run for source, run in found if source == RunState.CANCELLED}
    if ended:
        yield (
            f"{count(len(ended), 'run')} {_were(ended)} retried by hand after a divergence, an error or the "
            "time limit: what was shown before that does not count."
        )
    if cancelled:
        yield (
            f"{count(len(cancelled), 'run')} {_were(cancelled)} cancelled while running and retried by hand: "
            "what was shown before that counts only as far as a checkpoint keeps it."
        )


def _were(found: Collection[str]) -> str:
    return "was" if len(found) == 1 else "were"


def _of_dropped(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield which variants have reported runs that went on without a worker, as not every method can."""
    if experiment.spec.get("on_bad_worker") != "drop":
        return
    query = select(Run.variant, func.count(Run.id.distinct())).join(
        DroppedWorker, (DroppedWorker.run_id == Run.id) & (DroppedWorker.attempt >= Run.resume_from)
    )
    mine = (Run.experiment_id == experiment.id, Run.rung.is_(None))
    rows = session.execute(query.where(*mine).group_by(Run.variant).order_by(Run.variant))
    told = [f"{count(number, 'run')} of {variant}" for variant, number in rows]
    if told:
        yield (
            f"{listed(told)} went on without a worker that had NaN or Inf or was killed: from then on with fewer "
            "workers than the others."
        )


def _of_defaults(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield in which defaults variants of one algorithm differ, because they were submitted at other times."""
    names: dict[str, list[Document]] = defaultdict(list)
    for variant in experiment.spec["variants"]:
        names[variant["algorithm"]].append(variant)
    if not (several := {name: variants for name, variants in names.items() if len(variants) > 1}):
        return
    mine = (Run.experiment_id == experiment.id, Run.algorithm.in_(several))
    first = select(func.min(Run.number)).where(*mine).group_by(Run.variant)
    rows = session.execute(select(Run.variant, Run.spec["algorithm"]).where(*mine, Run.number.in_(first)))
    had: dict[str, Document] = {}
    for variant, chosen in rows:
        without = {name: value for (algorithm, name), value in WITHOUT.items() if algorithm == chosen["name"]}
        had[variant] = {**without, **chosen["parameters"]}
    tuning = experiment.spec.get("tuning")
    for algorithm, variants in several.items():
        spaces = (tuning or {}).get("spaces", {})
        if tuning and algorithm not in spaces:  # then it is not known what was searched
            continue
        if told := _differing(variants, had, spaces.get(algorithm, {})):
            yield (
                f"A default of {algorithm} has changed between the versions of this experiment, so that its "
                f"variants differ in what they do not name: {'; '.join(told)}."
            )


def _differing(variants: Sequence[Document], had: Mapping[str, Document], spaces: Document) -> list[str]:
    """Return in words the parameters of which variants of one algorithm had different values by default."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for variant in variants:
        parameters, own = had.get(variant["name"], {}), {**spaces, **variant.get("search", {})}
        searched = {n for n, each in own.items() if each and Space.model_validate(each).applies(parameters)}
        for name, value in parameters.items():
            if name not in searched and name not in variant["parameters"]:
                values[name][word(value)].append(variant["name"])
    return [
        f"{name} {' and '.join(f'{value} ({listed(who)})' for value, who in of.items())}"
        for name, of in values.items()
        if len(of) > 1
    ]


def _of_seeds(versions: Sequence[Document]) -> Iterator[str]:
    counts = [tuple(cluster["seeds"] for cluster in version["clusters"]) for version in versions]
    times = sum(before != after for before, after in pairwise(counts))
    if times == 0:
        return
    how = "" if times == 1 else f" {times} times"
    yield (
        f"Seeds were added{how} after {_number(counts[0])} had been compared (now {_number(counts[-1])}): "
        "intervals and claims assume a number of seeds that was fixed beforehand, and find differences where "
        "there are none more often than they say."
    )


def _number(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _of_variants(versions: Sequence[Document]) -> Iterator[str]:
    """Yield which variants were measured later; simulated time is the same at any time."""
    real = [cluster["name"] for cluster in versions[-1]["clusters"] if cluster.get("virtual") is None]
    first = {variant["name"] for variant in versions[0]["variants"]}
    later = [variant["name"] for variant in versions[-1]["variants"] if variant["name"] not in first]
    if real and later:
        verb = "was" if len(later) == 1 else "were"
        yield (
            f"On {listed(real)}, {listed(later)} {verb} measured after the others, not in turn with them: a "
            "machine that has become faster or slower meanwhile changes the ratio."
        )


def _of_machines(session: Session, experiment: Experiment) -> Iterator[str]:
    """Yield in what the programs and processors of reported runs differ, as the runs told."""
    query = select(Run.cluster, Run.simulated, Run.hardware, Run.versions)
    rows = session.execute(
        query.where(Run.experiment_id == experiment.id, Run.rung.is_(None)).order_by(Run.number)
    )
    seen: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for cluster, simulated, hardware, versions in rows:
        for name, value in made_by(simulated, hardware, versions).items():
            seen[name, cluster] |= {value: None}
    several = {place: list(values) for place, values in seen.items() if len(values) > 1}
    told = [
        f"{name} on {cluster} ({', '.join(values[:MOST_SHOWN])})" for (name, cluster), values in several.items()
    ]
    if told:
        yield f"Its runs were not all made by the same: {'; '.join(told)}."
