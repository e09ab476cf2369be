"""The location of data sets in sparse text: folders and files inside HOOKE_DATA."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from hooke.errors import ArgumentError
from hooke.readers import places

PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$"
Name = Annotated[
    str,
    Field(
        pattern=PATTERN,
        max_length=100,
        title="Data set",
        description="Name of the data set: a folder of HOOKE_DATA, or of the folder of its format there.",
    ),
]
"""Parameter of workloads that read sparse text: the data set."""
READING = threading.Lock()
"""Held while a data set is read, so that ranks that are threads of one process read it once."""


@dataclass(frozen=True)
class Files:
    """The files of a data set; `test` is None if its test part is taken from `train`."""

    train: Path
    test: Path | None


def folders(name: str, kind: str, workload: str, what: str, put: str) -> list[Path]:
    """Return where a data set may be: HOOKE_DATA/kind/name and HOOKE_DATA/name.

    Raises DataMissing without HOOKE_DATA, ArgumentError for a name that is no relative path of one or two parts.
    """
    if not re.fullmatch(PATTERN, name):
        raise ArgumentError(
            f"{name!r} does not name a data set: letters, digits, `.`, `_` and `-`, at most one `/` between them"
        )
    root = places.data(workload, what, put)
    return [root / kind / name, root / name]


def existing(*candidates: Path) -> Path | None:
    """Return the first path that is a file, as it is or with .gz."""
    both = (each for path in candidates for each in (path, path.with_name(f"{path.name}.gz")))
    return next((path for path in both if path.is_file()), None)
