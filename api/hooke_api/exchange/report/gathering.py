"""What a report tells, read in one transaction."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hooke.catalogue.joined import joined
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.comparisons.schemas import Comparison
from hooke_api.comparisons.service import answer_comparison
from hooke_api.experiments.schemas import ExperimentView
from hooke_api.experiments.service import view
from hooke_api.metrics.curves import CurveStore
from hooke_api.metrics.schemas import BandAnswer, Metric
from hooke_api.metrics.service import answer_bands
from hooke_api.models import RankTotals, Run, database_time
from hooke_api.planning.schemas import TuningView
from hooke_api.planning.service import answer_tuning
from hooke_api.storage.database import Database
from hooke_api.storage.present import present_experiment

POINTS = 200
"""Points of a curve."""


@dataclass(frozen=True)
class Variant:
    """What the reported runs of a variant have, defaults and tuned values included."""

    algorithm: str
    parameters: Mapping[str, Any]
    """Of the algorithm, and settings of the workload, named `workload.NAME`."""
    communication: Mapping[str, Any]
    tuned: bool
    """Whether its places may have other parameters than those of the first of its runs."""


@dataclass(frozen=True)
class Environment:
    """Hardware and versions that some runs of a cluster reported."""

    cluster: str
    simulated: bool
    hosts: tuple[str, ...]
    hardware: Mapping[str, Any]
    versions: Mapping[str, Any]
    runs: int


@dataclass(frozen=True)
class Told:
    """Everything in a report."""

    experiment: ExperimentView
    comparison: Comparison
    metric: Metric
    bands: BandAnswer
    variants: Mapping[str, Variant]
    environments: list[Environment]
    tuning: TuningView | None
    at: datetime


def gathered(database: Database, store: CurveStore, experiment_id: str, silence: timedelta) -> Told:
    """Read what a report on an experiment tells. Raises ResourceNotFound."""
    with database.read() as session:
        experiment = view(session, present_experiment(session, experiment_id), silence)
        metric: Metric = experiment.spec.target.metric if experiment.spec.target else "validation_accuracy"
        return Told(
            experiment=experiment,
            comparison=answer_comparison(session, experiment_id),
            metric=metric,
            bands=answer_bands(session, store, experiment_id, [metric], "clock", POINTS),
            variants=_variants(session, experiment_id, tuned=experiment.spec.tuning is not None),
            environments=_environments(session, experiment_id),
            tuning=answer_tuning(session, experiment_id) if experiment.spec.tuning else None,
            at=database_time(session),
        )


def _variants(session: Session, experiment_id: str, tuned: bool) -> dict[str, Variant]:
    mine = (Run.experiment_id == experiment_id, Run.rung.is_(None))
    first = select(func.min(Run.number)).where(*mine).group_by(Run.variant)
    query = select(Run.variant, Run.algorithm, Run.spec).where(Run.experiment_id == experiment_id)
    query = query.where(Run.number.in_(first)).order_by(Run.number)
    return {
        variant: Variant(
            algorithm,
            joined(spec["algorithm"]["parameters"], spec.get("workload_settings", {})),
            spec.get("communication", {}),
            tuned,
        )
        for variant, algorithm, spec in session.execute(query)
    }


def _environments(session: Session, experiment_id: str) -> list[Environment]:
    """Return what the runs of each cluster reported, those alike together, the most frequent first."""
    query = select(Run.id, Run.cluster, Run.simulated, Run.hardware, Run.versions)
    found: Counter[tuple[str, bool, str, str]] = Counter()
    kinds: dict[str, tuple[str, bool, str, str]] = {}
    for run, cluster, simulated, hardware, versions in session.execute(
        query.where(Run.experiment_id == experiment_id)
    ):
        if hardware or versions:
            texts = (json.dumps(each, sort_keys=True) for each in (hardware, versions))
            kinds[run] = (cluster, simulated, *texts)
            found[kinds[run]] += 1
    hosts: dict[tuple[str, bool, str, str], set[str]] = defaultdict(set)
    seen = select(RankTotals.run_id, RankTotals.host).join(Run, Run.id == RankTotals.run_id)
    seen = seen.where(Run.experiment_id == experiment_id, RankTotals.host.is_not(None)).distinct()
    for run, host in session.execute(seen):
        if run in kinds and host is not None:
            hosts[kinds[run]].add(host)
    return [
        Environment(kind[0], kind[1], tuple(sorted(hosts[kind])), json.loads(kind[2]), json.loads(kind[3]), runs)
        for kind, runs in found.most_common()
    ]
