"""Durations as users write them: `90d`, `12h`, `1.5h`."""

from __future__ import annotations

import re
from datetime import timedelta

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""Unit -> seconds: seconds, minutes, hours, days, weeks."""
LONGEST = 36500
"""Days."""
_WRITTEN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([smhdw])")


def duration(text: str) -> timedelta:
    """Return the duration of a text such as `90d`. Raises ValueError with a sentence."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a duration: write a number and one of s, m, h, d, w, such as 90d")
    seconds = float(found[1]) * UNITS[found[2]]
    if seconds > LONGEST * 86400:
        raise ValueError(f"{text!r} is longer than {LONGEST} days")
    return timedelta(seconds=seconds)


def in_words(length: timedelta) -> str:
    """Return a duration in its largest whole unit, such as `7 days`."""
    seconds = length.total_seconds()
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit and seconds % unit == 0:
            count = int(seconds // unit)
            return f"{count} {name}" + ("" if count == 1 else "s")
    return f"{seconds:g} seconds"


def at_least(text: str, least: timedelta) -> timedelta:
    """Return the duration of a text. Raises ValueError with a sentence, also if it is less than `least`."""
    found = duration(text)
    if found < least:
        raise ValueError(f"{in_words(found)} is less than {in_words(least)}")
    return found


NEVER = "never"
"""A retention that deletes nothing."""


def kept(own: str | None, site: timedelta | None) -> timedelta | None:
    """Return after how long what has ended is deleted; None: never. `own`: of the project, None: the site's."""
    if own is None:
        return site
    return None if own == NEVER else duration(own)
