"""The cpus that this process may use, and pinning it to some of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_found: frozenset[int] | None = None


def allowed() -> frozenset[int]:
    """Return the cpus that this process may use, ignoring `pin`."""
    return frozenset(os.sched_getaffinity(0)) if _found is None else _found


def pin(cpus: Iterable[int]) -> str:
    """Restrict every thread of this process to these cpus; return an error message, or an empty string.

    Affinity is per thread and inherited by new threads; existing ones, such as MPI's, are moved, too.
    """
    global _found  # noqa: PLW0603 - the process has one affinity
    wanted, before = set(cpus), allowed()
    try:
        os.sched_setaffinity(0, wanted)
    except OSError as error:
        return f"the kernel refuses to pin to cpus {sorted(wanted)}: {error}"
    with contextlib.suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):  # the thread has ended
                os.sched_setaffinity(int(thread.name), wanted)
    _found = before
    return ""


def unpin() -> str:
    """Undo `pin`; a process that executes several runs places each of them."""
    global _found  # noqa: PLW0603
    failed = "" if _found is None else pin(_found)
    _found = None
    return failed
