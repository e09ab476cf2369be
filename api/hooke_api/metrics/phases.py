"""Phases over time: how workers spent each part of the wall time of the runs of an experiment.

From the steps that they wrote: a step has the seconds of each phase until its end. Within a step each phase counts
evenly over its time, as steps do not tell the order of phases.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np
from hooke.trace.phases import PHASES
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.metrics.attempts import Begun, keep_steps
from hooke_api.metrics.loading import Facts, parts, read_begun, read_columns, read_facts
from hooke_api.metrics.schemas import PhasesAnswer, PhasesRow
from hooke_api.metrics.table import Column, Floats, writing_workers
from hooke_api.models import RankTotals, Run
from hooke_api.storage.present import present_experiment

MEASURED = (*map(str, PHASES), "hidden")
"""Columns of seconds; the last one runs at the same time as the others."""
NAMES = ("step", "wall", *MEASURED)
MOST_STEPS = 4_000_000
"""Steps, over ranks and runs, that are read; of more, fewer seeds are, but at least one of each group."""

Group = tuple[str, str, int]
"""Variant, cluster, number of workers."""


def seconds_of(rank: Mapping[str, Column], edges: Floats) -> Floats:
    """Return the seconds of one rank in each bin, in the order of MEASURED. Shape (7, len(edges) - 1).

    rank: its steps, ascending; edges: of the bins, s, ascending.
    """
    ended = np.maximum.accumulate(rank["wall"].astype(np.float64))
    last = len(ended) - 1
    at = np.where(edges >= ended[last], last, np.searchsorted(ended, edges))  # the step in which each edge lies
    length = np.stack([rank[name][at] for name in MEASURED[:-1]]).sum(axis=0, dtype=np.float64)
    began = np.maximum(ended[at] - length, np.where(at > 0, ended[at - 1], 0.0))
    room = ended[at] - began
    gone = np.clip((edges - began) / np.where(room > 0, room, 1.0), 0.0, 1.0)
    gone = np.where(room > 0, gone, edges >= ended[at])
    found = [np.cumsum(rank[name], dtype=np.float64)[at] - (1 - gone) * rank[name][at] for name in MEASURED]
    return np.diff(np.stack(found))


def over_time(
    session: Session, experiment: str, cluster: str | None, workers: int | None, bins: int
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
    spans: dict[tuple[str, int], float] = defaultdict(float)
    for group, members in groups.items():
        spans[group[1:]] = max(spans[group[1:]], *(sizes[run.id][1] for run in members))
    begun = read_begun(session, [run for members in groups.values() for run in members])
    return PhasesAnswer(
        phases=list(MEASURED[:-1]),
        bins=bins,
        rows=[
            _row(session, group, members, begun, np.linspace(0, spans[group[1:]], bins + 1))
            for group, members in groups.items()
        ],
    )


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


def _ranks(session: Session, run: Facts, begun: Sequence[Begun]) -> Iterator[Mapping[str, Column]]:
    columns, _ = read_columns(session, run.id, {}, names=NAMES)
    yield from keep_steps(columns, begun, writing_workers(run.workers), NAMES).values()


def _row(
    session: Session, group: Group, members: Sequence[Facts], begun: Mapping[str, list[Begun]], edges: Floats
) -> PhasesRow:
    total, end = np.zeros((len(MEASURED), len(edges) - 1)), 0.0
    for run in members:
        for rank in _ranks(session, run, begun[run.id]):
            if len(rank["wall"]):
                total += seconds_of(rank, edges)
                end = max(end, float(rank["wall"][-1]))
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
