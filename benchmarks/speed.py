"""The present speed of the machine: a fixed piece of work, timed before each run and stored with its result.

A rented machine may be half as fast an hour later, without other load. Times measured at different speeds are not
comparable; a page states the range of speeds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable

import numpy as np

REPEATS = 9
UNEVEN = 1.25
"""Ratio of the slowest to the fastest probe from which times count as not comparable."""


def probe() -> float:
    """Return the milliseconds of a fixed piece of work (arithmetic, memory, interpreter); median of several."""
    small, large = np.linspace(0.0, 1.0, 50_000), np.ones(500_000, np.float32)
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for _ in range(10):
            np.tanh(small)
            np.add(large, large, out=large)
        sum(i * i for i in range(50_000))
        times.append(time.perf_counter() - began)
        large.fill(1.0)
    return 1e3 * statistics.median(times)


def told(milliseconds: Iterable[float | None]) -> str:
    """Return a sentence on the speeds at which runs were measured; empty if none is known."""
    found = [value for value in milliseconds if value is not None]
    if not found:
        return ""
    least, most = min(found), max(found)
    said = f"A fixed piece of work took {least:.1f} to {most:.1f} ms just before these runs"
    if most > UNEVEN * least:
        return f"{said}: **the machine's own speed changed meanwhile**, by a factor of {most / least:.1f}."
    return f"{said}."
