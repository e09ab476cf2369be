"""The checkpoint of an earlier attempt of a run, from which a later one goes on."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from hooke.cluster.places import AttemptFolder

COMPLETE = "complete.json"


def latest_checkpoint(folder: Path) -> Path | None:
    """Return the complete checkpoint with the most samples in an attempt's folder, or None."""
    found = [path.parent for path in folder.glob(f"checkpoints/*/{COMPLETE}") if path.parent.name.isdigit()]
    return max(found, key=lambda path: int(path.name), default=None)


def adopt_checkpoint(folder: AttemptFolder, earliest: int = 1) -> bool:
    """Give an attempt the checkpoint of the latest earlier one that has any; return whether it has one now.

    Attempts before `earliest` do not count; with its own number, the attempt starts over.

    Files are linked where the file system can, else copied: the earlier attempt keeps its own. The file that marks
    a checkpoint as complete comes last.
    """
    if latest_checkpoint(folder.path) is not None:
        return True
    for number in range(folder.attempt - 1, earliest - 1, -1):
        source = latest_checkpoint(folder.path.with_name(str(number)))
        if source is not None:
            _copy(source, folder.path / "checkpoints" / source.name)
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
