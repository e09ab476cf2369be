"""What the provider said: kept for a while, as a failure is for seconds, so that it is not asked in a hurry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import structlog

from hooke_api.oidc.problems import NotSignedIn

KEPT = 3600.0
"""Seconds for which an answer is used without asking again."""
PAUSE = 10.0
"""Seconds after a question in which it is not asked again, whatever came of it."""

T = TypeVar("T")

log = structlog.get_logger("hooke.oidc")


class Kept(Generic[T]):
    """An answer of the provider. Used in the event loop only; one request asks, others wait for it."""

    def __init__(self, ask: Callable[[], Awaitable[T]], clock: Callable[[], float]) -> None:
        """`ask` raises NotSignedIn; `clock`: seconds."""
        self.trouble: str | None = None
        """Why there was no answer the last time."""
        self._ask, self._clock = ask, clock
        self._asking = asyncio.Lock()
        self._answer: tuple[float, T] | None = None
        self._failed: tuple[float, NotSignedIn] | None = None

    async def get(self, *, newer: bool = False) -> T:
        """Return the answer; `newer`: not one that was kept for more than a few seconds. Raises NotSignedIn."""
        async with self._asking:
            now = self._clock()
            if self._answer and now - self._answer[0] < (PAUSE if newer else KEPT):
                return self._answer[1]
            if self._failed and now - self._failed[0] < PAUSE:
                raise NotSignedIn(self._failed[1].problem, str(self._failed[1]))
            try:
                found = await self._ask()
            except NotSignedIn as error:
                self._failed, self.trouble = (self._clock(), error), str(error)[:300]
                log.warning("the provider cannot be used", why=self.trouble)
                raise
            self._answer, self._failed, self.trouble = (self._clock(), found), None, None
            return found
