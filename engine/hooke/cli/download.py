"""Downloads a checkpoint of a run through the server, for `hooke runs download` and for programs."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from hooke.cli.remote import Remote
from hooke.errors import ArgumentError
from hooke.spec.fetching import COMPLETE

POLL_SECONDS = 1.0
_BLOCK = 1 << 20


def download_checkpoint(
    remote: Remote,
    run: str,
    out: Path,
    *,
    attempt: int | None = None,
    samples: int | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Path:
    """Have the server fetch a checkpoint, wait for it, and write it below `out`; return its folder.

    By default it is the newest one of the latest attempt that has any. Each file has the SHA-256 that its rank
    reported, and one that is there already is not downloaded again; the file that marks it as complete comes last,
    so that `hooke run SPEC --run-dir OUT --resume` can go on from it. `told` gets what is done.

    Raises ArgumentError.
    """
    path = f"/runs/{quote(run, safe='')}/fetches"
    found = _ready(remote, path, {"attempt": attempt, "samples": samples}, told)
    folder = out / "checkpoints" / str(found["samples"])
    base = f"{path}/{found['id']}/files"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in found["files"]:
            target = folder / file["name"]
            if not (target.exists() and _digest(target) == file["sha256"]):
                told(f"downloading {file['name']}, {file['size']:,} bytes")
                _write(remote, f"{base}/{file['name']}", target, file["sha256"])
        _write(remote, f"{base}/{COMPLETE}", folder / COMPLETE)
    except OSError as error:
        raise ArgumentError(f"{error.filename or folder}: {error.strerror}") from None
    return folder


def _ready(remote: Remote, path: str, asked: dict[str, Any], told: Callable[[str], None]) -> dict[str, Any]:
    """Return the fetch once the server has all of it."""
    found = remote.post(path, asked)
    before = ""
    while found["state"] in ("waiting", "sending"):
        now = f"{found['state']}: the server has {found['received']:,} of {found['size']:,} bytes"
        if now != before:
            told(now)
        before = now
        time.sleep(POLL_SECONDS)
        items = remote.get(path)["items"]
        found = next((each for each in items if each["id"] == found["id"]), found | {"state": "cancelled"})
    if found["state"] != "ready":
        why = found["why"] or "somebody cancelled it"
        raise ArgumentError(f"the checkpoint at {found['samples']:,} samples could not be fetched: {why}")
    return dict(found)


def _write(remote: Remote, path: str, target: Path, sha256: str | None = None) -> None:
    """Download a file under another name, and give it its own if it is what it should be."""
    draft = target.with_name(f".{target.name}.part")
    try:
        with draft.open("wb") as file:
            remote.download(path, file)
        if sha256 is not None and _digest(draft) != sha256:
            raise ArgumentError(f"{target.name} was damaged on its way: its SHA-256 differs; try again")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        for block in _blocks(file):
            found.update(block)
    return found.hexdigest()


def _blocks(file: IO[bytes]) -> Any:
    return iter(lambda: file.read(_BLOCK), b"")
