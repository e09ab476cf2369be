"""The checkpoint of an earlier attempt of a run, from which a later one goes on."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hooke.cluster.places import AttemptFolder
from hooke.spec.journal import open_plain

COMPLETE = "complete.json"
_LONGEST = 1 << 20
"""Bytes of the file that marks a checkpoint as complete."""


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the good checkpoint with the most samples in an attempt's folder, or None.

    Complete, and every file of it intact: a host that lost its power may have left one that is not.
    """
    found = [path.parent for path in folder.glob(f"checkpoints/*/{COMPLETE}") if path.parent.name.isdecimal()]
    newest_first = sorted(found, key=lambda path: int(path.name), reverse=True)
    return next((path for path in newest_first if _good(path)), None)


def _good(checkpoint: Path) -> bool:
    try:
        with open_plain(checkpoint / COMPLETE) as file:
            ranks = int(json.loads(file.read(_LONGEST))["ranks"])
        return all(_intact(checkpoint / f"rank.{rank}.npz") for rank in range(ranks))
    except Exception:  # any error: users' code may write anything
        return False


def _intact(path: Path) -> bool:
    """Return whether a file has the content whose checksums it contains: NumPy's archives are ZIP files.

    Theirs are not compressed: a compressed one is none of Hooke's, and may hold more than can be read.
    """
    with open_plain(path) as file, zipfile.ZipFile(file) as archive:
        stored = all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
        return stored and archive.testzip() is None


def adopt_checkpoint(folder: AttemptFolder, earliest: int = 1) -> bool:
    """Give an attempt the checkpoint of the latest earlier one that has any; return whether it has one now.

    Attempts before `earliest` do not count; with its own number, the attempt starts over.

    Files are linked where the file system can, else copied: the earlier attempt keeps its own. The file that marks
    a checkpoint as complete comes last.
    """
    if any(folder.ranks.glob(f"checkpoints/*/{COMPLETE}")):
        return True
    for number in range(folder.attempt - 1, earliest - 1, -1):
        former = replace(folder, path=folder.path.with_name(str(number)), attempt=number)
        with suppress(PermissionError):  # it was the agent's own, and this one is another account's
            source = latest_checkpoint(former.ranks)
            if source is not None:
                _copy(source, folder.ranks / "checkpoints" / source.name)
                return True
    return False


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir(), key=lambda found: found.name == COMPLETE):
        place = target / path.name
        with suppress(FileExistsError):  # of an adoption that was interrupted
            try:
                os.link(path, place)
            except FileExistsError:
                raise
            except OSError:
                shutil.copy2(path, place)
