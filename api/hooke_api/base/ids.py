"""Identifiers: a prefix that says what it names, and a UUIDv7 in 32 hexadecimal digits.

UUIDv7 sorts by time of creation, so the newest rows are adjacent in every index and `ORDER BY id` is the order of
creation. Layout: RFC 9562 section 5.7, with the counter of section 6.2 method 1, so that ids made by one
process within a millisecond keep their order too.
"""

from __future__ import annotations

import secrets
import threading
import time

_lock = threading.Lock()
_last = 0


def uuid7() -> str:
    """Return a new UUIDv7 as 32 hexadecimal digits, greater than all earlier ones of this process."""
    global _last  # noqa: PLW0603 - the order of one process needs one place that remembers the last
    with _lock:
        # 48 bits of milliseconds and 12 of counter form one increasing number
        _last = max(_last + 1, (time.time_ns() // 1_000_000) << 12)
        stamp = _last
    high = (stamp >> 12) << 16 | 0x7000 | (stamp & 0xFFF)
    low = 0b10 << 62 | secrets.randbits(62)
    return f"{high:016x}{low:016x}"


def experiment_id() -> str:
    """Return a new id of an experiment."""
    return "exp_" + uuid7()


def run_id() -> str:
    """Return a new id of a run."""
    return "run_" + uuid7()
