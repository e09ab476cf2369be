"""Which rank the others wait for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hooke_api.timeline.columns import COMPUTE, EVALUATE, Floats, Trace
from hooke_api.timeline.messages import Meetings

CHANCE = 0.01
"""Probability with which any of equal workers has such a count, below which one counts as more than chance."""


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
    """Whether `longest` is more than chance would give to any of equal workers (CHANCE)."""


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
    count = int(longest[chosen])
    return Straggler(
        rank=numbers[chosen],
        longest=count,
        steps=steps,
        waited=None if awaited is None or time <= 0 else min(1.0, float(awaited[chosen]) / time),
        consistent=len(workers) * at_least(count, steps, 1 / len(workers)) < CHANCE,
    )


def at_least(count: int, trials: int, chance: float) -> float:
    """Return the probability of at least `count` successes in independent trials with this `chance` of each.

    The exact tail of the binomial distribution: few trials of many workers are far from a normal one.
    """
    if count <= 0:
        return 1.0
    first = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    first += count * math.log(chance) + (trials - count) * math.log1p(-chance)
    k = np.arange(count, trials)
    ratios = np.log((trials - k) / (k + 1)) + math.log(chance) - math.log1p(-chance)
    return min(1.0, float(np.exp(first + np.concatenate(([0.0], np.cumsum(ratios)))).sum()))


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
