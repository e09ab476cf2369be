"""Requests that are repeated: after pauses with jitter, and no earlier than the API asks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from pydantic import ValidationError

from hooke.cluster.http_client import httpx

LIMIT = 60.0
"""Seconds for which a request is repeated, and for which an API is left alone at most, whatever it asks."""
FIRST, LONGEST = 0.5, 8.0
"""First and longest pause between two requests, s."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


def retry_after(response: httpx.Response) -> float:
    """Return the seconds of a Retry-After header; 0 without one, or for a date."""
    given = response.headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdigit() else 0.0


def asked_to_wait(error: Exception) -> float:
    """Return the seconds for which the API that answered so asks to be left alone, at most LIMIT."""
    return min(LIMIT, retry_after(error.response)) if isinstance(error, httpx.HTTPStatusError) else 0.0


def pauses() -> Iterator[float]:
    """Yield growing pauses in seconds, each between half of a power of two times FIRST and all of it.

    The jitter keeps those that failed together from returning together.
    """
    pause = FIRST
    while True:
        yield random.uniform(pause / 2, pause)  # noqa: S311
        pause = min(LONGEST, 2 * pause)


def repeated(request: Callable[[], T], what: str) -> T | None:
    """Return what a request to the API returns; while it does not answer, again for LIMIT seconds, then None.

    `what`: the request, for the log. Errors other than httpx.HTTPError, OSError and ValidationError (of an answer
    that is none of a Hooke server) are raised at once, as a refusal is.
    """
    until, complained = time.monotonic() + LIMIT, False
    growing = pauses()
    while True:
        try:
            return request()
        except (httpx.HTTPError, OSError, ValidationError) as error:
            pause = max(next(growing), asked_to_wait(error))
            if time.monotonic() + pause > until:
                _log.warning("%s was not possible within %g s, and is left out: %s", what, LIMIT, error)
                return None
            if not complained:
                _log.warning("%s is tried again until the API answers: %s", what, error)
            complained = True
            time.sleep(pause)
