"""Warnings about an experiment: settings that are allowed but probably not intended."""

from __future__ import annotations

from collections.abc import Iterator

from hooke.catalogue.expand import PlannedRun, experiment_warnings
from hooke.errors import Fault
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.experiments.faults import missing_data
from hooke_api.experiments.memory import memory, too_large
from hooke_api.models import Cluster
from hooke_api.storage.quotas import quota_warning

STYLES = 30
"""Variants with a line style of their own in the charts."""


def warnings(session: Session, spec: ExperimentSpec, planned: list[PlannedRun]) -> list[Fault]:
    """Return the warnings about a valid experiment, each with a JSON Pointer."""
    return [
        *experiment_warnings(spec, planned),
        *_about_variants(spec),
        *_about_seeds(spec),
        *_about_target(spec),
        *_about_cores(session, spec, planned),
        *_about_precision(session, spec, planned),
        *missing_data(session, spec, elsewhere=True),
        *_about_drained(session, planned),
        *too_large(spec, memory(session, spec, planned)),
    ]


def about_quota(session: Session, project: str) -> list[Fault]:
    """Return the warning about a project that may hold little more, by its id."""
    told = quota_warning(session, project)
    return [Fault("", told)] if told else []


def _about_variants(spec: ExperimentSpec) -> Iterator[Fault]:
    if (count := len(spec.variants)) > STYLES:
        yield Fault(
            "/variants",
            f"{count} variants: line styles repeat after {STYLES}, and each claim is corrected for {count - 1} "
            "comparisons, so that differences are harder to show. Several experiments with fewer show more.",
        )


def _about_seeds(spec: ExperimentSpec) -> Iterator[Fault]:
    for i, cluster in enumerate(spec.clusters):
        if cluster.seeds < 3:
            yield Fault(
                pointer("clusters", i, "seeds"),
                f"{cluster.name}: {cluster.seeds} seed{'s' * (cluster.seeds > 1)}; "
                "a verdict needs at least 3 pairs, so this one will make no claim.",
            )


def _about_target(spec: ExperimentSpec) -> Iterator[Fault]:
    if spec.target is None:
        yield Fault("/target", "There is no target, so no time to target is compared.")
    if len(spec.variants) == 1:
        yield Fault("/variants", "There is one variant, so there is nothing to compare it with.")


def _about_cores(session: Session, spec: ExperimentSpec, planned: list[PlannedRun]) -> Iterator[Fault]:
    cores = dict(session.execute(select(Cluster.name, Cluster.cores)).all())
    places = {cluster.name: pointer("clusters", i, "workers") for i, cluster in enumerate(spec.clusters)}
    crowded = {
        (run.cluster, run.variant, run.ranks): cores[run.host]
        for run in planned
        if run.spec.world == "mpi" and run.ranks > cores[run.host]
    }
    for (cluster, variant, ranks), available in crowded.items():
        yield Fault(
            places[cluster],
            f"{variant} on {cluster}: {ranks} ranks on {available} cores disturb one another; "
            "its communication fraction will be marked oversubscribed.",
        )


def _about_precision(session: Session, spec: ExperimentSpec, planned: list[PlannedRun]) -> Iterator[Fault]:
    """Warn about emulated bf16; clusters with older agents do not report it and get no warning."""
    if spec.compute.precision != "bf16" or spec.compute.device == "cuda":
        return
    hosts = select(Cluster).where(Cluster.name.in_({run.host for run in planned})).order_by(Cluster.name)
    slow = [cluster.name for cluster in session.scalars(hosts) if cluster.hardware.get("cpu_bf16") == "emulated"]
    if slow:
        yield Fault(
            pointer("compute", "precision"),
            f"The processors of {', '.join(slow)} have no instructions for bf16: without a CUDA device it is "
            "emulated, and many times slower than fp32.",
        )


def _about_drained(session: Session, planned: list[PlannedRun]) -> Iterator[Fault]:
    """Warn where runs would wait for somebody to resume their cluster."""
    hosts = {run.host for run in planned}
    query = select(Cluster.name).where(Cluster.name.in_(hosts), Cluster.draining).order_by(Cluster.name)
    for name in session.scalars(query):
        yield Fault(pointer("clusters"), f"The cluster {name} is drained: its runs wait until it is resumed.")
