"""The endpoints of fetched checkpoints, for users."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter, Request
from hooke.spec.fetching import COMPLETE
from starlette.responses import StreamingResponse

from hooke_api.base.access import ActorOf
from hooke_api.base.checked import CheckedRoute
from hooke_api.base.errors import ResourceNotFound
from hooke_api.models import StoredFetch
from hooke_api.runs import fetches
from hooke_api.runs.fetch_schemas import FetchList, FetchRequest, FetchView
from hooke_api.scheduling.fetches import sizes
from hooke_api.storage import trail
from hooke_api.storage.database import DatabaseOf
from hooke_api.storage.fetched import FetchedFiles

router = APIRouter(route_class=CheckedRoute, prefix="/runs/{run_id}/fetches", tags=["runs"])


class TarAnswer(StreamingResponse):
    """A tar file in parts."""

    media_type = "application/x-tar"


class BytesAnswer(StreamingResponse):
    """A file in parts."""

    media_type = "application/octet-stream"


@router.post("", operation_id="fetch_checkpoint", status_code=202)
def fetch_checkpoint(
    run_id: str, asked: FetchRequest, request: Request, actor: ActorOf, database: DatabaseOf
) -> FetchView:
    """Have the agent of a run's cluster send a checkpoint to the server, to download it from there.

    The one that was asked for already is returned, unless it has failed. 409 with the reason if there is none, or
    it would be more than a checkpoint, a project or the server may have.
    """
    state = request.app.state
    with database.write() as session:
        return fetches.ask(session, run_id, asked, actor.name, state.settings, state.fetched)


@router.get("", operation_id="list_fetches")
def list_fetches(run_id: str, database: DatabaseOf) -> FetchList:
    """List the checkpoints of a run that the server has, gets, or could not get, newest first."""
    with database.read() as session:
        return fetches.listed(session, run_id)


@router.delete("/{fetch_id}", operation_id="delete_fetch", status_code=204)
def delete_fetch(run_id: str, fetch_id: str, request: Request, actor: ActorOf, database: DatabaseOf) -> None:
    """Cancel a fetch, or remove what was fetched from the server; the cluster keeps its checkpoint."""
    with database.write() as session:
        row = fetches.find(session, run_id, fetch_id, lock=True)
        actor.check_owner(row.created_by, f"the fetched checkpoint {fetch_id}")
        fetches.give_up(session, row, request.app.state.settings)


@router.get("/{fetch_id}/checkpoint.tar", operation_id="download_fetch", response_class=TarAnswer)
def download_fetch(
    run_id: str, fetch_id: str, request: Request, actor: ActorOf, database: DatabaseOf
) -> TarAnswer:
    """Return a fetched checkpoint as one tar file, from which `hooke run --resume` goes on; 409: not ready."""
    row = _told(run_id, fetch_id, request, actor, database, "download_fetch")
    length, parts = fetches.archive(row, request.app.state.fetched)
    return TarAnswer(parts, headers=_headers(f"{run_id}-{row.samples}.tar", length))


@router.get("/{fetch_id}/files/{name}", operation_id="download_fetched_file", response_class=BytesAnswer)
def download_fetched_file(  # noqa: PLR0913 - the parts of its address, and what FastAPI passes
    run_id: str, fetch_id: str, name: str, request: Request, actor: ActorOf, database: DatabaseOf
) -> BytesAnswer:
    """Return a file of a fetched checkpoint: `complete.json`, or `rank.N.npz` as `numpy.load` reads it."""
    row = _told(run_id, fetch_id, request, actor, database, "download_fetched_file")
    files: FetchedFiles = request.app.state.fetched
    complete = (row.complete or "").encode()
    known = {COMPLETE: len(complete)} | sizes(row)
    if name not in known:
        raise ResourceNotFound(f"this checkpoint has no file {name}: it has {', '.join(known)}")
    parts: Iterator[bytes] = iter([complete]) if name == COMPLETE else files.read(row.id, name, known[name])
    return BytesAnswer(parts, headers=_headers(name, known[name]))


def _told(  # noqa: PLR0913 - as above
    run_id: str, fetch_id: str, request: Request, actor: ActorOf, database: DatabaseOf, action: str
) -> StoredFetch:
    """Return a fetch that can be downloaded, and tell the audit trail that it is."""
    with database.read() as session:
        row = fetches.find(session, run_id, fetch_id)
        fetches.ready(row, request.app.state.fetched)
        session.expunge(row)
    with database.write() as session:
        trail.add(
            session,
            actor.name,
            action,
            f"{run_id}/{fetch_id}",
            credential=trail.credential_of(actor),
            address=actor.address,
            request_id=request.state.request_id,
        )
    return row


def _headers(name: str, length: int) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"', "content-length": f"{length}"}
