"""Where data sets lie: in folders of the folder that HOOKE_DATA names. Nothing is ever downloaded."""

from __future__ import annotations

import os
from pathlib import Path

from hooke.errors import DataMissing


def data(workload: str, what: str, put: str) -> Path:
    """Return the folder that HOOKE_DATA names, or raise DataMissing: `put` says what belongs into it."""
    root = os.environ.get("HOOKE_DATA")
    if not root:
        raise DataMissing(
            f"{workload} reads {what} from files, and HOOKE_DATA is not set. {put}, and set HOOKE_DATA to the "
            "folder that holds it"
        )
    if not Path(root).is_dir():
        raise DataMissing(f"{workload} reads {what} from files, but HOOKE_DATA={root} is no folder. {put}")
    return Path(root)


def cache(name: str) -> Path:
    """Return where this user's machine may keep what is costly to decode (XDG_CACHE_HOME, else ~/.cache)."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "hooke" / name
