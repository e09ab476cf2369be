"""How long planned runs would take on their clusters, as similar runs did, and when they would start."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from hooke.catalogue.expand import PlannedRun
from hooke.spec.specification import ExperimentSpec
from sqlalchemy.orm import Session

from hooke_api.models import Cluster
from hooke_api.queue.likeness import Kind
from hooke_api.queue.outlook import FURTHEST, outlooks
from hooke_api.queue.prediction import Z90, total
from hooke_api.queue.state import Batch, Entry
from hooke_api.scheduling import history
from hooke_api.scheduling.waiting import Queue
from hooke_api.waiting.schemas import DurationView, WaitingView
from hooke_api.waiting.service import basis, queue_of, waiting_view


def durations(session: Session, spec: ExperimentSpec, planned: Iterable[PlannedRun]) -> list[DurationView]:
    """Return how long planned runs take for each cluster of their experiment, in the order of the plan."""
    clusters: dict[tuple[str, str], Counter[Kind]] = {}
    for run in planned:
        clusters.setdefault((run.cluster, run.host), Counter())[_kind(spec, run)] += 1
    return [_duration(session, cluster, host, kinds) for (cluster, host), kinds in clusters.items()]


def if_submitted(
    session: Session, spec: ExperimentSpec, planned: Iterable[PlannedRun], who: str, silence: timedelta
) -> list[WaitingView]:
    """Return what would be known of planned runs in the queue of each registered cluster, were they submitted now.

    Of a priority other than 0 nothing is known before the submission. `silence`: after which a cluster counts as
    offline.
    """
    hosts: dict[str, Counter[tuple[Kind, int]]] = {}
    for run in planned:
        hosts.setdefault(run.host, Counter())[_kind(spec, run), run.ranks] += 1
    return [
        _place(queue, who, kinds)
        for host, kinds in hosts.items()
        if (queue := queue_of(session, host, silence)) is not None
    ]


def _place(queue: Queue, who: str, kinds: Mapping[tuple[Kind, int], int]) -> WaitingView:
    state, known = queue.state, queue.known.durations
    batches = tuple(Batch(runs, ranks, known.predict(kind)) for (kind, ranks), runs in kinds.items())
    entry = Entry(experiment="", user=who, submitted_at=state.now, batches=batches)
    all_ = outlooks(replace(state, waiting=(*state.waiting, entry)))
    found = next(each for each in all_ if each.entry is entry)
    return waiting_view(found, state.cluster, found.runs_ahead, found.start, found.end, found.reason)


def _kind(spec: ExperimentSpec, run: PlannedRun) -> Kind:
    return Kind(
        cluster=run.host,
        simulated=run.spec.world == "virtual",
        workload=spec.workload.name,
        algorithm=run.spec.algorithm.name,
        ranks=run.ranks,
        samples=run.spec.budget.samples,
        limit=spec.budget.max_seconds,
        target=spec.target.value if spec.target else None,
    )


def _duration(session: Session, cluster: str, host: str, kinds: Mapping[Kind, int]) -> DurationView:
    known = history.known(session, host, session.get_one(Cluster, host).slots)
    batches = [(runs, known.durations.predict(kind)) for kind, runs in kinds.items()]
    unlike = sum(runs for runs, predicted in batches if predicted is None)
    found = total(batches)
    least, mean, most = (None, None, None) if found is None else _interval(*found)
    return DurationView(
        cluster=cluster,
        host=host,
        runs=sum(kinds.values()),
        unlike=unlike,
        seconds=mean,
        least=least,
        most=most,
        likeness=None if mean is None else basis([each for _, each in batches if each is not None]),
    )


def _interval(mean: float, deviation: float) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return 5%, mean and 95% of a log-normal duration; None: beyond what is predicted at all."""
    if not 0 < mean <= FURTHEST:
        return None, None, None
    square = math.log1p((deviation / mean) ** 2)
    middle, reach = mean * math.exp(-square / 2), Z90 * math.sqrt(square)
    return middle * math.exp(-reach), mean, middle * math.exp(reach)
