"""When a client of the API tries again: after a pause with jitter, and no earlier than the API asks."""

from __future__ import annotations

import random
from collections.abc import Iterator

import httpx

LONGEST = 60.0
"""Seconds for which an API is left alone at most, whatever it asks."""


def retry_after(response: httpx.Response) -> float:
    """Return the seconds of a Retry-After header; 0 without one, or for a date."""
    given = response.headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdigit() else 0.0


def asked_to_wait(error: Exception) -> float:
    """Return the seconds for which the API that answered so asks to be left alone, at most LONGEST."""
    return min(LONGEST, retry_after(error.response)) if isinstance(error, httpx.HTTPStatusError) else 0.0


def pauses(first: float, longest: float) -> Iterator[float]:
    """Yield growing pauses in seconds, each between half of a power of two times `first` and all of it.

    The jitter keeps those that failed together from returning together.
    """
    pause = first
    while True:
        yield random.uniform(pause / 2, pause)  # noqa: S311
        pause = min(longest, 2 * pause)
