"""100 runs that report and 300 open streams, for any time: what ordinary requests meet meanwhile.

Supervisors and browsers are processes of their own. Most streams are of one experiment, as pages of experiments
and runs open them; some are of everything, as the list does.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.api.attempts import Attempt, claimed
from benchmarks.api.client import timed
from benchmarks.api.figures import Bench
from benchmarks.api.server import Server
from benchmarks.api.streaming import listen, report

RUNS, STREAMS, EVERYTHING, RANKS = 100, 300, 30, 2
WARM_SECONDS = 10.0
PAUSE = 0.05
TOGETHER = 10
"""Runs whose curves are read by one request in the end."""


@dataclass(frozen=True)
class Live:
    """What was found in some time; times are s since its begin, memory in MB."""

    what: str
    seconds: float
    took: dict[str, list[tuple[float, float]]]
    """Kind of request -> when it was sent, and its seconds."""
    memory: list[tuple[float, float]]
    """When it was looked at, and how much the API had."""
    idle: float
    """MB before anything was sent."""
    processor: float
    """Processor seconds of the API in a second."""
    sent: dict[str, float]
    heard: dict[str, float]
    missing: int
    """Steps that were acknowledged and are in no curve, or the reverse."""

    def every(self, begin: float = 0.0, end: float = float("inf")) -> list[float]:
        """Return the seconds of all requests that were sent within a time."""
        return [seconds for each in self.took.values() for at, seconds in each if begin <= at < end]

    def memory_at(self, at: float) -> float:
        """Return the memory at the look next to a time."""
        return min(self.memory, key=lambda look: abs(look[0] - at))[1]


def live(bench: Bench, seconds: float, look: float = 1.0) -> Live:
    """Load an API for some seconds; memory is looked at every `look` seconds."""
    runs, streams = bench.size(RUNS, 2), bench.size(STREAMS, 4)
    with bench.server() as server:
        idle = server.resident()
        attempts = claimed(server, runs, RANKS)
        context = multiprocessing.get_context("spawn")
        told = context.Queue()
        until = time.time() + WARM_SECONDS + seconds + 2
        work: list[tuple[Any, tuple[Any, ...]]] = [
            (report, (server.url, attempts, until, told)),
            (listen, (server.url, server.token, _paths(attempts, streams), until, told)),
        ]
        processes = [context.Process(target=target, args=args, daemon=True) for target, args in work]
        for process in processes:
            process.start()
        time.sleep(WARM_SECONDS)
        used = _processor(server.pid)
        took, memory = _ask(server, attempts, seconds, look)
        used = _processor(server.pid) - used
        found = dict(told.get(timeout=120) for _ in processes)
        for process in processes:
            process.join(30)
        missing = abs(found["report"]["steps"] - _stored(server, attempts))
    what = f"{runs} runs, {streams} streams, {seconds:.0f} s"
    return Live(
        what, seconds, took, memory, idle, used / seconds, found["report"], found["listen"], round(missing)
    )


def _paths(attempts: Sequence[Attempt], streams: int) -> list[str]:
    experiments = sorted({attempt.experiment for attempt in attempts})
    everything = max(1, streams * EVERYTHING // STREAMS)
    rest = [f"/api/v1/events?experiment={experiments[i % len(experiments)]}" for i in range(streams - everything)]
    return ["/api/v1/events"] * everything + rest


def _ask(
    server: Server, attempts: Sequence[Attempt], seconds: float, look: float
) -> tuple[dict[str, list[tuple[float, float]]], list[tuple[float, float]]]:
    """Send what pages ask for, in turn; return the requests of each kind, and memory."""
    asked: dict[str, list[tuple[float, float]]] = {}
    memory = [(0.0, server.resident())]
    began = time.monotonic()
    with server.client() as client:
        number = 0
        while (passed := time.monotonic() - began) < seconds:
            attempt = attempts[number % len(attempts)]
            for name, request in _requests(attempt).items():
                asked.setdefault(name, []).append((time.monotonic() - began, timed(client, *request)))
                time.sleep(PAUSE)
            number += 1
            if passed >= look * len(memory):
                memory.append((passed, server.resident()))
    return asked, [*memory, (time.monotonic() - began, server.resident())]


def _requests(attempt: Attempt) -> dict[str, tuple[str, str, bytes | None]]:
    query = {"runs": [attempt.run], "metrics": ["train_loss", "validation_accuracy"], "points": 400}
    return {
        "list of runs": ("GET", "/runs?limit=50", None),
        "list of experiments": ("GET", "/experiments?limit=50", None),
        "a run": ("GET", f"/runs/{attempt.run}", None),
        "series of a run": ("POST", "/series", json.dumps(query).encode()),
        "bands of an experiment": ("GET", f"/experiments/{attempt.experiment}/bands?metric=train_loss", None),
    }


def _stored(server: Server, attempts: Sequence[Attempt]) -> int:
    """Return the number of steps in the curves of all runs."""
    found = 0
    with server.client() as client:
        for begin in range(0, len(attempts), TOGETHER):
            names = [attempt.run for attempt in attempts[begin : begin + TOGETHER]]
            query = {"runs": names, "metrics": ["train_loss"], "points": 16}
            found += sum(series["of"] for series in client.post("/series", query)["series"])
    return found


def _processor(pid: int) -> float:
    """Return the processor seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
