"""The comparison over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from hooke_api.base.checked import CheckedRoute
from hooke_api.comparisons import compare, leaderboard, service
from hooke_api.comparisons.compare_schemas import ComparedRows
from hooke_api.comparisons.leaderboard_schemas import Leaderboard
from hooke_api.comparisons.schemas import Comparison
from hooke_api.comparisons.selection import MOST_SELECTIONS
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["comparisons"])


@router.get("/experiments/{experiment_id}/comparison", operation_id="read_comparison")
def read_comparison(experiment_id: str, database: DatabaseOf) -> Comparison:
    """Return which variant reaches the target first, with intervals and the conclusions in words."""
    with database.read() as session:
        return service.answer_comparison(session, experiment_id)


MOST_LETTERS = 1000
"""Of the name of a workload with its parameters, or of a target."""


@router.get("/leaderboard", operation_id="read_leaderboard")
def read_leaderboard(
    database: DatabaseOf,
    workload: Annotated[
        str | None, Query(max_length=MOST_LETTERS, description="Only this workload, as `choices` names it.")
    ] = None,
    target: Annotated[
        str | None, Query(max_length=MOST_LETTERS, description="Only this target, as `choices` names it.")
    ] = None,
) -> Leaderboard:
    """Return performance profiles and scores of methods over several workloads, by cluster and number of workers.

    Only tuned experiments with equal tuning count; the others are listed with the reason. Where experiments on a
    workload have several targets, one of them decides, unless it is chosen.
    """
    with database.read() as session:
        return leaderboard.answer_leaderboard(session, workload, target)


Selected = Annotated[
    list[str],
    Query(
        min_length=1,
        max_length=MOST_SELECTIONS,
        description="EXPERIMENT/CLUSTER/WORKERS/VARIANT, where missing or empty parts mean all and the experiment "
        "is a number or id: `12`, `12//8`, `12///Sync EASGD`, or the id of a run, a row of its own. May repeat.",
    ),
]


@router.get("/compare", operation_id="compare_rows")
def compare_rows(
    rows: Selected,
    database: DatabaseOf,
    against: Annotated[
        str | None, Query(description="The row that all others are contrasted with, written like `rows`.")
    ] = None,
) -> ComparedRows:
    """Return rows of several experiments, or single runs, side by side: figures, settings that differ, ratios.

    Without `against`, each variant is contrasted on every two clusters with the same number of workers, paired by
    seed. What is not comparable has a sentence that says why in place of a ratio.
    """
    with database.read() as session:
        return compare.answer_compare(session, rows, against)
