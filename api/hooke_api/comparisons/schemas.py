"""What the API says of comparisons. Every figure has a unit, an interval and the n behind it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke_api.base.schema import View


class Estimate(View):
    """A mean over seeds with its 95% t interval, cut to what is possible; `low`, `high` are null where n < 2."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    unit: str


class TimeToTarget(View):
    """Train-clock seconds to the target over seeds; seeds that missed it are censored at their last clock."""

    median: float | None
    """Null where half of the seeds or more missed the target."""
    low: float | None = Field(description="Least over the seeds that reached it.")
    high: float | None = Field(description="Greatest over the seeds that reached it.")
    reached: int
    n: int
    unit: Literal["s", "virtual s"]


class SpeedUp(View):
    """Baseline's time to target over this variant's, paired by seed: geometric mean, 95% t interval of logs.

    A time lies between two evaluations; the interval knows that.
    """

    ratio: float | None
    low: float | None
    high: float | None
    pairs: int
    censored: int
    """Pairs in which one side missed the target or diverged: the ratio is a bound."""
    left_out: int
    """Pairs that say nothing: neither side reached the target, or one met it before its first step."""
    comparisons: int
    """How many comparisons of this cluster and number of workers the claim was corrected for (Holm)."""
    p_adjusted: float | None
    """Two-sided p value of the ratio being 1, after that correction; null where there is no comparison."""
    claim: Literal["baseline", "faster", "slower", "same", "not shown", "at least", "at most", "no claim"]
    """`same`: practically, the whole interval lies within 5% of 1. `at least` / `at most`: only a bound is known.
    `not shown`: the interval includes 1, or does not exclude it after the correction. `no claim`: fewer than 3
    pairs, or unpaired."""
    sentence: str
    """The claim in words, e.g. 'Sync EASGD reaches the target 2.1x faster (95% interval 1.8 to 2.5, 5 seeds)'."""


class ComparisonRow(View):
    """One variant on one cluster with one number of workers."""

    variant: str
    algorithm: str
    cluster: str
    simulated: bool
    workers: int
    servers: int
    oversubscribed: bool
    runs: int
    finished: int
    failed: int
    time_to_target: TimeToTarget | None
    speed_up: SpeedUp
    accuracy: Estimate
    """Validation accuracy of the center at the end, fraction; the test part's where `note` says so."""
    test_accuracy: Estimate
    """Test accuracy of the final center, fraction: scored once for each run, and nothing was chosen by it."""
    communication_fraction: Estimate
    """Exposed communication / (wall - evaluate), mean over workers, fraction."""
    hidden: Estimate
    """Hidden communication, s per run, mean over workers."""
    wire: Estimate
    """Bytes sent by all ranks of a run."""
    throughput: Estimate
    """Samples per train-clock second, all workers."""
    staleness: Estimate
    """Mean center updates between a worker's read and its write; n is 0 where it is not measured."""
    lost_mass: Estimate
    """Share of the pushed update mass that a lock-free method lost, fraction; n is 0 for all others."""
    phases: dict[str, float]
    """Mean share of (wall) per phase over workers and seeds; sums to 1 where there is data."""


class Comparison(View):
    """The verdict of an experiment: rows grouped by cluster and workers, and one sentence for each group."""

    experiment: str
    baseline: str
    target: str | None
    """The target in words, or null."""
    note: str | None
    """What is to be known of all figures: that the experiment was made without a validation part."""
    complete: bool
    rows: list[ComparisonRow]
    sentences: list[str]
    """One per (cluster, workers): what may be said, with interval, 'simulated' and 'oversubscribed' where due."""
