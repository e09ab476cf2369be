"""The endpoints of experiments."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response

from hooke_api.base.documents import SubmittedExperiment
from hooke_api.base.security import OWNER
from hooke_api.experiments import creating, faults, service
from hooke_api.experiments.creating import Submission
from hooke_api.experiments.schemas import DryRun, ExperimentPage, ExperimentView
from hooke_api.queue.settings import Priority
from hooke_api.storage.database import DatabaseOf
from hooke_api.waiting.endpoints import silence_of
from hooke_api.waiting.schemas import PriorityChange

router = APIRouter(prefix="/experiments", tags=["experiments"])

Limit = Annotated[int, Query(ge=1, le=500)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="A repeated request with the same key and document returns the experiment created first.",
    ),
]


@router.post("/dry-run", operation_id="validate_experiment")
def validate_experiment(sent: SubmittedExperiment, database: DatabaseOf) -> DryRun:
    """Validate an experiment and return the runs that it would create; nothing is stored."""
    spec = faults.understood(database, sent)
    with database.read() as session:
        return creating.dry_run(session, spec, OWNER)


@router.post("", operation_id="create_experiment", status_code=201)
def create_experiment(
    sent: SubmittedExperiment,
    request: Request,
    database: DatabaseOf,
    response: Response,
    key: Key = None,
    priority: Annotated[Priority, Query(description="Counts on clusters whose policy is `priority`.")] = 0,
) -> ExperimentView:
    """Submit an experiment: store it and queue its runs, in one transaction."""
    made = creating.create(
        database, Submission(faults.understood(database, sent), OWNER, key, priority), silence_of(request)
    )
    response.headers["location"] = f"/api/v1/experiments/{made.id}"
    return made


@router.get("", operation_id="list_experiments")
def list_experiments(
    request: Request, database: DatabaseOf, limit: Limit = 50, cursor: str | None = None
) -> ExperimentPage:
    """List experiments, newest first."""
    with database.read() as session:
        return service.page(session, request.app.state.cursors, limit, cursor, silence_of(request))


@router.get("/{experiment_id}", operation_id="read_experiment")
def read_experiment(experiment_id: str, request: Request, database: DatabaseOf) -> ExperimentView:
    """Read one experiment with its specification."""
    with database.read() as session:
        return service.view(session, service.get(session, experiment_id), silence_of(request))


@router.put("/{experiment_id}/priority", operation_id="set_priority")
def set_priority(
    experiment_id: str, change: PriorityChange, request: Request, database: DatabaseOf
) -> ExperimentView:
    """Change the priority of an experiment while it waits; 409 if it has ended."""
    with database.write() as session:
        return service.set_priority(session, experiment_id, change.priority, silence_of(request))


@router.post("/{experiment_id}/cancel", operation_id="cancel_experiment", status_code=202)
def cancel_experiment(experiment_id: str, request: Request, database: DatabaseOf) -> ExperimentView:
    """Cancel every run of an experiment that has not ended; active runs end within seconds."""
    with database.write() as session:
        return service.cancel(session, experiment_id, OWNER, silence_of(request))
