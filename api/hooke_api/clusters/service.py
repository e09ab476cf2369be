"""Clusters: registration by their agents, and occupied slots."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from hooke.spec.communication import Communication
from hooke.spec.events import AgentHello, Described, FileFault
from hooke.spec.specification import Compute
from hooke.spec.tuning import Tuning
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from hooke_api.clusters.catalogues import described
from hooke_api.clusters.schemas import (
    AlgorithmList,
    AlgorithmView,
    ClusterView,
    WorkloadList,
    WorkloadView,
)
from hooke_api.models import DEFAULT_PROJECT, CatalogueEntry, Cluster, Run, now
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.storage.outbox import announce, wake_scheduler


def hello(session: Session, said: AgentHello, silence: timedelta) -> None:
    """Store the hello of an agent; a new or returning cluster wakes the scheduler."""
    at = now()
    cluster = session.get(Cluster, said.name, with_for_update=True)
    news = cluster is None or cluster.seen_at < at - silence
    if cluster is None:
        cluster = Cluster(name=said.name, project_id=DEFAULT_PROJECT, created_by="agent", created_at=at)
        session.add(cluster)
    plain = {"cores": said.cores, "slots": said.slots, "launcher": said.launcher}
    documents: dict[str, Any] = {"hardware": dict(said.hardware), "versions": dict(said.versions)}
    if said.problems is not None:
        documents["problems"] = [problem.model_dump() for problem in said.problems]
    for name, value in {**plain, **documents}.items():
        if getattr(cluster, name, None) != value:
            setattr(cluster, name, value)
            news = True
    cluster.seen_at = at
    session.flush()
    _store_catalogue(session, said.name, "algorithm", said.algorithms)
    _store_catalogue(session, said.name, "workload", said.workloads)
    if news or said.algorithms is not None:
        announce(session, "clusters", {})
        wake_scheduler(session)


def _store_catalogue(session: Session, cluster: str, kind: str, entries: list[Described] | None) -> None:
    if entries is None:
        return
    session.execute(delete(CatalogueEntry).where(CatalogueEntry.cluster == cluster, CatalogueEntry.kind == kind))
    documents = {entry.name: entry.model_dump(mode="json") for entry in entries}
    rows = [{"cluster": cluster, "kind": kind, "name": n, "document": d} for n, d in documents.items()]
    if rows:
        session.execute(insert(CatalogueEntry), rows)


def views(session: Session, silence: timedelta) -> list[ClusterView]:
    """Return every cluster, by name."""
    active = session.execute(
        select(Run.host, Run.workers, Run.servers, Run.simulated).where(Run.state.in_(ACTIVE))
    )
    held: dict[str, list[tuple[int, bool]]] = {}
    for host, workers, servers, simulated in active:
        held.setdefault(host, []).append((workers + servers, simulated))
    clusters = session.scalars(select(Cluster).where(Cluster.project_id == DEFAULT_PROJECT).order_by(Cluster.name))
    at = now()
    return [_view(cluster, held.get(cluster.name, ()), at, silence) for cluster in clusters]


def _view(cluster: Cluster, held: Iterable[tuple[int, bool]], at: datetime, silence: timedelta) -> ClusterView:
    # a simulated run uses its whole host, independently of the number of simulated workers; the runs of a launch
    # run one after the other
    busy = max((cluster.slots if simulated else ranks for ranks, simulated in held), default=0)
    return ClusterView(
        name=cluster.name,
        cores=cluster.cores,
        slots=cluster.slots,
        busy=min(busy, cluster.slots),
        launcher=cluster.launcher,
        online=cluster.seen_at >= at - silence,
        seen_at=cluster.seen_at,
        hardware=cluster.hardware,
        versions=cluster.versions,
        problems=[FileFault.model_validate(problem) for problem in cluster.problems],
    )


def algorithms(session: Session) -> AlgorithmList:
    """Return the algorithms offered by any cluster."""
    items = [AlgorithmView.model_validate(_renamed(entry)) for entry in described(session, "algorithm")]
    return AlgorithmList(
        items=items,
        communication=Communication.model_json_schema(),
        compute=Compute.model_json_schema(),
        tuning=Tuning.model_json_schema(),
    )


def workloads(session: Session) -> WorkloadList:
    """Return the workloads offered by any cluster."""
    items = [WorkloadView.model_validate(_renamed(entry)) for entry in described(session, "workload")]
    return WorkloadList(items=items)


def _renamed(entry: dict[str, Any]) -> dict[str, Any]:
    return {"parameters" if name == "schema" else name: value for name, value in entry.items()}
