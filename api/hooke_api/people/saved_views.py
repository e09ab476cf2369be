"""Saved views: the path and query of a page of the dashboard, under a name that is the user's own."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from hooke_api.base import ids
from hooke_api.base.access import Actor
from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.models import StoredView, database_time
from hooke_api.people.view_schemas import NewView, SavedView, ViewChange, ViewList
from hooke_api.storage import trail

MOST = 100
"""Maximum number of saved views of a user."""


def listed(session: Session, actor: Actor) -> ViewList:
    """Return the views of the actor, by name."""
    rows = session.scalars(select(StoredView).where(StoredView.owner == actor.name)).all()
    ordered = sorted(rows, key=lambda row: (row.name.casefold(), row.name))
    return ViewList(items=[SavedView.model_validate(row) for row in ordered])


def create(session: Session, asked: NewView, actor: Actor) -> SavedView:
    """Save a view. Raises Conflict for a name that the actor has used, and if there are too many."""
    mine = select(func.count()).where(StoredView.owner == actor.name)
    if session.execute(mine).scalar_one() >= MOST:
        raise Conflict(f"you have {MOST} saved views, the maximum: delete one")
    at = database_time(session)
    row = StoredView(
        id=ids.view_id(), owner=actor.name, name=asked.name, path=asked.path, created_at=at, changed_at=at
    )
    session.add(row)
    _flush(session, asked.name)
    trail.tell(session, subject=row.id, after={"name": row.name})
    return SavedView.model_validate(row)


def change(session: Session, view_id: str, asked: ViewChange, actor: Actor) -> SavedView:
    """Change name or path. Raises ResourceNotFound for a view of others, Conflict for a name in use."""
    row = _get(session, view_id, actor)
    before, at = {"name": row.name}, database_time(session)  # before the row differs: a query would write it
    row.name = asked.name if asked.name is not None else row.name
    row.path = asked.path if asked.path is not None else row.path
    row.changed_at = at
    _flush(session, asked.name or row.name)
    trail.tell(session, before=before, after={"name": row.name})
    return SavedView.model_validate(row)


def remove(session: Session, view_id: str, actor: Actor) -> None:
    """Delete a view. Raises ResourceNotFound for a view of others."""
    row = _get(session, view_id, actor)
    trail.tell(session, before={"name": row.name})
    session.delete(row)
    session.flush()


def _get(session: Session, view_id: str, actor: Actor) -> StoredView:
    row = session.get(StoredView, view_id, with_for_update=True)
    if row is None or row.owner != actor.name:
        raise ResourceNotFound(f"you have no saved view with the id {view_id!r}")
    return row


def _flush(session: Session, name: str) -> None:
    """Write. Raises Conflict where the actor has another view of this name: two requests may come at a time."""
    try:
        session.flush()
    except IntegrityError:
        raise Conflict(
            f"you have a saved view called {name!r}: choose another name, or change that view"
        ) from None
