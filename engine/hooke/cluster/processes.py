"""Finding and killing the processes of an attempt, by /proc.

Hydra's proxy and every rank call setsid, so no process group contains an attempt. Its processes are identified by
HOOKE_ATTEMPT in their environment.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from hooke.errors import LaunchError

PR_SET_CHILD_SUBREAPER = 36
_VARIABLE = b"HOOKE_ATTEMPT="


def become_subreaper() -> None:
    """Become a child subreaper: a rank whose mpirun or proxy died becomes a child of this process, not of init."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise LaunchError(f"prctl(PR_SET_CHILD_SUBREAPER) failed: {os.strerror(ctypes.get_errno())}")


@dataclass(frozen=True)
class Status:
    """Fields of /proc/<pid>/stat: `state` is a letter (Z: zombie), `started` is in clock ticks since boot."""

    name: str
    state: str
    parent: int
    started: int


def status(pid: int) -> Status | None:
    """Return the status of a process, or None if it does not exist."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return Status(name, fields[0], int(fields[1]), int(fields[19]))


def start_time(pid: int) -> int | None:
    """Return the start time of a living process in clock ticks since boot.

    With the pid it identifies the process.
    """
    found = status(pid)
    return None if found is None or found.state in "ZX" else found.started


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names, not paths


def children(parent: int) -> dict[int, Status]:
    """Return the living children of a process."""
    found = {pid: status(pid) for pid in _pids()}
    return {pid: s for pid, s in found.items() if s and s.parent == parent and s.state not in "ZX"}


def _attempts_of(pid: int) -> set[str]:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # ended, or owned by another user
        return set()
    for entry in environment.split(b"\0"):
        if entry.startswith(_VARIABLE):
            return set(entry[len(_VARIABLE) :].decode(errors="replace").split(","))
    return set()


def members(ids: Collection[str]) -> list[int]:
    """Return every living process whose HOOKE_ATTEMPT names one of these attempts."""
    wanted = set(ids)
    return [pid for pid in _pids() if pid != os.getpid() and not wanted.isdisjoint(_attempts_of(pid))]


def reap_orphans() -> None:
    """Wait for every child that has ended; call only when no child's status is needed any more."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def signal_all(pids: Collection[int], number: int) -> None:
    """Send a signal to each of these processes that still exists."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def sweep(ids: Collection[str], patience: float = 5.0, mercy: float = 1.0) -> list[int]:
    """Kill all processes of these attempts until none is left; return those that remain after `patience` seconds.

    For the first `mercy` seconds it only waits, because guards may still be writing exit records after mpirun has
    ended. Two consecutive scans without a process are required, because a process may fork between being listed
    and being killed.
    """
    until = time.monotonic() + mercy
    while members(ids) and time.monotonic() < until:
        time.sleep(0.02)
    until = time.monotonic() + patience
    clean = 0
    while clean < 2:
        left = members(ids)
        clean = clean + 1 if not left else 0
        if left and time.monotonic() > until:
            return left
        signal_all(left, signal.SIGKILL)
        if left:
            time.sleep(0.02)
        reap_orphans()
    return []
