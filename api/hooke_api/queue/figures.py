"""What a replay says: distributions of waiting times and slowdowns, and the margin of a policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke_api.queue.replay import Durations, Replayed, replay
from hooke_api.queue.settings import Order, QueuePolicy
from hooke_api.queue.trace import Job

SHORTEST = 10.0
"""Seconds that a job counts for at least in its slowdown, so that jobs of no length do not decide it."""
BLOCKS, RESAMPLED, SEED = 50, 1000, 0
"""The bootstrap draws blocks of consecutive jobs, because jobs that wait together are not independent."""

Floats = NDArray[np.float64]
CASES: tuple[tuple[str, Order, Durations], ...] = (
    ("first come first served", Order.FIRST_COME, "history"),
    ("priority with ageing", Order.PRIORITY, "history"),
    ("fair share", Order.FAIR_SHARE, "history"),
    ("shortest service, predicted", Order.SHORTEST_SERVICE, "history"),
    ("shortest service, known", Order.SHORTEST_SERVICE, "known"),
)
"""Title, order and durations of the policies of a comparison; the first is what the others are compared with."""


@dataclass(frozen=True)
class Distribution:
    """Mean and quantiles."""

    mean: float
    median: float
    p90: float
    p99: float


@dataclass(frozen=True)
class Margin:
    """Mean of a policy over that of first come first served, with its 95% bootstrap interval; below 1: less."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Outcome:
    """One policy on one trace."""

    title: str
    wait: Distribution
    """Seconds."""
    slowdown: Distribution
    """Bounded slowdown: (wait + duration) / duration, with durations of at least SHORTEST."""
    wait_margin: Margin
    slowdown_margin: Margin
    replayed: Replayed


def compare(jobs: Sequence[Job], slots: int, policy: QueuePolicy | None = None) -> list[Outcome]:
    """Replay a trace under every policy; `policy` has the settings (ageing, half-life, patience).

    Raises ValueError without jobs.
    """
    if not jobs:
        raise ValueError("the trace has no job with slots and a duration")
    settings = policy or QueuePolicy()
    seconds = np.array([job.seconds for job in jobs])
    found: list[Outcome] = []
    first: tuple[Floats, Floats] | None = None
    for title, order, durations in CASES:
        replayed = replay(jobs, slots, settings.model_copy(update={"order": order}), durations)
        waits = np.array(replayed.waits)
        slow = slowdown(waits, seconds)
        first = first or (waits, slow)
        margins = margin(waits, first[0]), margin(slow, first[1])
        found.append(Outcome(title, distribution(waits), distribution(slow), *margins, replayed))
    return found


def slowdown(waits: Floats, seconds: Floats) -> Floats:
    """Return the bounded slowdown of each job, at least 1."""
    return np.maximum(1.0, (waits + seconds) / np.maximum(seconds, SHORTEST))


def distribution(values: Floats) -> Distribution:
    """Return mean and quantiles of values."""
    median, p90, p99 = (float(each) for each in np.quantile(values, (0.5, 0.9, 0.99)))
    return Distribution(float(values.mean()), median, p90, p99)


def margin(values: Floats, baseline: Floats) -> Margin:
    """Return the ratio of two means over the same jobs with its interval, by a bootstrap over blocks of jobs."""
    blocks = min(BLOCKS, len(values))
    edges = np.linspace(0, len(values), blocks + 1).astype(int)[:-1]
    sums, of_baseline = np.add.reduceat(values, edges), np.add.reduceat(baseline, edges)
    drawn = np.random.default_rng(SEED).integers(0, blocks, (RESAMPLED, blocks))
    ratios = _ratio(sums[drawn].sum(axis=1), of_baseline[drawn].sum(axis=1))
    low, high = (float(each) for each in np.quantile(ratios, (0.025, 0.975)))
    return Margin(float(_ratio(values.sum(), baseline.sum())), low, high)


def _ratio(values: Floats, baseline: Floats) -> Floats:
    """Return a ratio; where nothing waits in either case it is 1."""
    values, baseline = np.asarray(values, float), np.asarray(baseline, float)
    return np.where(
        baseline > 0, values / np.where(baseline > 0, baseline, 1.0), np.where(values > 0, np.inf, 1.0)
    )
