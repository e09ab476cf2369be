"""Clusters: their views with occupied slots; drain, resume and remove."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from hooke.spec.communication import Communication
from hooke.spec.events import FileFault
from hooke.spec.specification import Compute
from hooke.spec.states import TERMINAL
from hooke.spec.tuning import Tuning
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.clusters import tokens
from hooke_api.clusters.catalogues import described
from hooke_api.clusters.schemas import (
    AlgorithmList,
    AlgorithmView,
    ClusterView,
    WorkloadList,
    WorkloadView,
)
from hooke_api.models import DEFAULT_PROJECT, CatalogueEntry, Cluster, Run, StoredCalibration, database_time
from hooke_api.scheduling.lifecycle import ACTIVE
from hooke_api.scheduling.overlaps import neighbours
from hooke_api.storage import trail
from hooke_api.storage.outbox import announce, wake_scheduler


def views(session: Session, silence: timedelta) -> list[ClusterView]:
    """Return every cluster, by name."""
    active = session.execute(
        select(Run.host, Run.workers, Run.servers, Run.simulated).where(Run.state.in_(ACTIVE))
    )
    held: dict[str, list[tuple[int, bool]]] = {}
    for host, workers, servers, simulated in active:
        held.setdefault(host, []).append((workers + servers, simulated))
    clusters = session.scalars(select(Cluster).where(Cluster.project_id == DEFAULT_PROJECT).order_by(Cluster.name))
    at, beside = database_time(session), neighbours(session)
    return [
        _view(cluster, held.get(cluster.name, ()), beside.get(cluster.name, ()), at, silence)
        for cluster in clusters
    ]


def view(session: Session, name: str, silence: timedelta) -> ClusterView:
    """Return one cluster. Raises ResourceNotFound."""
    found = next((each for each in views(session, silence) if each.name == name), None)
    if found is None:
        raise _unknown(name)
    return found


def drain(session: Session, name: str, draining: bool) -> None:
    """Send no new runs to a cluster, or send them again; runs that were sent continue. Raises ResourceNotFound."""
    cluster = _get(session, name)
    trail.tell(session, before={"draining": cluster.draining}, after={"draining": draining})
    if cluster.draining != draining:
        cluster.draining = draining
        announce(session, "clusters", {})
        wake_scheduler(session)


def remove(session: Session, name: str, silence: timedelta) -> None:
    """Remove a cluster and revoke its tokens; its runs remain readable. Raises ResourceNotFound.

    Raises Conflict while it has runs that have not ended, or an agent that would join again at once. `silence`:
    after which an agent counts as gone.
    """
    tokens.lock_all(session, name)
    cluster = _get(session, name)
    query = select(func.count()).where(Run.host == name, Run.state.not_in(TERMINAL))
    if count := session.execute(query).scalar_one():
        raise Conflict(
            f"{count} run{'s' * (count != 1)} of {name!r} {'have' if count != 1 else 'has'} not ended: "
            "drain the cluster and wait, or cancel them"
        )
    if cluster.token is None and cluster.seen_at >= database_time(session) - silence:
        raise Conflict(
            f"the agent of {name!r} runs with the server's own token, which stays valid, and would join again "
            "within seconds: drain the cluster, or stop its agent (that of `hooke up` ends with it) and remove it "
            f"{silence.total_seconds():.0f} s later"
        )
    trail.tell(session, before={"cores": cluster.cores, "slots": cluster.slots, "draining": cluster.draining})
    tokens.revoke_all(session, name)
    session.execute(delete(CatalogueEntry).where(CatalogueEntry.cluster == name))
    session.execute(delete(StoredCalibration).where(StoredCalibration.cluster == name))
    session.delete(cluster)
    session.flush()
    announce(session, "clusters", {})


def _get(session: Session, name: str) -> Cluster:
    found = session.get(Cluster, name, with_for_update=True)
    if found is None:
        raise _unknown(name)
    return found


def _unknown(name: str) -> ResourceNotFound:
    return ResourceNotFound(f"no cluster is called {name!r}")


def _view(
    cluster: Cluster, held: Iterable[tuple[int, bool]], beside: Iterable[str], at: datetime, silence: timedelta
) -> ClusterView:
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
        draining=cluster.draining,
        held_until=cluster.held_until if cluster.held_until is not None and cluster.held_until > at else None,
        held_why=cluster.held_why,
        clock_offset=cluster.clock_offset,
        machine_shared_with=sorted(beside),
        missing_data=cluster.missing_data,
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
