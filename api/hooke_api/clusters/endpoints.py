"""The endpoints of clusters and catalogues."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from hooke.spec.frozen import Name

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.clusters import service, tokens
from hooke_api.clusters.occupancy import Period, occupancy
from hooke_api.clusters.schemas import (
    AlgorithmList,
    ClusterList,
    ClusterTokenList,
    ClusterTokenView,
    ClusterView,
    NewClusterToken,
    OccupancyView,
    TokenRequest,
    WorkloadList,
)
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute)

ClusterName = Annotated[Name, Path(description="Name of a cluster.")]


def _silence(request: Request) -> timedelta:
    return timedelta(seconds=request.app.state.settings.agent_seconds)


@router.get("/clusters", operation_id="list_clusters", tags=["clusters"])
def list_clusters(request: Request, database: DatabaseOf) -> ClusterList:
    """List the registered clusters with their free slots."""
    with database.read() as session:
        return ClusterList(items=service.views(session, _silence(request)))


@router.get("/clusters/{name}", operation_id="read_cluster", tags=["clusters"])
def read_cluster(name: ClusterName, request: Request, database: DatabaseOf) -> ClusterView:
    """Read one cluster."""
    with database.read() as session:
        return service.view(session, name, _silence(request))


@router.get("/clusters/{name}/occupancy", operation_id="read_occupancy", tags=["clusters"])
def read_occupancy(
    name: ClusterName,
    database: DatabaseOf,
    period: Annotated[Period, Query(description="The last 24 hours, or the last 7 days.")] = "day",
) -> OccupancyView:
    """Return the share of a cluster's slots that runs held, over the last day or week."""
    with database.read() as session:
        return occupancy(session, name, period)


@router.post("/clusters/{name}/drain", operation_id="drain_cluster", tags=["clusters"])
def drain_cluster(name: ClusterName, request: Request, database: DatabaseOf) -> ClusterView:
    """Send no new runs to a cluster; runs that were sent continue, and queued ones wait until it is resumed."""
    with database.write() as session:
        service.drain(session, name, True)
        return service.view(session, name, _silence(request))


@router.post("/clusters/{name}/resume", operation_id="resume_cluster", tags=["clusters"])
def resume_cluster(name: ClusterName, request: Request, database: DatabaseOf) -> ClusterView:
    """Send runs to a drained cluster again."""
    with database.write() as session:
        service.drain(session, name, False)
        return service.view(session, name, _silence(request))


@router.delete("/clusters/{name}", operation_id="remove_cluster", tags=["clusters"], status_code=204)
def remove_cluster(name: ClusterName, request: Request, database: DatabaseOf) -> None:
    """Remove a cluster and revoke its tokens; its runs stay readable.

    409 while it has runs that have not ended, and while its agent runs with the server's own token, as that of
    `hooke up` does: it would join again.
    """
    with database.write() as session:
        service.remove(session, name, _silence(request))


@router.get("/clusters/{name}/tokens", operation_id="list_cluster_tokens", tags=["clusters"])
def list_cluster_tokens(name: ClusterName, database: DatabaseOf) -> ClusterTokenList:
    """List the tokens of a cluster, also of one that has not joined yet, without their secrets."""
    with database.read() as session:
        return tokens.listed(session, name)


@router.post("/clusters/{name}/tokens", operation_id="make_cluster_token", tags=["clusters"], status_code=201)
def make_cluster_token(
    name: ClusterName, asked: TokenRequest, actor: ActorOf, database: DatabaseOf
) -> NewClusterToken:
    """Make a token with which the agent of this cluster, and of no other, reports; its secret is shown once.

    The agent renews it before it expires.
    """
    with database.write() as session:
        return tokens.make(session, name, asked.label, actor.name, asked.days)


@router.post("/cluster-tokens/{token_id}/revoke", operation_id="revoke_cluster_token", tags=["clusters"])
def revoke_cluster_token(token_id: str, database: DatabaseOf) -> ClusterTokenView:
    """Revoke a token at once; runs of the cluster that have started continue and report."""
    with database.write() as session:
        return tokens.revoke(session, token_id)


@router.get("/algorithms", operation_id="list_algorithms", tags=["catalogue"])
def list_algorithms(database: DatabaseOf) -> AlgorithmList:
    """List the algorithms of all clusters with their documentation and the JSON Schema of their parameters."""
    with database.read() as session:
        return service.algorithms(session)


@router.get("/workloads", operation_id="list_workloads", tags=["catalogue"])
def list_workloads(database: DatabaseOf) -> WorkloadList:
    """List the workloads of all clusters with their documentation and the JSON Schema of their parameters."""
    with database.read() as session:
        return service.workloads(session)
