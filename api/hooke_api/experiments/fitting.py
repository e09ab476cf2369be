"""Whether the ranks of real runs fit their clusters: a run that cannot start is refused, not sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hooke.catalogue.expand import PlannedRun
from hooke.errors import Fault, SpecError
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.models import Cluster

RANKS_PER_CORE = 16
"""Ranks that may share a core under the launcher `local`; more than one is a warning."""
RANK_BYTES = 128 * 2**20
"""Memory that a rank takes at least, with PyTorch and without data or model."""


def check_fit(session: Session, spec: ExperimentSpec, planned: Sequence[PlannedRun]) -> None:
    """Raise SpecError with the number that would fit, for every list of workers with one that does not."""
    if faults := list(_faults(session, spec, planned)):
        raise SpecError(faults)


def _faults(session: Session, spec: ExperimentSpec, planned: Sequence[PlannedRun]) -> Iterator[Fault]:
    real = [run for run in planned if run.spec.world == "mpi"]
    hosts = select(Cluster).where(Cluster.name.in_({run.host for run in real}))
    limits = {cluster.name: _limit(cluster) for cluster in session.scalars(hosts)}
    places = {cluster.name: pointer("clusters", i, "workers") for i, cluster in enumerate(spec.clusters)}
    largest: dict[str, PlannedRun] = {}
    for run in real:
        if run.host in limits and run.slots > limits[run.host][0]:
            largest[run.cluster] = max(run, largest.get(run.cluster, run), key=lambda each: each.slots)
    for cluster, run in largest.items():
        most, why = limits[run.host]
        server = f" and {run.servers} server{'s' * (run.servers != 1)}" if run.servers else ""
        what = "workers"
        if (threads := run.spec.worker_slots) > run.workers:
            why = f"{why}; every thread takes a slot, and the workers have {threads}"
            what = "threads of workers"
        yield Fault(
            places[cluster],
            f"{run.variant} on {cluster}: {run.workers} workers{server} do not fit: {why}. At most "
            f"{max(0, most - run.servers)} {what} of {run.variant} fit.",
        )


def _limit(cluster: Cluster) -> tuple[int, str]:
    """Return the largest number of ranks of a run there, and what sets it, in words."""
    if cluster.launcher != "local":
        return cluster.slots, f"its launcher has {cluster.slots} slots"
    by_cores = RANKS_PER_CORE * cluster.cores
    memory = cluster.hardware.get("memory_bytes")
    if isinstance(memory, int) and memory // RANK_BYTES < by_cores:
        size = f"{memory / 2**30:.1f} GiB of memory hold {memory // RANK_BYTES} ranks"
        return memory // RANK_BYTES, f"{size}, {RANK_BYTES // 2**20} MiB each before any data"
    cores = "core holds" if cluster.cores == 1 else "cores hold"
    return by_cores, f"its {cluster.cores} {cores} {by_cores} ranks, {RANKS_PER_CORE} on each"
