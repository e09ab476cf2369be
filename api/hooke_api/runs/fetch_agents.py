"""The endpoints with which agents send the files of a checkpoint."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from hooke.spec.fetching import COMPLETE, PIECE_BYTES, FetchBegin, FetchEnd, FetchStored
from hooke.spec.orders import AgentId
from sqlalchemy.orm import Session

from hooke_api.base.checked import CheckedRoute
from hooke_api.base.errors import Gone, Invalid, Unavailable
from hooke_api.base.settings import Settings
from hooke_api.clusters import registration, tokens
from hooke_api.clusters.tokens import AgentCaller, CallerOf
from hooke_api.models import StoredFetch, database_time
from hooke_api.scheduling.fetches import OPEN, end, sizes
from hooke_api.storage.database import Database, DatabaseOf
from hooke_api.storage.fetched import FetchedFiles
from hooke_api.storage.objects import ObjectError

router = APIRouter(route_class=CheckedRoute, prefix="/agents", tags=["agents"])


def _wanted(session: Session, who: AgentCaller, id: str, agent: str | None) -> StoredFetch:
    """Return a fetch, locked, that this agent is to send. Raises Gone, Forbidden, Unauthorized or Conflict."""
    row = session.get(StoredFetch, id, with_for_update=True, populate_existing=True)
    tokens.confirm(session, who, row.cluster if row is not None else None)
    if row is None or row.state not in OPEN:
        raise Gone("this checkpoint is not wanted any more")
    registration.check_agent(session, row.cluster, agent)
    return row


def _known(row: StoredFetch) -> FetchStored:
    return FetchStored(stored={name: int(row.stored.get(name, 0)) for name in sizes(row)})


@router.post("/fetch-begin", operation_id="agent_fetch_begin")
def agent_fetch_begin(who: CallerOf, begin: FetchBegin, database: DatabaseOf) -> FetchStored:
    """Announce that the files of a checkpoint are open; the answer says which bytes the server has already.

    Bearer token of the cluster, and identity of its agent. 410: it is not wanted any more.
    """
    with database.write() as session:
        row = _wanted(session, who, begin.id, begin.agent)
        row.state, row.complete, row.heard_at = "sending", begin.complete, database_time(session)
        return _known(row)


@router.post("/fetch-piece", operation_id="agent_fetch_piece")
async def agent_fetch_piece(  # noqa: PLR0913 - its address, and what FastAPI passes
    who: CallerOf,
    request: Request,
    fetch: Annotated[str, Query(max_length=40, description="Id of the order.")],
    name: Annotated[str, Query(max_length=40, description="Of the file.")],
    start: Annotated[int, Query(ge=0, lt=2**40, description="Place of its first byte in the file.")],
    agent: Annotated[AgentId | None, Query(description="Identity of the agent.")] = None,
) -> FetchStored:
    """Store a piece of a file, the body, if it is the next one; the answer says where to go on.

    As for the announcement. A piece has 4 MiB, the last one of a file what is left.
    """
    state = request.app.state
    piece = b"".join(
        [part async for part in request.stream()]
    )  # `body()` would keep it until garbage is collected
    work = partial(_store, state.database, state.fetched, who, (fetch, agent), (name, start, piece))
    return await asyncio.get_running_loop().run_in_executor(state.ingesting, work)


def _store(
    database: Database,
    files: FetchedFiles,
    who: AgentCaller,
    asked: tuple[str, str | None],
    piece: tuple[str, int, bytes],
) -> FetchStored:
    name, start, content = piece
    with database.write() as session:
        row = _wanted(session, who, *asked)
        row.heard_at = database_time(session)
        known, size = _known(row), sizes(row).get(name)
        if size is None or row.state != "sending":
            raise Invalid(f"the checkpoint has no file {name!r}, or was not announced")
        if start != known.stored[name]:
            return known  # it came twice, or the agent does not know what is here
        if start % PIECE_BYTES or len(content) != min(PIECE_BYTES, size - start) or not content:
            raise Invalid(f"a piece of {name} at byte {start} has to have {min(PIECE_BYTES, size - start)} bytes")
    try:
        files.put(asked[0], name, start, content)
    except ObjectError as error:
        raise Unavailable(f"the piece could not be stored: {error}") from None
    try:
        with database.write() as session:
            row = _wanted(session, who, *asked)
            if int(row.stored.get(name, 0)) == start:
                row.stored = {**row.stored, name: start + len(content)}
            return _known(row)
    except Gone:  # cancelled meanwhile
        files.delete(asked[0], {name: start + len(content)})
        raise


@router.post("/fetch-end", operation_id="agent_fetch_end", status_code=204)
def agent_fetch_end(who: CallerOf, said: FetchEnd, request: Request, database: DatabaseOf) -> None:
    """Say that all was sent, which is then compared with what the ranks reported, or why it cannot be sent.

    As for the announcement.
    """
    settings: Settings = request.app.state.settings
    with database.write() as session:
        row = _wanted(session, who, said.id, said.agent)
        row.heard_at = database_time(session)
        if said.why:
            end(session, row, "failed", said.why, settings.keep_fetched)
            return
        known = {each["name"]: each for each in row.files}
        missing = [name for name, size in sizes(row).items() if int(row.stored.get(name, 0)) != size]
    if missing or row.complete is None:
        raise Invalid(f"of the checkpoint, {', '.join(missing) or COMPLETE} was not sent")
    why = _differing(request.app.state.fetched, said.id, known)
    with database.write() as session:
        row = _wanted(session, who, said.id, said.agent)
        end(session, row, "failed" if why else "ready", why, settings.keep_fetched)


def _differing(files: FetchedFiles, fetch: str, known: dict[str, dict[str, object]]) -> str:
    """Return which file is not what its rank wrote; empty: none. It is read from where it was stored."""
    try:
        for name, told in known.items():
            if files.digest(fetch, name, int(str(told["size"]))) != told["sha256"]:
                return (
                    f"{name} is not what its rank wrote: its SHA-256 differs; it was changed on the cluster, or a "
                    "disk is damaged"
                )
    except ObjectError as error:
        raise Unavailable(f"what was sent cannot be read: {error}") from None
    return ""
