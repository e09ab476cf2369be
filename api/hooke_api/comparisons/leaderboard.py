"""Methods ranked over several workloads, for each cluster and number of workers."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hooke.comparison.profiles import TAU_MAX, BenchmarkScore, profile, scores
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from hooke_api.comparisons.board_workload import workload_of
from hooke_api.comparisons.entries import Entry, LeftOut, MethodTimes, Place, best, entries, in_words
from hooke_api.comparisons.leaderboard_schemas import (
    Board,
    BoardChoice,
    ExperimentLeftOut,
    Leaderboard,
    MethodResult,
    RankedMethod,
    UnrankedMethod,
)
from hooke_api.models import Experiment
from hooke_api.storage.colors import shown
from hooke_api.storage.reach import in_reach

MOST_EXPERIMENTS = 200
"""The newest so many experiments are looked at."""


def answer_leaderboard(session: Session, workload: str | None = None, target: str | None = None) -> Leaderboard:
    """Return a board for each place that has an experiment which counts.

    `workload`, `target`: the only ones to consider, as `choices` names them.
    """
    query = select(Experiment).where(in_reach(Experiment.project_id), Experiment.deleted_at.is_(None))
    query = query.order_by(Experiment.number.desc()).limit(MOST_EXPERIMENTS)
    newest = session.scalars(query.options(undefer(Experiment.earlier))).all()  # one query in place of many
    places: dict[Place, list[Entry]] = defaultdict(list)
    given = [found for experiment in newest for found in entries(session, experiment)]
    left_out = [each for each in given if isinstance(each, LeftOut)]
    every = _named([each for each in given if isinstance(each, Entry)])
    for entry in every:
        if workload in (None, entry.workload) and target in (None, entry.target):
            places[entry.place].append(entry)
    boards = []
    for at in sorted(places):
        newest_sources, edited = _newest_sources(places[at])
        counted, differing = _comparable(newest_sources)
        measured, apart = _measured(counted)
        left_out += edited + differing + apart
        if measured:
            boards.append(_board(session, at, counted, measured))
    once = {(each.experiment.id, each.why): each for each in left_out}.values()  # several places, one reason
    return Leaderboard(
        tau_max=TAU_MAX,
        choices=_choices(every),
        boards=sorted(boards, key=lambda each: (-len(each.workloads), each.simulated)),
        left_out=[
            ExperimentLeftOut(
                id=each.experiment.id, number=each.experiment.number, name=each.experiment.name, why=each.why
            )
            for each in sorted(once, key=lambda each: each.experiment.number, reverse=True)
        ],
    )


def _choices(found: Sequence[Entry]) -> list[BoardChoice]:
    """Return the workloads that were measured, each with its targets, those of the newest experiments first."""
    targets: dict[str, dict[str, None]] = defaultdict(dict)
    for entry in _newest_first(found):
        targets[entry.workload][entry.target] = None
    return [BoardChoice(workload=name, targets=list(targets[name])) for name in sorted(targets)]


def _newest_sources(found: Sequence[Entry]) -> tuple[list[Entry], list[LeftOut]]:
    """Return what ran with the newest sources of own workloads and own algorithms, and the rest with reasons.

    An algorithm has one source on a board, whatever the workload: its score is over all of them.
    """
    workloads: dict[str, Entry] = {}
    algorithms: dict[str, Entry] = {}
    kept, others = [], []
    for entry in _newest_first(found):
        name = entry.resolved.name
        newest = workloads.setdefault(name, entry)
        if newest.resolved.hash != entry.resolved.hash:
            others.append(LeftOut(entry.experiment, f"without {_edited(name, newest)}"))
            continue
        latest = {name: algorithms.setdefault(name, entry) for name in entry.methods if name in entry.sources}
        former = {name: each for name, each in latest.items() if each.sources[name] != entry.sources[name]}
        methods = {name: times for name, times in entry.methods.items() if name not in former}
        others += [
            LeftOut(entry.experiment, f"on {entry.workload} without {_edited(name, each)}")
            for name, each in former.items()
        ]
        if methods:
            kept.append(replace(entry, methods=methods))
    return kept, others


def _edited(name: str, newest: Entry) -> str:
    return (
        f"{name}, which was edited: experiment #{newest.experiment.number} is newer and has another source of it"
    )


def _newest_first(found: Sequence[Entry]) -> list[Entry]:
    return sorted(found, key=lambda each: each.experiment.number, reverse=True)


def _named(found: Sequence[Entry]) -> list[Entry]:
    """Return the entries with one name for each workload: the shortest one given, if no other workload has it."""
    resolved = [in_words(each.resolved) for each in found]
    given: dict[str, list[str]] = defaultdict(list)
    for full, entry in zip(resolved, found, strict=True):
        given[full].append(entry.workload)
    shortest = {full: min(names, key=lambda name: (len(name), name)) for full, names in given.items()}
    times = Counter(shortest.values())
    names = [shortest[full] if times[shortest[full]] == 1 else full for full in resolved]
    return [replace(entry, workload=name) for entry, name in zip(found, names, strict=True)]


def _comparable(found: Sequence[Entry]) -> tuple[dict[str, list[Entry]], list[LeftOut]]:
    """Return, by workload, the entries with the conditions of one of them, and the others with reasons.

    It is the newest one that has a method which was measured on every workload, or else the newest one.
    """
    workloads_of: dict[str, set[str]] = defaultdict(set)
    for entry in found:
        for name in entry.methods:
            workloads_of[name].add(entry.workload)
    most = len({entry.workload for entry in found})
    everywhere = {name for name, of_method in workloads_of.items() if len(of_method) == most}
    counted: dict[str, list[Entry]] = {}
    others = []
    for entry in sorted(_newest_first(found), key=lambda each: everywhere.isdisjoint(each.methods)):
        deciding = counted.setdefault(entry.workload, [entry])[0]
        if entry is deciding:
            continue
        differing = [key for key, value in entry.conditions.items() if deciding.conditions[key] != value]
        if differing:
            others.append(LeftOut(entry.experiment, _differs(entry, deciding, differing)))
        else:
            counted[entry.workload].append(entry)
    return {workload: _newest_first(entries) for workload, entries in counted.items()}, others


def _differs(entry: Entry, deciding: Entry, differing: Sequence[str]) -> str:
    newer = deciding.experiment.number > entry.experiment.number
    why = "is newer and has" if newer else "has methods that were measured on every workload, and"
    other = " and ".join(differing)
    return f"on {entry.workload}, experiment #{deciding.experiment.number} {why} another {other}"


def _measured(counted: Mapping[str, Sequence[Entry]]) -> tuple[dict[str, dict[str, MethodTimes]], list[LeftOut]]:
    """Return the methods of each workload, without those on which the ranked methods have no seed in common.

    What is without such a seed depends on who is ranked, and this on the workloads: both until nothing changes.
    """
    measured = {workload: _methods(found) for workload, found in sorted(counted.items())}
    others: list[LeftOut] = []
    while True:
        complete, _ = _complete(measured)
        apart = [workload for workload, times in measured.items() if not _shared_seeds(times, complete)]
        if not apart:
            return measured, others
        for workload in apart:
            why = f"on {workload}, no seed has a result of all ranked methods"
            others += [LeftOut(entry.experiment, why) for entry in counted[workload]]
            del measured[workload]


def _board(
    session: Session,
    at: Place,
    counted: Mapping[str, Sequence[Entry]],
    measured: Mapping[str, Mapping[str, MethodTimes]],
) -> Board:
    cluster, workers, described = at
    complete, lacking = _complete(measured)
    shared = [(times, _shared_seeds(times, complete)) for times in measured.values()]
    scored = scores([{name: _seconds(times[name], seeds) for name in complete} for times, seeds in shared])
    order = sorted(scored, key=lambda name: (-scored[name].value, name))
    colors = _colors(counted)
    return Board(
        cluster=cluster,
        workers=workers,
        simulated=json.loads(described)[1] is not None,
        oversubscribed=any(each.oversubscribed for name in measured for each in counted[name]),
        workloads=[workload_of(session, name, counted[name]) for name in measured],
        methods=[
            _ranked(name, scored[name], [times[name].on(seeds) for times, seeds in shared], colors)
            for name in order
        ],
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


def _shared_seeds(times: Mapping[str, MethodTimes], complete: Sequence[str]) -> set[int]:
    """Return the seeds of all ranked methods that have a setting; if none of them has, those of another method."""
    ranked = [set(times[name].seconds) for name in complete if times[name].seconds]
    others = [set(each.seconds) for each in times.values() if each.seconds]
    found = ranked or others[:1]
    return set.intersection(*found) if found else set()


def _seconds(times: MethodTimes, seeds: Collection[int]) -> Mapping[int, float]:
    """Return a method's times by seed; one without a setting missed the target with all seeds."""
    return times.on(seeds).seconds or dict.fromkeys(seeds, math.inf)


def _colors(counted: Mapping[str, Sequence[Entry]]) -> dict[tuple[str, str], int]:
    """Return the place in the palette of each variant, by the id of its experiment and its name."""
    experiments = {each.experiment.id: each.experiment for found in counted.values() for each in found}
    return {
        (id, name): place
        for id, each in experiments.items()
        for name, place in zip(each.variants, shown(each.variants, each.colors), strict=True)
    }


def _ranked(
    name: str, score: BenchmarkScore, times: Sequence[MethodTimes], colors: Mapping[tuple[str, str], int]
) -> RankedMethod:
    corners = profile(score.ratios)
    return RankedMethod(
        algorithm=name,
        color=colors.get((times[0].experiment, times[0].variant), 0),
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
