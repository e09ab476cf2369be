"""300 event streams while 100 runs report: ordinary requests, memory, and what arrives."""

from __future__ import annotations

from statistics import median

from benchmarks.api.figures import Bench, Figure, Measured, p95
from benchmarks.api.live import Live, live

TITLE = "Streams"
SECONDS = 60.0
GOAL_MS, GOAL_MB = 100.0, 200.0


def measure(bench: Bench) -> Measured:
    """Yield the 95th percentile of ordinary requests, memory, and the numbers of requests and events."""
    found = live(bench, bench.seconds or max(5.0, SECONDS * bench.scale))
    yield Figure(f"{found.what}: ordinary requests", "ms, p95", (p95(found.every()),), GOAL_MS)
    yield Figure("the same, median", "ms", (1e3 * median(found.every()),))
    for name, each in found.took.items():
        yield Figure(f"the same, {name}", "ms, p95", (p95([seconds for _, seconds in each]),), GOAL_MS)
    yield Figure("API memory, largest", "MB", (max(held for _, held in found.memory),), GOAL_MB)
    yield Figure("API memory before", "MB", (found.idle,))
    half = found.memory_at(found.seconds) - found.memory_at(found.seconds / 2)
    yield Figure("API memory, growth in the second half", "MB/min", (60 * half / (found.seconds / 2),))
    yield from traffic(found)


def traffic(found: Live) -> Measured:
    """Yield what was sent and received, what is missing of it, and what it cost."""
    sent, heard = found.sent, found.heard
    yield Figure("requests of supervisors", "requests/s", (sent["requests"] / sent["seconds"],), higher=True)
    yield Figure("requests of supervisors", "ms, p95", (sent["p95"],))
    yield Figure("steps acknowledged and not in curves", "steps", (found.missing,), 0)
    yield Figure("events received", "events/s", (heard["events"] / heard["seconds"],), higher=True)
    yield Figure("streams that broke", "streams", (heard["broken"],), 0)
    yield Figure("processor of the API", "s/s", (found.processor,))
    yield Figure("processor of supervisors", "s/s", (sent["processor"] / sent["seconds"],))
    yield Figure("processor of browsers", "s/s", (heard["processor"] / heard["seconds"],))
