"""Runs in progress on this machine when Hooke stops or starts."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import psutil
from hooke.cluster.places import AttemptFolder, Home
from hooke.cluster.processes import members, signal_all, sweep

SUPERVISOR = "hooke.cluster.supervisor"
GRACE = 6.0
"""Seconds in which a supervisor ends its ranks and delivers what they wrote."""


def unfinished(home: Path) -> list[AttemptFolder]:
    """Return every attempt with data that the API has not acknowledged."""
    return [attempt for attempt in Home(home).attempts() if not attempt.delivered.exists()]


def supervisors(home: Path) -> set[int]:
    """Return the running supervisors of this folder, by their arguments: a new one has no lock yet."""
    jobs = f"{home / 'jobs'}/"
    found = set()
    for process in psutil.process_iter(["cmdline"]):
        arguments = process.info["cmdline"] or []  # None: another user's
        if SUPERVISOR in arguments and any(argument.startswith(jobs) for argument in arguments):
            found.add(process.pid)
    return found


async def end_all(home: Path, grace: float = GRACE) -> list[int]:
    """End every attempt of this folder: SIGTERM to its supervisor, SIGKILL to remaining processes after `grace`.

    Call it while the API still responds, so that the ends are reported. Return the processes that could not be
    killed.
    """
    asked: set[int] = set()
    until = time.monotonic() + grace
    while (living := supervisors(home)) and time.monotonic() < until:
        signal_all(living - asked, signal.SIGTERM)
        asked |= living
        await asyncio.sleep(0.1)
    signal_all(supervisors(home), signal.SIGKILL)
    ids = [attempt.id for attempt in unfinished(home)]
    return await asyncio.to_thread(sweep, ids) if members(ids) else []
