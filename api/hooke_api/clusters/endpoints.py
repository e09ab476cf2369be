"""The endpoints of clusters and catalogues."""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Request

from hooke_api.clusters import service
from hooke_api.clusters.schemas import AlgorithmList, ClusterList, WorkloadList
from hooke_api.storage.database import DatabaseOf

router = APIRouter()


@router.get("/clusters", operation_id="list_clusters", tags=["clusters"])
def list_clusters(request: Request, database: DatabaseOf) -> ClusterList:
    """List the registered clusters with their free slots."""
    silence = timedelta(seconds=request.app.state.settings.agent_seconds)
    with database.read() as session:
        return ClusterList(items=service.views(session, silence))


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
