"""The endpoints of users, of tokens, and of the audit trail."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.people import access_tokens, audit, users
from hooke_api.people.schemas import (
    AccessTokenRequest,
    NewInvite,
    NewToken,
    NewUser,
    TokenList,
    TokenView,
    TrailPage,
    UserChange,
    UserList,
    UserView,
)
from hooke_api.storage.database import DatabaseOf

router = APIRouter(route_class=CheckedRoute, tags=["people"])

KINDS = {"jsonl": "application/x-ndjson", "csv": "text/csv"}


@router.get("/users", operation_id="list_users")
def list_users(database: DatabaseOf) -> UserList:
    """List the users, by name."""
    with database.read() as session:
        return users.listed(session)


@router.post("/users", operation_id="add_user", status_code=201)
def add_user(asked: NewUser, actor: ActorOf, database: DatabaseOf) -> NewInvite:
    """Add a user, with an invitation: its page sets the password, once, within seven days. 409: a name in use."""
    with database.write() as session:
        return users.add(session, asked, actor)


@router.patch("/users/{name}", operation_id="change_user")
def change_user(name: str, asked: UserChange, actor: ActorOf, database: DatabaseOf) -> UserView:
    """Change role or access of a user, at once; disabled, their sessions end and their tokens are refused."""
    with database.write() as session:
        return users.change(session, name, asked, actor)


@router.post("/users/{name}/invite", operation_id="invite_user", status_code=201)
def invite_user(name: str, database: DatabaseOf) -> NewInvite:
    """Invite a user again, to set another password; an earlier invitation is not valid any more."""
    with database.write() as session:
        return users.invite(session, name)


@router.post("/users/{name}/sign-out", operation_id="end_sessions", status_code=204)
def end_sessions(name: str, database: DatabaseOf) -> None:
    """End every session of a user, or with the name `owner` those of the start-up token."""
    with database.write() as session:
        users.sign_out(session, name)


@router.get("/tokens", operation_id="list_tokens")
def list_tokens(actor: ActorOf, database: DatabaseOf) -> TokenList:
    """List one's own tokens, without secrets; administrators see those of all users, machines and agents."""
    with database.read() as session:
        return access_tokens.listed(session, actor)


@router.post("/tokens", operation_id="create_token", status_code=201)
def create_token(asked: AccessTokenRequest, actor: ActorOf, database: DatabaseOf) -> NewToken:
    """Make a token of one's own, of a machine, or of an agent; its secret is shown once."""
    with database.write() as session:
        return access_tokens.create(session, asked, actor)


@router.post("/tokens/{token_id}/revoke", operation_id="revoke_token")
def revoke_token(token_id: str, actor: ActorOf, database: DatabaseOf) -> TokenView:
    """Revoke a token at once: one's own, or as an administrator any."""
    with database.write() as session:
        return access_tokens.revoke(session, token_id, actor)


async def chosen_entries(
    actor: Annotated[str | None, Query(max_length=120)] = None,
    action: Annotated[str | None, Query(max_length=64, description="An operation id.")] = None,
    subject: Annotated[str | None, Query(max_length=255)] = None,
) -> audit.Filter:
    """Return the filter that a request asks for."""
    return audit.Filter(actor, action, subject)


ChosenEntries = Annotated[audit.Filter, Depends(chosen_entries)]


@router.get("/audit", operation_id="list_audit")
def list_audit(
    request: Request,
    database: DatabaseOf,
    chosen: ChosenEntries,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    cursor: str | None = None,
) -> TrailPage:
    """List the audit trail, newest first: who changed what, when, from where, with the state before and after."""
    with database.read() as session:
        return audit.page(session, request.app.state.cursors, chosen, limit, cursor)


@router.get(
    "/audit/export",
    operation_id="export_audit",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {} for kind in KINDS.values()}, "description": "The entries"}},
)
def export_audit(
    database: DatabaseOf,
    chosen: ChosenEntries,
    kind: Annotated[Literal["jsonl", "csv"], Query(description="JSON lines, or CSV with a header.")] = "jsonl",
) -> StreamingResponse:
    """Return the audit trail as a file, the oldest entry first."""
    headers = {"content-disposition": f'attachment; filename="audit.{kind}"', "cache-control": "no-store"}
    return StreamingResponse(audit.export(database, kind, chosen), media_type=KINDS[kind], headers=headers)
