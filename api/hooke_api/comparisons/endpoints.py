"""The comparison over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from hooke_api.comparisons import leaderboard, service
from hooke_api.comparisons.leaderboard_schemas import Leaderboard
from hooke_api.comparisons.schemas import Comparison
from hooke_api.storage.database import DatabaseOf

router = APIRouter(tags=["comparisons"])


@router.get("/experiments/{experiment_id}/comparison", operation_id="read_comparison")
def read_comparison(experiment_id: str, database: DatabaseOf) -> Comparison:
    """Return which variant reaches the target first, with intervals and the conclusions in words."""
    with database.read() as session:
        return service.answer_comparison(session, experiment_id)


@router.get("/leaderboard", operation_id="read_leaderboard")
def read_leaderboard(database: DatabaseOf) -> Leaderboard:
    """Return performance profiles and scores of methods over several workloads, by cluster and number of workers.

    Only tuned experiments with equal tuning count; the others are listed with the reason.
    """
    with database.read() as session:
        return leaderboard.answer_leaderboard(session)
