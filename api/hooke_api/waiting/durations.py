"""How long planned runs would take on their clusters, from the durations of similar runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from hooke.catalogue.expand import PlannedRun
from hooke.spec.specification import ExperimentSpec
from sqlalchemy.orm import Session

from hooke_api.models import Cluster
from hooke_api.queue.likeness import Kind
from hooke_api.queue.outlook import FURTHEST
from hooke_api.queue.prediction import Z90, total
from hooke_api.scheduling import history
from hooke_api.waiting.schemas import DurationView
from hooke_api.waiting.service import basis


def durations(session: Session, spec: ExperimentSpec, planned: Iterable[PlannedRun]) -> list[DurationView]:
    """Return how long planned runs take for each cluster of their experiment, in the order of the plan."""
    clusters: dict[tuple[str, str], Counter[Kind]] = {}
    for run in planned:
        clusters.setdefault((run.cluster, run.host), Counter())[_kind(spec, run)] += 1
    return [_duration(session, cluster, host, kinds) for (cluster, host), kinds in clusters.items()]


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
