"""The endpoints of projects."""

from __future__ import annotations

from fastapi import APIRouter, Request

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.projects import service
from hooke_api.projects.schemas import (
    MemberList,
    MemberRequest,
    MemberView,
    NewProject,
    ProjectChange,
    ProjectList,
    ProjectView,
)
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, prefix="/projects", tags=["people"])


@router.get("", operation_id="list_projects")
def list_projects(request: Request, actor: ActorOf, database: DatabaseOf) -> ProjectList:
    """List the projects that one reaches, the default one first, with one's role in each."""
    with database.read() as session:
        return service.listed(session, actor, request.app.state.settings)


@router.post("", operation_id="create_project", status_code=201)
def create_project(asked: NewProject, actor: ActorOf, database: DatabaseOf) -> ProjectView:
    """Make a project; administrators reach it, and members once they are added. 409: a name in use."""
    with database.write() as session:
        made = service.create(session, asked, actor)
    with database.read() as session:
        return service.told(session, made, actor)


@router.patch("/{project}", operation_id="change_project")
def change_project(project: str, asked: ProjectChange, actor: ActorOf, database: DatabaseOf) -> ProjectView:
    """Rename or archive a project, change its description, its retention or its quota. 409 for a name in use."""
    with database.write() as session:
        changed = service.change(session, project, asked)
    with database.read() as session:  # what it holds is summed while nobody waits
        return service.told(session, changed, actor)


@router.get("/{project}/members", operation_id="list_members")
def list_members(project: str, database: DatabaseOf) -> MemberList:
    """List the members of a project with their roles; the default one has none, as everybody reaches it."""
    with database.read() as session:
        return service.members(session, project)


@router.put("/{project}/members/{name}", operation_id="set_member")
def set_member(project: str, name: str, asked: MemberRequest, actor: ActorOf, database: DatabaseOf) -> MemberView:
    """Add a user to a project, or change their role in it. 409 for the default one."""
    with database.write() as session:
        return service.set_member(session, project, name, asked, actor)


@router.delete("/{project}/members/{name}", operation_id="remove_member", status_code=204)
def remove_member(project: str, name: str, database: DatabaseOf) -> None:
    """Remove a user from a project: they lose access to it at once; their runs continue."""
    with database.write() as session:
        service.remove_member(session, project, name)
