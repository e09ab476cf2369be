"""Waiting for what other processes and threads do, and ports for them: the one place of both.

A test waits for a condition, never for a time: the limit only ends a test that would hang, so it is far beyond
what a busy machine needs, and nothing is asserted about how long a wait took.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import Callable
from typing import TypeVar

LIMIT = 120.0
"""Seconds after which a wait was in vain; below pytest's own limit of a test, which names nothing."""
PAUSE, LONGEST_PAUSE = 0.02, 0.2
"""First and longest pause between two questions, s: many of them are requests, or a look at all processes, which
take more of a processor than what they wait for."""
PORTS = range(12_000, 32_000)
"""Below those that the kernel gives to outgoing connections, so that none of them can take a port meanwhile."""

T = TypeVar("T")


class _Wait:
    """Asks for a condition until it is true or the limit has passed."""

    def __init__(self, condition: Callable[[], T], what: str | Callable[[], str], ignoring: tuple, seconds: float):
        self._condition, self._what, self._ignoring, self._seconds = condition, what, ignoring, seconds
        self._began = time.monotonic()
        self._until = self._began + seconds

    def ask(self) -> T | None:
        """Return what the condition says; raises AssertionError behind the limit."""
        last = time.monotonic() >= self._until
        error: Exception | None = None
        try:
            if found := self._condition():
                return found
        except self._ignoring as raised:
            error = raised
        if last:
            what = self._what if isinstance(self._what, str) else self._what()
            raise AssertionError(f"waited {self._seconds:g} s in vain for {what}") from error
        return None

    def pause(self) -> float:
        """Return the seconds until the next question: a twentieth of the time waited so far."""
        return min(LONGEST_PAUSE, max(PAUSE, (time.monotonic() - self._began) / 20))


def wait_for(
    condition: Callable[[], T],
    what: str | Callable[[], str],
    *,
    ignoring: tuple[type[Exception], ...] = (),
    seconds: float = LIMIT,
) -> T:
    """Return the first true answer of `condition`; what raises one of `ignoring` is no answer.

    Raises AssertionError, which says `what` was waited for, after `seconds`.
    """
    wait = _Wait(condition, what, ignoring, seconds)
    while (found := wait.ask()) is None:
        time.sleep(wait.pause())
    return found


async def wait_for_async(condition: Callable[[], T], what: str, *, seconds: float = LIMIT) -> T:
    """Do the same in an event loop, which goes on meanwhile."""
    wait = _Wait(condition, what, (), seconds)
    while (found := wait.ask()) is None:
        await asyncio.sleep(wait.pause())
    return found


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on, drawn by chance, so that two get different ones."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
