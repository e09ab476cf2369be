"""The location of data sets: subfolders of HOOKE_DATA. Nothing is downloaded."""

from __future__ import annotations

import os
from pathlib import Path

from hooke.errors import DataMissing


def data(workload: str, what: str, put: str) -> Path:
    """Return the folder HOOKE_DATA. Raises DataMissing; `put` is the hint on which files to provide."""
    root = os.environ.get("HOOKE_DATA")
    if not root:
        raise DataMissing(
            f"{workload} reads {what} from files, and HOOKE_DATA is not set. {put}, and set HOOKE_DATA to the "
            "folder that holds it"
        )
    if not Path(root).is_dir():
        raise DataMissing(f"{workload} reads {what} from files, but HOOKE_DATA={root} is not a folder. {put}")
    return Path(root)


def cache(name: str) -> Path:
    """Return the cache folder for decoded data (in XDG_CACHE_HOME, otherwise ~/.cache)."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "hooke" / name
