"""Which cpus this process may use, and moving it to some of them for a run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_found: frozenset[int] | None = None


def allowed() -> frozenset[int]:
    """Return the cpus that this process may use, those included from which it has pinned itself away."""
    return frozenset(os.sched_getaffinity(0)) if _found is None else _found


def pin(cpus: Iterable[int]) -> str:
    """Let every thread of this process run on these cpus only; return what went wrong, or nothing.

    Affinity belongs to threads and is inherited by new ones: those that MPI has started already are moved, too.
    """
    global _found  # noqa: PLW0603 - the process has one affinity
    wanted, before = set(cpus), allowed()
    try:
        os.sched_setaffinity(0, wanted)
    except OSError as error:
        return f"the kernel refuses to pin to cpus {sorted(wanted)}: {error}"
    with contextlib.suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                os.sched_setaffinity(int(thread.name), wanted)
    _found = before
    return ""


def unpin() -> str:
    """Undo `pin`: a process that carries out several runs places each anew."""
    global _found  # noqa: PLW0603
    failed = "" if _found is None else pin(_found)
    _found = None
    return failed
