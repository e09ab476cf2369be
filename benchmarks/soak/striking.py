"""What all faults share: their register, what they have hit, and how they find and signal their targets."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import psutil

from benchmarks.soak.drawing import Kind, Planned
from benchmarks.soak.installation import Installation

PATIENCE = 6.0
"""Seconds for which a fault waits for a target."""


@dataclass
class Hit:
    """What a fault has hit. `runs`: those whose processes it touched; empty: a part that all runs need."""

    target: str
    runs: list[str] = field(default_factory=list)
    undo: Callable[[], None] | None = None
    """What ends it, to be called after the planned seconds."""
    sure: bool = True
    """Whether it has certainly struck; one that may not have is not counted."""


Strike = Callable[[Installation, Planned], Hit | None]
"""Strikes; returns None if there was no target."""
STRIKES: dict[str, Strike] = {}
KINDS: dict[str, Kind] = {}
T = TypeVar("T")


def fault(name: str, weight: int, *seconds: float) -> Callable[[Strike], Strike]:
    """Register a fault under its name, with how often it comes and how long it may last, s."""

    def register(strike: Strike) -> Strike:
        STRIKES[name], KINDS[name] = strike, Kind(weight, seconds or (0.0,))
        return strike

    return register


def one(planned: Planned, candidates: Sequence[T]) -> T | None:
    """Return the candidate that the plan picks; None if there is none."""
    return candidates[int(planned.pick * len(candidates))] if candidates else None


def awaited(find: Callable[[], T | None]) -> T | None:
    """Return what is found within the patience of a fault; None if nothing is."""
    until = time.monotonic() + PATIENCE
    while (found := find()) is None and time.monotonic() < until:
        time.sleep(0.1)
    return found


def send(pids: Iterable[int], number: int) -> None:
    """Send a signal to those that live."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


HARMLESS = (psutil.Error, OSError, subprocess.SubprocessError)
"""Errors of a fault whose target has gone meanwhile."""
