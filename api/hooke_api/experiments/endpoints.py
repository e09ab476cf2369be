"""The endpoints of experiments."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.base.documents import SubmittedExperiment
from hooke_api.base.names import ProjectName
from hooke_api.base.reach import DEFAULT_NAME
from hooke_api.experiments import creating, deleting, extending, faults, moving, organising, service
from hooke_api.experiments.creating import Submission
from hooke_api.experiments.schemas import (
    DeletedExperiment,
    DeletedPage,
    DryRun,
    ExperimentChange,
    ExperimentPage,
    ExperimentView,
    Extension,
    ProjectChoice,
    VersionList,
)
from hooke_api.filters.language import MOST_CHARACTERS
from hooke_api.filters.views import FilterLanguage
from hooke_api.queue.settings import Priority
from hooke_api.storage.database import DatabaseOf
from hooke_api.storage.reach import open_project
from hooke_api.waiting.endpoints import silence_of
from hooke_api.waiting.schemas import PriorityChange

router = APIRouter(route_class=CheckedRoute, prefix="/experiments", tags=["experiments"])
of_fields = APIRouter(route_class=CheckedRoute, tags=["experiments"])

Limit = Annotated[int, Query(ge=1, le=500)]
FilterText = Annotated[
    str | None,
    Query(
        alias="filter",
        max_length=MOST_CHARACTERS,
        description='Such as `state = running and tag = "paper"`; `list_filter_fields` lists the fields.',
    ),
]
Into = Annotated[ProjectName, Query(description="The project that it is put into; its researchers may.")]
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
def validate_experiment(
    sent: SubmittedExperiment,
    request: Request,
    actor: ActorOf,
    database: DatabaseOf,
    project: Into = DEFAULT_NAME,
) -> DryRun:
    """Validate an experiment and return the runs that it would create; nothing is stored."""
    spec = faults.understood(database, sent)
    with database.read() as session:
        return creating.dry_run(session, spec, actor.name, project, silence_of(request))


@router.post("", operation_id="create_experiment", status_code=201)
def create_experiment(  # noqa: PLR0913 - the query of the URL, one parameter each
    sent: SubmittedExperiment,
    request: Request,
    actor: ActorOf,
    database: DatabaseOf,
    response: Response,
    key: Key = None,
    priority: Annotated[Priority, Query(description="Counts on clusters whose policy is `priority`.")] = 0,
    project: Into = DEFAULT_NAME,
) -> ExperimentView:
    """Submit an experiment: store it and queue its runs, in one transaction."""
    submission = Submission(faults.understood(database, sent), actor.name, key, priority, project)
    made = creating.create(database, submission, silence_of(request))
    response.headers["location"] = f"/api/v1/experiments/{made.id}"
    return made


@router.get("", operation_id="list_experiments")
def list_experiments(
    request: Request,
    database: DatabaseOf,
    limit: Limit = 50,
    cursor: str | None = None,
    chosen: FilterText = None,
) -> ExperimentPage:
    """List experiments, newest first; archived ones only if the filter mentions `archived`."""
    part = service.Page(limit, cursor, chosen)
    with database.read() as session:
        return service.page(session, request.app.state.cursors, part, silence_of(request))


@of_fields.get("/filter-fields", operation_id="list_filter_fields")
def list_filter_fields(
    database: DatabaseOf,
    of: Annotated[Literal["experiments", "runs"], Query(description="What the filter chooses.")] = "experiments",
) -> FilterLanguage:
    """List the fields that a filter of experiments, or of runs, may name, with operators and known values."""
    with database.read() as session:
        return organising.language(session, of == "runs")


@of_fields.get("/deleted-experiments", operation_id="list_deleted_experiments")
def list_deleted_experiments(
    request: Request, database: DatabaseOf, limit: Limit = 50, cursor: str | None = None
) -> DeletedPage:
    """List the experiments that are deleted and can be restored, newest first."""
    with database.read() as session:
        return deleting.page(session, request.app.state.cursors, limit, cursor)


@router.get("/{experiment_id}", operation_id="read_experiment")
def read_experiment(experiment_id: str, request: Request, database: DatabaseOf) -> ExperimentView:
    """Read one experiment with its specification."""
    with database.read() as session:
        return service.view(session, service.get(session, experiment_id), silence_of(request))


@router.patch("/{experiment_id}", operation_id="change_experiment")
def change_experiment(
    experiment_id: str,
    asked: ExperimentChange,
    request: Request,
    actor: ActorOf,
    database: DatabaseOf,
    expected: Annotated[
        str | None, Header(alias="If-Match", max_length=200, description="The `revision` it must have, in quotes.")
    ] = None,
) -> ExperimentView:
    """Change name, tags, note or marks of an experiment; what is left out stays.

    The last writer of a field counts. Specification and fingerprint stay. With `If-Match`, 412 if the experiment
    has another `revision`.
    """
    with database.write() as session:
        service.check_owner(session, experiment_id, actor)
        changed = organising.change(session, experiment_id, asked, expected)
        return service.view(session, changed, silence_of(request))


@router.delete("/{experiment_id}", operation_id="delete_experiment")
def delete_experiment(
    experiment_id: str, request: Request, actor: ActorOf, database: DatabaseOf
) -> DeletedExperiment:
    """Delete an experiment that has ended, with its runs: hidden at once, it can be restored until `purge_at`.

    409 while it has not ended (cancel it first), is protected, or is continued by another one.
    """
    undo = request.app.state.settings.undo
    with database.write() as session:
        service.check_owner(session, experiment_id, actor)
        return deleting.delete(session, experiment_id, actor.name, undo)


@router.post("/{experiment_id}/restore", operation_id="restore_experiment")
def restore_experiment(
    experiment_id: str, request: Request, actor: ActorOf, database: DatabaseOf
) -> ExperimentView:
    """Show a deleted experiment again; 409 when it is being purged. No effect on one that is not deleted."""
    with database.write() as session:
        service.check_owner(session, experiment_id, actor)
        restored = deleting.restore(session, experiment_id)
        return service.view(session, restored, silence_of(request))


@router.post("/{experiment_id}/extension/dry-run", operation_id="validate_extension")
def validate_extension(
    experiment_id: str, asked: Extension, request: Request, actor: ActorOf, database: DatabaseOf
) -> DryRun:
    """Validate an extension and return the runs that it would add; nothing is stored."""
    with database.read() as session:
        service.check_owner(session, experiment_id, actor)
        return extending.dry_run(session, experiment_id, asked, silence_of(request))


@router.post("/{experiment_id}/extension", operation_id="extend_experiment", status_code=201)
def extend_experiment(
    experiment_id: str, asked: Extension, request: Request, actor: ActorOf, database: DatabaseOf
) -> ExperimentView:
    """Add seeds or variants to an experiment that has ended, as a new version of it that is compared as one.

    Present variants keep their settings, and with tuning a new one gets as many trials. 409 while it has not
    ended, and if it is archived, imported, or another version than the one that is named.
    """
    with database.read() as session:
        service.check_owner(session, experiment_id, actor)
    return extending.extend(database, experiment_id, asked, actor.name, silence_of(request))


@router.get("/{experiment_id}/versions", operation_id="list_versions")
def list_versions(experiment_id: str, database: DatabaseOf) -> VersionList:
    """Return what the experiment was when it was submitted, and after each extension."""
    with database.read() as session:
        return extending.versions(session, experiment_id)


@router.put("/{experiment_id}/priority", operation_id="set_priority")
def set_priority(
    experiment_id: str, change: PriorityChange, request: Request, actor: ActorOf, database: DatabaseOf
) -> ExperimentView:
    """Change the priority of an experiment while it waits; 409 if it has ended."""
    with database.write() as session:
        service.check_owner(session, experiment_id, actor)
        return service.set_priority(session, experiment_id, change.priority, silence_of(request))


@router.put("/{experiment_id}/project", operation_id="move_experiment")
def move_experiment(
    experiment_id: str, asked: ProjectChoice, request: Request, actor: ActorOf, database: DatabaseOf
) -> ExperimentView:
    """Move an experiment into a project of which one is a researcher: only its members reach it from now on.

    409 if the project is archived, or if the experiment continues the tuning of another one, or is continued.
    """
    with database.read() as session:
        service.check_owner(session, experiment_id, actor)
        open_project(session, asked.project)  # whether it has room is summed before others wait
    with database.write() as session:
        service.check_owner(session, experiment_id, actor)
        moved = moving.move(session, experiment_id, asked.project)
        return service.view(session, moved, silence_of(request))


@router.post("/{experiment_id}/cancel", operation_id="cancel_experiment", status_code=202)
def cancel_experiment(
    experiment_id: str, request: Request, actor: ActorOf, database: DatabaseOf
) -> ExperimentView:
    """Cancel every run of an experiment that has not ended; active runs end within seconds."""
    with database.write() as session:
        service.check_owner(session, experiment_id, actor)
        return service.cancel(session, experiment_id, actor.name, silence_of(request))
