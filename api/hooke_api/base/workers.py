"""Long-lived threads: started again if they end, and part of readiness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import structlog

LOOK_SECONDS = 1.0
"""Interval between two looks at the threads, s."""

log = structlog.get_logger("hooke.workers")


class Worker(Protocol):
    """A thread that works until it is stopped."""

    def start(self) -> None:
        """Begin to work."""

    def is_alive(self) -> bool:
        """Return whether the thread works."""

    def stop(self) -> None:
        """End the thread; return when it has ended, or after a few seconds."""

    def fault(self) -> str | None:
        """Return why it does not do its work at present, or None."""


class Workers:
    """The threads of this process, by name."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Callable[[], Worker], Worker]] = {}

    def add(self, name: str, make: Callable[[], Worker]) -> None:
        """Start a thread; `make` returns a new one whenever the present one has ended."""
        worker = make()
        self._made[name] = (make, worker)
        worker.start()

    def look(self) -> None:
        """Start a thread again that has ended."""
        for name, (make, worker) in list(self._made.items()):
            if not worker.is_alive():
                log.error("a thread has ended; it is started again", worker=name)
                self.add(name, make)

    def reasons(self) -> list[str]:
        """Return why the threads do not do their work; empty if all do."""
        found = []
        for name, (_, worker) in list(self._made.items()):
            why = worker.fault() if worker.is_alive() else "its thread has ended"
            if why:
                found.append(f"the {name} does not work: {why}")
        return found

    async def watch(self) -> None:
        """Look at the threads until this task is cancelled."""
        while True:
            with suppress(Exception):  # no memory for a thread, for example: the next look tries again
                self.look()
            await asyncio.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        """End every thread."""
        for _, worker in self._made.values():
            worker.stop()
