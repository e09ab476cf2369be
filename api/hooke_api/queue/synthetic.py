"""A simulated job trace of the shape of the Helios traces (Hu et al. 2021)."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime

from hooke_api.queue.trace import Job, Trace


@dataclass(frozen=True)
class Shape:
    """The shape of a synthetic trace: what Hu et al. describe of the Helios traces, with invented numbers.

    Most jobs need one GPU and end within minutes, few of them take most of the GPU time; the durations of one
    user's jobs resemble each other; few users submit most jobs; submissions follow the time of day.
    """

    jobs: int = 20_000
    users: int = 60
    slots: int = 64
    load: float = 0.85
    """Mean share of the slots that is busy."""
    median_seconds: float = 180.0
    user_spread: float = 1.6
    """Standard deviation of log durations between the recurring tasks of users."""
    spread: float = 1.4
    """Standard deviation of log durations among the jobs of one task."""
    longest_seconds: float = 7 * 86_400.0


SIZES = ((1, 0.62), (2, 0.12), (4, 0.10), (8, 0.13), (16, 0.03))
"""Slots of a job, and how frequent they are."""
TASKS = 3
"""Recurring tasks of one user."""


def synthetic(seed: int, shape: Shape | None = None) -> Trace:
    """Return a simulated trace with heavy-tailed durations; the same seed gives the same trace."""
    shape = shape or Shape()
    draw = random.Random(seed)  # noqa: S311 - a simulation
    start = datetime(2020, 6, 1, tzinfo=UTC).timestamp()
    tasks = [[(draw.gauss(0, shape.user_spread), _size(draw)) for _ in range(TASKS)] for _ in range(shape.users)]
    weights = [1 / (rank + 1) for rank in range(shape.users)]
    drawn = []
    for _ in range(shape.jobs):
        user = draw.choices(range(shape.users), weights)[0]
        middle, slots = draw.choice(tasks[user])
        larger = 0.25 * math.log(slots)  # larger jobs are longer
        seconds = shape.median_seconds * math.exp(middle + larger + draw.gauss(0, shape.spread))
        drawn.append((user, slots, min(max(seconds, 1.0), shape.longest_seconds), draw.choice((0, 0, 0, 0, 5))))
    work = sum(slots * seconds for _, slots, seconds, _ in drawn)
    period = work / (shape.slots * shape.load)
    times = sorted(_by_day(draw, period) for _ in drawn)
    jobs = [
        Job(str(number), f"u{user:02d}", slots, start + at, round(seconds, 3), priority)
        for number, (at, (user, slots, seconds, priority)) in enumerate(zip(times, drawn, strict=True), 1)
    ]
    return Trace(tuple(jobs), 0)


def _size(draw: random.Random) -> int:
    return draw.choices([size for size, _ in SIZES], [share for _, share in SIZES])[0]


def _by_day(draw: random.Random, period: float) -> float:
    """Return a time of submission: by day twice as likely as by night."""
    while True:
        at = draw.random() * period
        if draw.random() < 0.75 + 0.25 * math.sin(2 * math.pi * at / 86_400):
            return at
