"""Long-lived threads: started again if they end, and part of readiness; a process in which one hangs is ended.

A thread cannot be ended from outside, and a second one beside it might do the same work twice. So the process ends
itself (`hooke_api.base.watchdog`), and its keeper (`hooke up`, systemd, the container engine) starts it again.
Time in which the process was stopped is not counted.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

import structlog

from hooke_api.base.causes import LOG, cause
from hooke_api.base.errors import AWAY, Unavailable
from hooke_api.base.watchdog import Watchdog

LOOK_SECONDS = 1.0
"""Interval between two looks at the threads, s."""
AGAIN_SECONDS = 1.0
"""Pause after a look that failed, s."""
HANGS_SECONDS = 120.0
"""Seconds without a sign of a thread after which it counts as hanging; plus its interval."""

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

    def overdue(self) -> float:
        """Return for how long a sign of life has been due, s; 0 or less: it is not due yet."""


class Workers:
    """The threads of this process, by name."""

    def __init__(self, hangs_seconds: float = HANGS_SECONDS) -> None:
        self._made: dict[str, tuple[Callable[[], Worker], Worker]] = {}
        self._hangs_seconds = hangs_seconds
        self._guarded = False
        """Whether this process ends when it hangs."""
        self._watchdog: Watchdog | None = None
        self._looked = time.monotonic()
        self._resumed = -math.inf
        """When the process went on that had been stopped; by the clock that never jumps, like the last look."""
        self._told: set[str] = set()
        """Threads that were said to hang."""

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
            if worker.is_alive() and self._hangs(worker):
                why = f"it has given no sign of life for {worker.overdue():.0f} s; {LOG}"
            if why:
                found.append(f"the {name} does not work: {why}")
        return found

    def _hangs(self, worker: Worker) -> bool:
        return min(worker.overdue(), time.monotonic() - self._resumed) > self._hangs_seconds

    def guard(self) -> None:
        """Have this process end, with the places of all threads in its log, when it hangs.

        An event loop may stand still for `hangs_seconds`; so long after a thread counts as hanging, it may go on.
        """
        self._guarded = True

    def unguard(self) -> None:
        """End that: the process ends by another way. May be called by a handler of a signal."""
        self._guarded = False
        if self._watchdog is not None:
            self._watchdog.end()

    def _put_off(self) -> None:
        """Put off the end of this process, unless a thread hangs."""
        before, self._looked = self._looked, time.monotonic()
        if self._looked - before > self._hangs_seconds:
            self._resumed = self._looked  # threads had no time either
        hanging = [name for name, (_, worker) in self._made.items() if self._hangs(worker)]
        if self._guarded and self._watchdog is None:
            self._watchdog = Watchdog(self._hangs_seconds)
            self._watchdog.start()
        if self._watchdog is not None and not hanging:
            self._watchdog.beat()
        for name in set(hanging) - self._told:
            log.error("a thread hangs: this process ends unless it goes on", worker=name)
        self._told = set(hanging)

    async def watch(self) -> None:
        """Look at the threads until this task is cancelled."""
        try:
            while True:
                with suppress(Exception):  # no memory for a thread, for example: the next look tries again
                    self._put_off()
                    self.look()
                await asyncio.sleep(min(LOOK_SECONDS, self._hangs_seconds / 4))
        finally:
            self.unguard()

    def stop(self) -> None:
        """End every thread, all at the same time: one after the other, some that wait would take too long."""
        ending = [threading.Thread(target=worker.stop, daemon=True) for _, worker in self._made.values()]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join()


def still_working() -> None:
    """Note a sign of life of the thread that calls this, if it is one of those that are watched.

    For what takes long of one thing, such as reading all steps of a run: it may also be done by a request.
    """
    thread = threading.current_thread()
    if isinstance(thread, Repeating):
        thread.lives()


def every(works: Iterable[Callable[[], object]], at_once: tuple[type[Exception], ...] = ()) -> None:
    """Do all works; then raise the first error of one. What one run is stored with must not keep back all others.

    Raises at once what the next work would meet, too: a database that is away, too many writers, `at_once`.
    """
    first: Exception | None = None
    common: tuple[type[Exception], ...] = (*AWAY, Unavailable, *at_once)
    for work in works:
        try:
            work()
        except common:
            raise
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


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
        return None

    def overdue(self) -> float:
        """Return for how long a sign of life has been due, s; 0 or less: it is not due yet."""
        return time.monotonic() - self._sign_at - self.seconds

    def stop(self) -> None:
        """End the thread; return when it has ended, or after a few seconds."""
        self.ended.set()
        if self.is_alive():
            self.join(5)
