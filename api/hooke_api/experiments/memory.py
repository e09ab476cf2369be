"""Memory that the planned runs of an experiment need on their hosts, predicted before they start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hooke.catalogue.expand import PlannedRun
from hooke.catalogue.footprint import Footprint, footprint
from hooke.errors import Fault
from hooke.hardware.memory import gib
from hooke.spec.pointers import pointer
from hooke.spec.specification import ExperimentSpec
from sqlalchemy import select
from sqlalchemy.orm import Session

from hooke_api.experiments.schemas import MemoryView
from hooke_api.models import Cluster

DEVICE = "vectors and activations are in main memory, not on a device"


def memory(session: Session, spec: ExperimentSpec, planned: Sequence[PlannedRun]) -> list[MemoryView]:
    """Return what the largest planned run of each cluster needs, in the order of the plan."""
    largest: dict[tuple[str, str], tuple[PlannedRun, Footprint] | None] = {}
    seen = set()
    for run in planned:
        place = (run.cluster, run.host)
        largest.setdefault(place, None)
        if (kind := (run.variant, run.cluster, run.workers, run.trial)) in seen:
            continue
        seen.add(kind)  # seeds change nothing
        found, before = footprint(run.spec, run.servers), largest[place]
        if found is not None and (before is None or found.total > before[1].total):
            largest[place] = run, found
    hosts = select(Cluster).where(Cluster.name.in_({host for _, host in largest}))
    known = {cluster.name: cluster for cluster in session.scalars(hosts)}
    return [_view(spec, cluster, host, known.get(host), found) for (cluster, host), found in largest.items()]


def _view(
    spec: ExperimentSpec,
    cluster: str,
    host: str,
    registered: Cluster | None,
    found: tuple[PlannedRun, Footprint] | None,
) -> MemoryView:
    if found is None:
        return MemoryView(cluster=cluster, host=host, available=None)
    run, needs = found
    told = [*needs.assumed, *([DEVICE] if spec.compute.device == "cuda" else [])]
    return MemoryView(
        cluster=cluster,
        host=host,
        variant=run.variant,
        workers=run.workers,
        processes=needs.processes,
        bytes=needs.total,
        program=needs.program,
        data=needs.data,
        vectors=needs.vectors,
        activations=needs.activations,
        available=_available(registered, run),
        assumed=told,
    )


def _available(registered: Cluster | None, run: PlannedRun) -> int | None:
    """Return the memory of the host; None: its agent does not tell, or the ranks may be on several hosts."""
    if registered is None or (registered.launcher != "local" and run.spec.world == "mpi"):
        return None
    size = registered.hardware.get("memory_bytes")
    return size if isinstance(size, int) else None


def too_large(spec: ExperimentSpec, views: Sequence[MemoryView]) -> Iterator[Fault]:
    """Yield a warning for each cluster whose host has less memory than a run is predicted to need."""
    places = {cluster.name: pointer("clusters", i, "workers") for i, cluster in enumerate(spec.clusters)}
    for view in views:
        if view.bytes is not None and view.available is not None and view.bytes > view.available:
            yield Fault(
                places[view.cluster],
                f"{view.variant} on {view.cluster} with {view.workers} workers is predicted to need about "
                f"{gib(view.bytes)} of memory; {view.host} has {gib(view.available)}. Take fewer workers, a "
                "smaller batch or model, or another cluster.",
            )
