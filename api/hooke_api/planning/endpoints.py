"""The tuning of an experiment over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from hooke_api.base.checked import CheckedRoute
from hooke_api.planning import service
from hooke_api.planning.schemas import TuningView
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["experiments"])


@router.get("/experiments/{experiment_id}/tuning", operation_id="read_tuning")
def read_tuning(experiment_id: str, database: DatabaseOf) -> TuningView:
    """Return all trials of a tuned experiment, the choice for each variant, its sensitivity and its cost."""
    with database.read() as session:
        return service.answer_tuning(session, experiment_id)
