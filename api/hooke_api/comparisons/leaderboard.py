"""Methods ranked over several workloads, for each cluster and number of workers."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from hooke.comparison.profiles import TAU_MAX, BenchmarkScore, profile, scores
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.comparisons.entries import Entry, LeftOut, MethodTimes, Place, best, entries
from hooke_api.comparisons.leaderboard_schemas import (
    Board,
    BoardWorkload,
    Counted,
    ExperimentLeftOut,
    Leaderboard,
    MethodResult,
    RankedMethod,
    UnrankedMethod,
)
from hooke_api.models import DEFAULT_PROJECT, Experiment

MOST_EXPERIMENTS = 200
"""The newest so many experiments are looked at."""


def answer_leaderboard(session: Session) -> Leaderboard:
    """Return a board for each place that has an experiment which counts."""
    query = select(Experiment).where(Experiment.project_id == DEFAULT_PROJECT)
    newest = session.scalars(query.order_by(Experiment.number.desc()).limit(MOST_EXPERIMENTS)).all()
    places: dict[Place, list[Entry]] = defaultdict(list)
    left_out: list[LeftOut] = []
    for experiment in newest:
        for found in entries(session, experiment):
            if isinstance(found, LeftOut):
                left_out.append(found)
            else:
                places[found.place].append(found)
    boards = []
    for at in sorted(places):
        counted, others = _comparable(places[at])
        left_out += others
        measured = {workload: _methods(found) for workload, found in sorted(counted.items())}
        for workload in [name for name, times in measured.items() if not _shared_seeds(times)]:
            why = f"on {workload}, no seed has a result of all methods"
            left_out += [LeftOut(entry.experiment, why) for entry in counted[workload]]
            del measured[workload]
        if measured:
            boards.append(_board(at, counted, measured))
    left_out.sort(key=lambda each: each.experiment.number, reverse=True)
    return Leaderboard(
        tau_max=TAU_MAX,
        boards=sorted(boards, key=lambda each: (-len(each.workloads), each.simulated)),
        left_out=[
            ExperimentLeftOut(
                id=each.experiment.id, number=each.experiment.number, name=each.experiment.name, why=each.why
            )
            for each in left_out
        ],
    )


def _comparable(found: Sequence[Entry]) -> tuple[dict[str, list[Entry]], list[LeftOut]]:
    """Return, by workload, the entries with the conditions of its newest one, and the others with reasons."""
    counted: dict[str, list[Entry]] = {}
    others = []
    for entry in sorted(found, key=lambda each: each.experiment.number, reverse=True):
        newest = counted.setdefault(entry.workload, [entry])[0]
        differing = [key for key, value in entry.conditions.items() if newest.conditions[key] != value]
        if entry is newest:
            continue
        if differing:
            why = f"experiment #{newest.experiment.number} is newer and has another {' and '.join(differing)}"
            others.append(LeftOut(entry.experiment, f"on {entry.workload}, {why}"))
        else:
            counted[entry.workload].append(entry)
    return counted, others


def _board(
    at: Place, counted: Mapping[str, Sequence[Entry]], measured: Mapping[str, Mapping[str, MethodTimes]]
) -> Board:
    cluster, workers, described = at
    complete, lacking = _complete(measured)
    scored = scores([{name: _seconds(times, name) for name in complete} for times in measured.values()])
    order = sorted(scored, key=lambda name: (-scored[name].value, name))
    return Board(
        cluster=cluster,
        workers=workers,
        simulated=json.loads(described)[1] is not None,
        oversubscribed=any(each.oversubscribed for name in measured for each in counted[name]),
        workloads=[_workload(name, counted[name]) for name in measured],
        methods=[_ranked(name, scored[name], [times[name] for times in measured.values()]) for name in order],
        unranked=[UnrankedMethod(algorithm=name, lacking=lacks) for name, lacks in lacking.items()],
    )


def _methods(found: Sequence[Entry]) -> dict[str, MethodTimes]:
    """Return the best variant of each method on one workload, over all experiments that count."""
    of_method: dict[str, list[MethodTimes]] = defaultdict(list)
    for entry in found:
        for name, times in entry.methods.items():
            of_method[name].append(times)
    return {name: best(times) for name, times in of_method.items()}


def _complete(measured: Mapping[str, Mapping[str, MethodTimes]]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the methods that were measured on every workload, and where each of the others was not."""
    names = sorted({name for times in measured.values() for name in times})
    lacking = {name: [workload for workload, times in measured.items() if name not in times] for name in names}
    complete = [name for name in names if not lacking[name]]
    return complete, {name: lacks for name, lacks in lacking.items() if lacks}


def _shared_seeds(times: Mapping[str, MethodTimes]) -> set[int]:
    """Return the seeds of all methods that have a setting."""
    of_methods = [set(each.seconds) for each in times.values() if each.seconds]
    return set.intersection(*of_methods) if of_methods else set()


def _seconds(times: Mapping[str, MethodTimes], name: str) -> Mapping[int, float]:
    """Return a method's times by seed; one without a setting missed the target with all seeds."""
    return times[name].seconds or dict.fromkeys(_shared_seeds(times), math.inf)


def _workload(name: str, found: Sequence[Entry]) -> BoardWorkload:
    refs = [
        Counted(id=each.experiment.id, number=each.experiment.number, name=each.experiment.name) for each in found
    ]
    return BoardWorkload(name=name, target=found[0].target, trials=found[0].trials, experiments=refs)


def _ranked(name: str, score: BenchmarkScore, times: Sequence[MethodTimes]) -> RankedMethod:
    corners = profile(score.ratios)
    return RankedMethod(
        algorithm=name,
        score=score.value,
        low=score.low,
        high=score.high,
        tau=[tau for tau, _ in corners],
        rho=[rho for _, rho in corners],
        results=[
            MethodResult(
                variant=each.variant,
                experiment=each.experiment,
                variants=each.variants,
                seconds=_finite(seconds),
                ratio=_finite(ratio),
                reached=sum(math.isfinite(one) for one in each.seconds.values()),
                seeds=len(each.seconds),
            )
            for each, seconds, ratio in zip(times, score.seconds, score.ratios, strict=True)
        ],
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
