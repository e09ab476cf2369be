"""The endpoints of one's own saved views."""

from __future__ import annotations

from fastapi import APIRouter

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.people import saved_views
from hooke_api.people.view_schemas import NewView, SavedView, ViewChange, ViewList
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["people"])


@router.get("/views", operation_id="list_views")
def list_views(actor: ActorOf, database: DatabaseOf) -> ViewList:
    """List one's own saved views of the dashboard, by name."""
    with database.read() as session:
        return saved_views.listed(session, actor)


@router.post("/views", operation_id="create_view", status_code=201)
def create_view(asked: NewView, actor: ActorOf, database: DatabaseOf) -> SavedView:
    """Save a view under a name of one's own. 409: there is one of this name, or there are 100."""
    with database.write() as session:
        return saved_views.create(session, asked, actor)


@router.patch("/views/{view_id}", operation_id="change_view")
def change_view(view_id: str, asked: ViewChange, actor: ActorOf, database: DatabaseOf) -> SavedView:
    """Change the name of a saved view, or what it shows."""
    with database.write() as session:
        return saved_views.change(session, view_id, asked, actor)


@router.delete("/views/{view_id}", operation_id="delete_view", status_code=204)
def delete_view(view_id: str, actor: ActorOf, database: DatabaseOf) -> None:
    """Delete a saved view."""
    with database.write() as session:
        saved_views.remove(session, view_id, actor)
