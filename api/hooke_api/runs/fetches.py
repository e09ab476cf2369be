"""Fetched checkpoints as users see them: ask for one, list them, remove one, read its files."""

from __future__ import annotations

import io
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hooke.spec.fetching import COMPLETE
from hooke.spec.protocol import FETCHES
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hooke_api.base.errors import Conflict, ResourceNotFound
from hooke_api.base.ids import fetch_id
from hooke_api.base.settings import Settings
from hooke_api.models import Checkpoint, Cluster, Experiment, Run, StoredFetch, database_time
from hooke_api.runs import service
from hooke_api.runs.fetch_schemas import FetchedFileView, FetchList, FetchRequest, FetchView
from hooke_api.scheduling.fetches import OPEN, end, sizes
from hooke_api.storage.fetched import FetchedFiles
from hooke_api.storage.objects import ObjectError
from hooke_api.storage.outbox import wake_scheduler
from hooke_api.storage.trail import tell

_USEFUL = (*OPEN, "ready")


class _Found(NamedTuple):
    attempt: int
    samples: int
    """Name of its folder."""
    files: list[dict[str, Any]]


def ask(
    session: Session, run_id: str, asked: FetchRequest, who: str, settings: Settings, files: FetchedFiles
) -> FetchView:
    """Ask for a checkpoint; return the fetch of it that there is, if it has not failed. Raises Conflict."""
    run = service.get(session, run_id)
    # another one who asks at the same time waits here, and then finds what was asked for
    session.refresh(run, with_for_update={"key_share": True})
    found = _chosen(session, run, asked)
    mine = select(StoredFetch).where(
        StoredFetch.run_id == run.id,
        StoredFetch.attempt == found.attempt,
        StoredFetch.samples == found.samples,
        StoredFetch.state.in_(_USEFUL),
    )
    present = session.scalars(mine).first()
    if present is not None:
        return view(present)
    _check_cluster(session, run)
    size = sum(each["size"] for each in found.files)
    _check_limits(session, run, size, settings, files)
    row = StoredFetch(
        id=fetch_id(),
        run_id=run.id,
        cluster=run.host,
        attempt=found.attempt,
        samples=found.samples,
        files=found.files,
        size=size,
        stored={},
        state="waiting",
        why="",
        created_at=database_time(session),
        created_by=who,
    )
    session.add(row)
    tell(session, after={"fetch": row.id, "attempt": row.attempt, "samples": row.samples, "bytes": size})
    wake_scheduler(session)
    return view(row)


def _chosen(session: Session, run: Run, asked: FetchRequest) -> _Found:
    """Return the checkpoint that is asked for, with a file of every rank. Raises Conflict."""
    query = select(Checkpoint).where(Checkpoint.run_id == run.id).order_by(Checkpoint.attempt, Checkpoint.seq)
    folders: dict[tuple[int, int], dict[int, Checkpoint]] = defaultdict(dict)
    for row in session.scalars(query):
        name = row.path.split("/")[-2:-1]
        if name and name[0].isascii() and name[0].isdecimal():
            folders[row.attempt, int(name[0])][row.rank] = row
    wanted = [
        (attempt, samples)
        for (attempt, samples), ranks in sorted(folders.items())
        if asked.attempt in (None, attempt)
        and (asked.samples is None or asked.samples in (samples, max(each.samples for each in ranks.values())))
    ]
    if not wanted:
        which = f" at {asked.samples:,} samples" if asked.samples is not None else ""
        raise Conflict(
            f"run {run.id} has reported no checkpoint{which}: `checkpoints` of the run lists what it has"
        )
    ranks = folders[wanted[-1]]
    if set(ranks) != set(range(run.workers + run.servers)):
        raise Conflict(
            f"the checkpoint at {wanted[-1][1]:,} samples is not complete: {len(ranks)} of "
            f"{run.workers + run.servers} ranks have reported it; try again when it is"
        )
    files = [
        {"name": f"rank.{rank}.npz", "size": row.bytes, "sha256": row.sha256}
        for rank, row in sorted(ranks.items())
    ]
    return _Found(*wanted[-1], files)


def _check_cluster(session: Session, run: Run) -> None:
    if run.host.startswith("~"):
        raise Conflict("this run was imported: its checkpoints stayed on the cluster where it ran")
    cluster = session.get(Cluster, run.host)
    if cluster is None:
        raise Conflict(f"the cluster {run.host} was removed from this server: nobody can send its files")
    if cluster.protocol < FETCHES:
        raise Conflict(
            f"the agent of {run.host} is of an earlier version, which sends no checkpoints: install this version "
            "of hooke there and start the agent again"
        )


def _check_limits(session: Session, run: Run, size: int, settings: Settings, files: FetchedFiles) -> None:
    if size > settings.fetch_limit:
        raise Conflict(
            f"the checkpoint has {_mib(size)}; this server fetches at most {_mib(settings.fetch_limit)} "
            "(HOOKE_FETCH_LIMIT): copy it from the cluster"
        )
    held = select(func.coalesce(func.sum(StoredFetch.size), 0)).where(StoredFetch.state.in_(_USEFUL))
    project = session.get_one(Experiment, run.experiment_id).project_id
    own = (
        held.join(Run, Run.id == StoredFetch.run_id)
        .join(Experiment, Experiment.id == Run.experiment_id)
        .where(Experiment.project_id == project)
    )
    for query, limit, whose in (
        (own, settings.fetches_of_project_limit, "of this project"),
        (held, settings.fetches_limit, "of all projects"),
    ):
        taken = int(session.scalar(query) or 0)
        if taken + size > limit:
            raise Conflict(
                f"the fetched checkpoints {whose} have {_mib(taken)}, and may have {_mib(limit)}: this one has "
                f"{_mib(size)}; remove one that is not needed any more, or wait until one expires"
            )
    free = files.free()
    if free is not None and free < size + settings.disk_warning:
        raise Conflict(
            f"the disk of the server has {_mib(free)} free; after this checkpoint of {_mib(size)}, "
            f"{_mib(settings.disk_warning)} have to be (HOOKE_DISK_WARNING)"
        )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"


def view(row: StoredFetch) -> FetchView:
    """Return a fetch as users see it."""
    return FetchView(
        **{name: getattr(row, name) for name in FetchView.model_fields if name not in ("files", "received")},
        received=sum(row.stored.values()),
        files=[FetchedFileView(**each) for each in row.files],
    )


def listed(session: Session, run_id: str) -> FetchList:
    """Return the fetches of a run, newest first."""
    run = service.get(session, run_id)
    query = select(StoredFetch).where(StoredFetch.run_id == run.id).order_by(StoredFetch.id.desc())
    return FetchList(items=[view(row) for row in session.scalars(query)])


def find(session: Session, run_id: str, fetch: str, *, lock: bool = False) -> StoredFetch:
    """Return a fetch of a run. Raises ResourceNotFound."""
    service.get(session, run_id)
    row = session.get(StoredFetch, fetch, with_for_update=lock, populate_existing=lock)
    if row is None or row.run_id != run_id:
        raise ResourceNotFound(f"run {run_id} has no fetched checkpoint {fetch}: it may have expired")
    return row


def give_up(session: Session, row: StoredFetch, settings: Settings) -> None:
    """End a fetch that has not ended; one that has expires now."""
    tell(session, before={"state": row.state, "attempt": row.attempt, "samples": row.samples})
    if row.state in OPEN:
        end(session, row, "cancelled", "", settings.keep_fetched)
    else:
        row.expires_at = database_time(session)


def ready(row: StoredFetch, files: FetchedFiles) -> None:
    """Raise Conflict unless all files of a fetch can be read."""
    if row.state != "ready":
        raise Conflict(f"this checkpoint is {row.state}, not ready" + (f": {row.why}" if row.why else ""))
    try:
        files.check(row.id, sizes(row))
    except ObjectError as error:
        raise Conflict(f"the checkpoint is not whole on the server any more: {error}; fetch it again") from None


def archive(row: StoredFetch, files: FetchedFiles) -> tuple[int, Iterator[bytes]]:
    """Return the length of a tar file with a checkpoint, and its bytes.

    Extracted into an empty folder, `hooke run SPEC --run-dir FOLDER --resume` goes on from it.
    """
    complete = (row.complete or "").encode()
    names = {COMPLETE: len(complete)} | sizes(row)
    blocks = sum(1 + -(-size // tarfile.BLOCKSIZE) for size in names.values()) + 2
    return blocks * tarfile.BLOCKSIZE, _tar(row, complete, names, files)


def _tar(row: StoredFetch, complete: bytes, names: Mapping[str, int], files: FetchedFiles) -> Iterator[bytes]:
    at = row.created_at.timestamp()
    fetch, folder = row.id, f"checkpoints/{row.samples}"
    for name, size in names.items():
        header = tarfile.TarInfo(f"{folder}/{name}")
        header.size, header.mtime, header.mode = size, int(at), 0o644
        yield header.tobuf(tarfile.GNU_FORMAT)
        yield from io.BytesIO(complete) if name == COMPLETE else files.read(fetch, name, size)
        if over := size % tarfile.BLOCKSIZE:
            yield bytes(tarfile.BLOCKSIZE - over)
    yield bytes(2 * tarfile.BLOCKSIZE)
