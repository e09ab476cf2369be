"""The load of the scenario *Streams* for an hour: whether memory grows, and whether requests become slower."""

from __future__ import annotations

from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.live import WARM_SECONDS, live
from benchmarks.api.scenarios.streams import GOAL_MB, GOAL_MS, traffic

TITLE = "Streams for an hour"
SECONDS = 3600.0
LOOKS = 60
"""Looks at the memory: in an hour one a minute."""
WARM = f"{WARM_SECONDS:g} s"
QUARTERS = ("first", "second", "third", "last")


def measure(bench: Bench) -> Measured:
    """Yield memory in the beginning and after each quarter, its growth, and percentiles of each quarter."""
    seconds = bench.seconds or max(5.0, SECONDS * bench.scale)
    found = live(bench, seconds, seconds / LOOKS)
    yield Figure(f"{found.what}: ordinary requests", "ms, p95", (p95(found.every()),), GOAL_MS)
    for i, name in enumerate(QUARTERS):
        part = found.every(i * seconds / 4, (i + 1) * seconds / 4)
        yield Figure(f"the same, in the {name} quarter", "ms, p95", (p95(part),), GOAL_MS)
    yield Figure("API memory before", "MB", (found.idle,))
    yield Figure(f"API memory, {WARM} after the begin of the load", "MB", (found.memory[0][1],))
    for i, name in enumerate(QUARTERS):
        held = found.memory_at((i + 1) * seconds / 4)
        yield Figure(f"API memory, end of the {name} quarter", "MB", (held,), GOAL_MB)
    yield Figure(f"API memory, at {LOOKS} equal distances", "MB", tuple(held for _, held in found.memory))
    yield Figure("API memory, largest", "MB", (max(held for _, held in found.memory),), GOAL_MB)
    half = [look for look in found.memory if look[0] >= seconds / 2]
    yield Figure("API memory, growth in the second half", "MB/h", (3600 * slope(half),))
    yield from traffic(found)


def slope(points: list[tuple[float, float]]) -> float:
    """Return the slope of the line of least squares through some points; 0 for one point."""
    n = len(points)
    x, y = (sum(point[i] for point in points) / n for i in (0, 1))
    spread = sum((at - x) ** 2 for at, _ in points)
    return sum((at - x) * (held - y) for at, held in points) / spread if spread else 0.0
