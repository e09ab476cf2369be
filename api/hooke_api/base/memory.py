"""Memory that the C library keeps although nobody uses it, given back to the system.

Each of the many threads of the API gets an arena of its own from glibc, up to eight per core, and blocks of up to
32 MiB are cut from these once one of that size has been freed. What is freed there stays with the process.
"""

from __future__ import annotations

import asyncio
import ctypes
from functools import cache

TRIM_SECONDS = 10.0
"""Interval at which free pages are given back, s."""
ARENAS = 2
LARGE = 256 * 1024
"""Bytes from which a block has pages of its own, which are given back when it is freed: bodies, columns."""
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
"""M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h."""


@cache
def _library() -> ctypes.CDLL | None:
    """Return the C library if it is glibc."""
    try:
        found = ctypes.CDLL(None)
        return found if hasattr(found, "gnu_get_libc_version") else None
    except OSError:
        return None


def settle() -> bool:
    """Have all threads share few arenas; to be called before there are threads. Return whether that was done."""
    library = _library()
    if library is None:
        return False
    return bool(library.mallopt(_ARENA_MAX, ARENAS)) and bool(library.mallopt(_MMAP_THRESHOLD, LARGE))


def trim() -> None:
    """Give free pages back to the system."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


async def trim_repeatedly() -> None:
    """Give free pages back every TRIM_SECONDS, in a thread, until this task is cancelled."""
    while True:
        await asyncio.sleep(TRIM_SECONDS)
        await asyncio.to_thread(trim)
