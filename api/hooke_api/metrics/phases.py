"""Phases over time: how workers spent each part of the wall time of the runs of an experiment.

From the steps that they wrote: a step has the seconds of each phase until its end. Within a step each phase counts
evenly over its time, as steps do not tell the order of phases.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.metrics.loading import Facts, parts, read_begun, read_facts
from hooke_api.metrics.phase_seconds import MEASURED, PhaseStore, RankSeconds, Stored
from hooke_api.metrics.schemas import PhasesAnswer, PhasesRow
from hooke_api.metrics.table import Floats, writing_workers
from hooke_api.models import RankTotals, Run
from hooke_api.storage import steps as stored
from hooke_api.storage.present import present_experiment

MOST_STEPS = 4_000_000
"""Steps, over ranks and runs, that are read; of more, fewer seeds are, but at least one of each group."""
ROUNDED_STEPS = 200_000
"""Steps from which on the bins of runs in progress end at a round time, so that they seldom change: of the steps
that were read, what was added up stays of use."""

Group = tuple[str, str, int]
"""Variant, cluster, number of workers."""


def over_time(
    session: Session, store: PhaseStore, experiment: str, cluster: str | None, workers: int | None, bins: int
) -> PhasesAnswer:
    """Return the phases of every group of reported runs, in the order of the runs. Raises ResourceNotFound."""
    present_experiment(session, experiment)
    of_place = [Run.cluster == cluster] * (cluster is not None) + [Run.workers == workers] * (workers is not None)
    runs = read_facts(session, Run.experiment_id == experiment, Run.rung.is_(None), *of_place)
    sizes = _sizes(session, runs)
    groups: dict[Group, list[Facts]] = defaultdict(list)
    for run in runs:
        if sizes.get(run.id, (0, 0.0))[0]:
            groups[run.variant, run.cluster, run.workers].append(run)
    groups = _few(groups, {run: steps for run, (steps, _) in sizes.items()})
    spans = _spans(groups, sizes)
    chosen = [run for members in groups.values() for run in members]
    begun, counts = read_begun(session, chosen), dict[str, stored.Count]()
    for ids in parts(chosen):
        counts.update(stored.counts(session, ids))

    def row(group: Group, members: Sequence[Facts]) -> PhasesRow:
        edges, found = np.linspace(0, spans[group[1:]], bins + 1), {}
        for run in members:
            of_run = Stored(counts.get(run.id, (0, 0)), tuple(begun[run.id]))
            found[run.id] = store.seconds(session, run.id, of_run, writing_workers(run.workers), edges)
        return _row(group, members, found, edges)

    return PhasesAnswer(
        phases=list(MEASURED[:-1]),
        bins=bins,
        rows=[row(group, members) for group, members in groups.items()],
    )


def _spans(
    groups: Mapping[Group, Sequence[Facts]], sizes: Mapping[str, tuple[int, float]]
) -> dict[tuple[str, int], float]:
    """Return the end of the last bin of each cluster and number of workers."""
    of_place: dict[tuple[str, int], list[Facts]] = defaultdict(list)
    for group, members in groups.items():
        of_place[group[1:]] += members
    spans = {}
    for place, members in of_place.items():
        spans[place] = max(sizes[run.id][1] for run in members)
        going_on = not all(run.ended for run in members)
        if going_on and sum(sizes[run.id][0] for run in members) > ROUNDED_STEPS:
            spans[place] = rounded(spans[place])
    return spans


def rounded(seconds: float) -> float:
    """Return the least of 8/8, 9/8, ... 15/8 times a power of two that is not less."""
    share, power = math.frexp(seconds)
    return math.ldexp(math.ceil(share * 16) / 16, power)


def _sizes(session: Session, runs: Sequence[Facts]) -> dict[str, tuple[int, float]]:
    """Return the steps of all ranks of each run, and its wall time, s: those of its newest attempt with any step.

    An attempt counts on from its checkpoint, if it has one; otherwise the time of those before it is gone.
    """
    of, found = RankTotals, dict[str, tuple[int, float]]()
    for ids in parts(runs):
        query = select(of.run_id, func.sum(of.steps), func.max(of.wall)).where(of.run_id.in_(ids), of.steps > 0)
        rows = session.execute(query.group_by(of.run_id, of.attempt).order_by(of.run_id, of.attempt))
        found.update({run: (int(steps), float(wall)) for run, steps, wall in rows})
    return found


def _few(groups: Mapping[Group, list[Facts]], steps: Mapping[str, int]) -> dict[Group, list[Facts]]:
    """Return the groups with as many seeds each as may be read, at least one."""
    kept: dict[Group, list[Facts]] = {group: [] for group in groups}
    left = MOST_STEPS
    for n, seeds in enumerate(zip_longest(*groups.values())):
        for group, run in zip(groups, seeds, strict=True):
            if run is not None and (n == 0 or steps[run.id] <= left):
                kept[group].append(run)
                left -= steps[run.id]
    return kept


def _row(
    group: Group, members: Sequence[Facts], found: Mapping[str, Sequence[RankSeconds]], edges: Floats
) -> PhasesRow:
    total, end = np.zeros((len(MEASURED), len(edges) - 1)), 0.0
    for run in members:
        for rank in found[run.id]:
            total += rank.in_parts(len(edges))
            end = max(end, rank.wall)
    recorded = total[:-1].sum(axis=0)
    shares = np.divide(total, recorded, out=np.zeros_like(total), where=recorded > 0).round(4)
    variant, cluster, workers = group
    return PhasesRow(
        variant=variant,
        cluster=cluster,
        simulated=members[0].simulated,
        workers=workers,
        runs=[run.id for run in members],
        span=float(edges[-1]),
        end=end,
        shares=shares[:-1].tolist(),
        hidden=shares[-1].tolist(),
    )
