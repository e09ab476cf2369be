"""Start-up cost of the API: time to the first response, and memory."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import httpx

from benchmarks.core._api import running_api

Result = tuple[str, float, str, float | None]
TIMES = 5


def measure() -> Iterator[Result]:
    """Yield start time and resident memory, with the catalogues read once."""
    seconds, memory = [], []
    for _ in range(TIMES):
        with running_api() as api, httpx.Client(headers={"authorization": f"Bearer {api.token}"}) as client:
            seconds.append(api.seconds)
            for path in ("algorithms", "workloads", "experiments", "runs", "clusters"):
                client.get(f"{api.url}/api/v1/{path}").raise_for_status()
            memory.append(api.resident())
    yield "API start to first answer, empty database", median(seconds), "s", 1.5
    yield "API resident memory", median(memory), "MB", 150.0
