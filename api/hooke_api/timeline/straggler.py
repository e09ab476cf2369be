"""Which rank the others wait for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hooke_api.timeline.columns import COMPUTE, EVALUATE, Floats, Trace
from hooke_api.timeline.messages import Meetings

ERRORS = 3.0
"""Standard errors by which a count must exceed that of chance."""


@dataclass(frozen=True)
class Straggler:
    """The worker that the others wait for most; without collective operations, the slowest one most often."""

    rank: int
    longest: int
    """Number of steps in which its gradient took longest."""
    steps: int
    """Number of steps that every worker has recorded."""
    waited: float | None
    """Share of the others' time, without evaluations, in which they were blocked until it entered a collective
    operation; None without these."""
    consistent: bool
    """Whether `longest` is more than chance would give to one of equal workers."""


def straggler_of(trace: Trace, meetings: Meetings | None) -> Straggler | None:
    """Return the straggler; None with fewer than two workers or without a common step."""
    workers = [rank for rank in trace.ranks if rank.role == "worker"]
    seconds = [(rank.ended - rank.began)[rank.phase == COMPUTE] for rank in workers]
    steps = min(map(len, seconds), default=0)
    if len(workers) < 2 or steps == 0:  # noqa: PLR2004
        return None
    slowest = np.argmax(np.stack([each[:steps] for each in seconds]), axis=0)
    longest = np.bincount(slowest, minlength=len(workers))
    numbers = [rank.rank for rank in workers]
    awaited = _awaited(meetings, numbers)
    chosen = int(np.argmax(longest if awaited is None else awaited))
    others = [rank for rank in workers if rank.rank != numbers[chosen]]
    time = sum(float((rank.ended - rank.began)[rank.phase != EVALUATE].sum()) for rank in others)
    count, share = int(longest[chosen]), 1 / len(workers)
    return Straggler(
        rank=numbers[chosen],
        longest=count,
        steps=steps,
        waited=None if awaited is None or time <= 0 else min(1.0, float(awaited[chosen]) / time),
        consistent=count > steps * share + ERRORS * math.sqrt(steps * share * (1 - share)),
    )


def _awaited(meetings: Meetings | None, workers: list[int]) -> Floats | None:
    """Return for each worker the seconds that the other workers were blocked until it entered."""
    if meetings is None:
        return None
    mine = np.isin(meetings.ranks, workers)
    waits = (meetings.waits * mine).sum(axis=1)
    found = np.zeros(len(workers))
    last = meetings.ranks[meetings.last]
    for place, rank in enumerate(workers):
        found[place] = waits[last == rank].sum()
    return found
