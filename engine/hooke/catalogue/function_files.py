"""Protocol for the reader of users' files that define functions instead of a class; workloads register it.

It is separate from `discovery`, because that module is also run as a program and then imported under two names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol


class FunctionFiles(Protocol):
    """Makes workloads of files that define functions instead of a class."""

    def is_own(self, path: Path) -> bool:
        """Return whether the file has this form; it is not executed."""

    def from_file(self, path: Path, name: str) -> type[Any]:
        """Return the workload that the file defines."""

    def from_module(self, module: str, name: str) -> type[Any]:
        """Return the workload that an importable module defines."""


_readers: list[FunctionFiles] = []


def read_functions(reader: FunctionFiles) -> None:
    """Register the reader of such files; called by the package of workloads when it is imported."""
    _readers.append(reader)


def reader() -> FunctionFiles:
    """Return the registered reader. Raises IndexError before the package of workloads is imported."""
    return _readers[-1]
