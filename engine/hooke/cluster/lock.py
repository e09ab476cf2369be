"""The file lock of a supervisor on its attempt, which shows that it is alive: the kernel frees it on death."""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

from hooke.cluster.processes import start_time

_PATIENCE = 1.0
"""Seconds to retry: `holder` takes a shared lock briefly, which must not be mistaken for an owner."""


class Lock:
    """An exclusive lock on a file, held until `release` or the end of the process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path) -> Lock | None:
        """Take the lock and write its holder to the file; None if another process has it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # who can open it can lock it: a process of another account would seem to be a supervisor that lives
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        until = time.monotonic() + _PATIENCE
        while not _try(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > until or _holder_written(path) is not None:
                os.close(descriptor)
                return None
            time.sleep(0.02)
        text = json.dumps({"pid": os.getpid(), "started": start_time(os.getpid())})
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Release the lock."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def _try(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder_written(path: Path) -> int | None:
    """Return the process named in the file, if it is alive."""
    try:
        written = json.loads(path.read_text())
        pid, started = int(written["pid"]), written["started"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if started is not None and start_time(pid) == started else None


def held(path: Path) -> bool:
    """Return whether a living process holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """Return the pid of the process that holds the lock, or None."""
    return _holder_written(path) if held(path) else None
