"""How files of users that define functions instead of a class become workloads: told from above.

Apart from `discovery`, which is also run as a program and is then imported under two names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class FunctionFiles(Protocol):
    """How a file that defines functions instead of a class becomes a workload."""

    def is_own(self, path: Path) -> bool:
        """Return whether the file is of this form; it is not executed."""

    def from_file(self, path: Path, name: str) -> type[Any]:
        """Return the workload that the file defines."""

    def from_module(self, module: str, name: str) -> type[Any]:
        """Return the workload that an importable module defines."""


_readers: list[FunctionFiles] = []


def read_functions(reader: FunctionFiles) -> None:
    """Have such files read by this; the package of workloads calls it when it is imported."""
    _readers.append(reader)


def reader() -> FunctionFiles:
    """Return what reads them. Raises IndexError before the package of workloads is imported."""
    return _readers[-1]
