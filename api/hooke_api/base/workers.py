"""Long-lived threads: started again if they end, and part of readiness."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

import structlog

from hooke_api.base.causes import LOG, cause

LOOK_SECONDS = 1.0
"""Interval between two looks at the threads, s."""
AGAIN_SECONDS = 1.0
"""Pause after a look that failed, s."""
HANGS_SECONDS = 120.0
"""Seconds without a sign of a `Repeating` thread after which it counts as hanging; plus its interval."""

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
        """Return why it does not do its work at present, or None; anybody may read it."""


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


class Repeating(threading.Thread):
    """A `Worker` that looks every `seconds`; a look that fails is logged, once for each reason."""

    def __init__(self, name: str, seconds: float) -> None:
        super().__init__(name=name, daemon=True)
        self.seconds = seconds
        self.ended = threading.Event()
        self._failing: str | None = None
        """The last error, for the log."""
        self._cause: str | None = None
        """What is said of it to everybody."""
        self._sign_at = time.monotonic()

    def look(self) -> None:
        """Do what is to be done now."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what is held, at the end."""

    def lives(self) -> bool:
        """Note a sign of life in a long look; return whether to go on with it."""
        self._sign_at = time.monotonic()
        return not self.ended.is_set()

    def run(self) -> None:
        """Look until stopped."""
        while self.lives():
            try:
                self.look()
                self._failing = self._cause = None
            except Exception as error:  # any error: the thread must not end
                why = f"{type(error).__name__}: {error}".splitlines()[0][:300]
                if why != self._failing:  # the disk may be full: a look must not fill the rest of it
                    with suppress(Exception):
                        log.exception("a look failed", worker=self.name)
                self._failing, self._cause = why, cause(error)
            self.lives()
            self.ended.wait(min(self.seconds, AGAIN_SECONDS) if self._failing else self.seconds)
        with suppress(Exception):  # shutting down: what is held expires
            self.close()

    def fault(self) -> str | None:
        """Return why it does not do its work at present, or None."""
        if self._cause:
            return f"its last look failed: {self._cause}; {LOG}"
        silent = time.monotonic() - self._sign_at
        return f"its look has not ended for {silent:.0f} s" if silent > self.seconds + HANGS_SECONDS else None

    def stop(self) -> None:
        """End the thread; return when it has ended, or after a few seconds."""
        self.ended.set()
        if self.is_alive():
            self.join(5)
