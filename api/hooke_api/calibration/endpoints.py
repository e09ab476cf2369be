"""The endpoints of calibrations: for users, and for the agents that measure."""

from __future__ import annotations

from fastapi import APIRouter
from hooke.spec.calibrating import CalibrationReport

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.calibration import service
from hooke_api.calibration.schemas import CalibrationList, CalibrationRequest, CalibrationView
from hooke_api.clusters import tokens
from hooke_api.clusters.tokens import CallerOf
from hooke_api.models import StoredCalibration
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, prefix="/clusters/{name}/calibrations", tags=["clusters"])
of_agents = APIRouter(route_class=CheckedRoute, prefix="/agents", tags=["agents"])


@router.post("", operation_id="start_calibration", status_code=202)
def start_calibration(
    name: str, asked: CalibrationRequest, actor: ActorOf, database: DatabaseOf
) -> CalibrationView:
    """Calibrate a cluster as soon as it has no active run; until then, and meanwhile, it starts no other run."""
    with database.write() as session:
        return service.request(session, name, asked, actor.name)


@router.get("", operation_id="list_calibrations")
def list_calibrations(name: str, database: DatabaseOf) -> CalibrationList:
    """List the latest 20 calibrations of a cluster, newest first, each with its drift."""
    with database.read() as session:
        return service.listed(session, name)


@router.post("/{calibration_id}/cancel", operation_id="cancel_calibration", status_code=202)
def cancel_calibration(name: str, calibration_id: str, database: DatabaseOf) -> CalibrationView:
    """Cancel a calibration: one that measures ends when its agent says so."""
    with database.write() as session:
        return service.cancel(session, name, calibration_id)


@of_agents.post("/calibration", operation_id="agent_calibration", status_code=204)
def agent_calibration(who: CallerOf, report: CalibrationReport, database: DatabaseOf) -> None:
    """Receive the result of a calibration, or what is done until then; bearer token of the cluster.

    410 if something is done for one that has ended: the agent ends it.
    """
    with database.write() as session:
        row = session.get(StoredCalibration, report.id)
        tokens.confirm(session, who, row.cluster if row else None)
        service.receive(session, report, who)
