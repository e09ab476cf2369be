"""What is allowed in an experiment but deserves a thought before it costs an hour."""

from __future__ import annotations

from collections.abc import Iterator

from hooke.expand import PlannedRun
from hooke.spec import ExperimentSpec
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import CatalogueEntry, Cluster


def warnings(session: Session, spec: ExperimentSpec, planned: list[PlannedRun]) -> list[str]:
    """Return the warnings of a valid experiment, each a sentence."""
    return [
        *_about_seeds(spec),
        *_about_target(spec),
        *_about_cores(session, planned),
        *_about_catalogue(session, spec),
    ]


def _about_seeds(spec: ExperimentSpec) -> Iterator[str]:
    for cluster in spec.clusters:
        if cluster.seeds < 3:
            yield (
                f"{cluster.name}: {cluster.seeds} seed{'s' * (cluster.seeds > 1)}; "
                "a verdict needs at least 3 pairs, so this one will make no claim."
            )


def _about_target(spec: ExperimentSpec) -> Iterator[str]:
    if spec.target is None:
        yield "There is no target, so no time to target is compared."
    if len(spec.variants) == 1:
        yield "There is one variant, so there is nothing to compare it with."


def _about_cores(session: Session, planned: list[PlannedRun]) -> Iterator[str]:
    cores = dict(session.execute(select(Cluster.name, Cluster.cores)).all())
    crowded = {
        (run.cluster, run.variant, run.spec.ranks): cores[run.host]
        for run in planned
        if run.spec.world == "mpi" and run.spec.ranks > cores[run.host]
    }
    for (cluster, variant, ranks), available in crowded.items():
        yield (
            f"{variant} on {cluster}: {ranks} ranks on {available} cores disturb one another; "
            "its communication fraction will be marked oversubscribed."
        )


def _about_catalogue(session: Session, spec: ExperimentSpec) -> Iterator[str]:
    reported: dict[str, set[tuple[str, str]]] = {}
    for cluster, kind, name in session.execute(
        select(CatalogueEntry.cluster, CatalogueEntry.kind, CatalogueEntry.name)
    ):
        reported.setdefault(cluster, set()).add((kind, name))
    wanted = {("workload", spec.workload.name), *(("algorithm", v.algorithm) for v in spec.variants)}
    for host in dict.fromkeys(choice.host for choice in spec.clusters):
        for kind, name in sorted(wanted - reported.get(host, wanted)):
            yield f"{host}: its agent does not know the {kind} {name}; runs that need it will fail."
