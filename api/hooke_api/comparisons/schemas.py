"""Responses about comparisons. Every figure has a unit, an interval and the number of seeds n."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke_api.base.schema import View


class Estimate(View):
    """A mean over seeds with its 95% t interval, clipped to possible values; `low`, `high` are null for n < 2."""

    mean: float | None
    """Mean over the seeds that have a value; null: none has."""
    low: float | None
    """Lower end of the interval; null with fewer than two seeds."""
    high: float | None
    """Upper end of the interval; null with fewer than two seeds."""
    n: int
    unit: str


class TimeToTarget(View):
    """Train-clock seconds to the target over seeds; seeds that missed it are censored at their last clock."""

    mean: float | None
    """Geometric mean, s, whose ratio over the same seeds is a speed-up; null if a seed missed the target."""
    median: float | None
    """Median, s; null if half of the seeds or more missed the target."""
    low: float | None = Field(description="Least over the seeds that reached it.")
    high: float | None = Field(description="Greatest over the seeds that reached it.")
    reached: int
    """Number of seeds that reached the target."""
    n: int
    unit: Literal["s", "virtual s"]


class SpeedUp(View):
    """Baseline's time to target over this variant's, paired by seed: geometric mean, 95% t interval of logs.

    The interval accounts for times being known only to lie between two evaluations.
    """

    ratio: float | None
    """Geometric mean of the ratios of all pairs: above 1, the variant is faster. Null without pairs."""
    low: float | None
    """Lower end of its 95% interval; null: unbounded, or fewer than two pairs."""
    high: float | None
    """Upper end of its 95% interval; null: unbounded, or fewer than two pairs."""
    pairs: int
    """Number of seeds that both have."""
    censored: int
    """Pairs in which one side missed the target or diverged: the ratio is a bound."""
    left_out: int
    """Excluded pairs: neither side reached the target, or one met it before its first step."""
    comparisons: int
    """Number of comparisons of this cluster and number of workers, for Holm's correction of the claim."""
    p_adjusted: float | None
    """Two-sided p value of the ratio being 1, after that correction; null without a comparison."""
    claim: Literal["baseline", "faster", "slower", "same", "not shown", "at least", "at most", "no claim"]
    """`same`: the whole interval lies within 5% of 1. `at least` / `at most`: only a bound is known.
    `not shown`: the interval includes 1, or does not exclude it after the correction. `no claim`: fewer than 3
    pairs, or unpaired."""
    seeds_needed: int | None = None
    """About how many seeds would show a ratio of 1.3; null unless this is not shown and more seeds would help."""
    sentence: str
    """The claim in words, e.g. 'Sync EASGD reaches the target 2.1x faster (95% interval 1.8 to 2.5, 5 seeds)'."""


class ComparisonRow(View):
    """One variant on one cluster with one number of workers."""

    variant: str
    algorithm: str
    cluster: str
    simulated: bool
    """Whether its runs are in virtual time."""
    workers: int
    servers: int
    oversubscribed: bool
    """Whether a run had more ranks than its machine has cores, so that times depend on how they share them."""
    overlapped: int
    """Runs that shared their machine with a run of another cluster, so that their times cannot be trusted."""
    runs: int
    """Number of its reported runs."""
    finished: int
    """Number of these that ended by themselves: at the target, at the budget, or at a time limit."""
    failed: int
    """Number of these that failed."""
    time_to_target: TimeToTarget | None
    """Time until the target was met; null without a target."""
    speed_up: SpeedUp
    """Its time to the target against that of the baseline."""
    accuracy: Estimate
    """Validation accuracy of the center at the end, fraction; test accuracy if `note` says so."""
    target_accuracy: Estimate
    """Validation accuracy of the evaluation that met the target, fraction; a run may be evaluated once more after
    it."""
    best_accuracy: Estimate
    """Largest validation accuracy over the evaluations of the latest attempt, fraction."""
    test_accuracy: Estimate
    """Test accuracy of the final center, fraction: scored once per run, not used for any decision."""
    communication_fraction: Estimate
    """Exposed communication / (wall - evaluate), mean over workers, fraction."""
    hidden: Estimate
    """Hidden communication, s per run, mean over workers."""
    wire: Estimate
    """Bytes sent by all ranks of a run."""
    throughput: Estimate
    """Samples per train-clock second, all workers."""
    samples: Estimate
    """Samples of a run, all workers: up to the target, if it was met."""
    energy: Estimate
    """Joules of processors and memory of the whole machine while the ranks of a run ran; n is 0 if not known."""
    energy_shared: int
    """Number of runs with a known energy during which others used much of the machine."""
    staleness: Estimate
    """Mean number of center updates between a worker's read and its write; n is 0 if not measured."""
    lost_mass: Estimate
    """Fraction of the pushed update mass lost by a lock-free method; n is 0 for other methods."""
    phases: dict[str, float]
    """Mean share of wall time per phase over workers and seeds; sums to 1 if there is data."""


class Fastest(View):
    """The fastest variant of one cluster and number of workers; the baseline if no speed-up is above 1."""

    cluster: str
    workers: int
    variant: str
    """The fastest variant."""
    unseparated: list[str]
    """Variants that it is not shown to be faster than, after correction for all pairs."""
    among: int
    """Variants that may have been named: it and the unseparated ones, without the baseline."""
    low: float | None
    """Lower end of the interval of its speed-up as the best of so many; up to three, that of its row."""
    high: float | None
    """Upper end of that interval."""


class PooledRatio(View):
    """A speed-up pooled over clusters by random effects: the geometric mean of ratios, each formed on one."""

    ratio: float | None
    """The pooled speed-up; null: none can be formed."""
    low: float | None
    """Lower end of its 95% interval."""
    high: float | None
    """Upper end of its 95% interval."""
    seeds: int
    """Seeds that all pooled clusters have."""
    i2: float | None
    """Share of the spread of the clusters' ratios that their own errors do not explain, fraction."""
    predicted_low: float | None
    """Lower end of the 95% prediction interval, where the ratio of a further cluster is expected; null below three
    clusters."""
    predicted_high: float | None
    """Upper end of the 95% prediction interval; null below three clusters."""
    p_adjusted: float | None
    """Two-sided p value of the ratio being 1, after Holm's correction; null without a ratio."""
    claim: Literal["faster", "slower", "same", "not shown", "at least", "at most", "no claim", "baseline"]
    """What follows, as in `SpeedUp`."""


class AcrossRatio(View):
    """One variant on one cluster."""

    cluster: str
    simulated: bool
    speed_up: SpeedUp
    """Its speed-up there."""


class AcrossRow(View):
    """One variant on all clusters with the same number of workers."""

    variant: str
    clusters: list[AcrossRatio]
    """In the order of `Across.clusters`; those on which it did not run are left out."""
    pooled: PooledRatio | None
    """Null if nothing is pooled."""


class Across(View):
    """The comparison over clusters with the same number of workers; seconds of different clusters never mix."""

    workers: int
    clusters: list[str]
    """Their names."""
    pool: list[str]
    """The pooled clusters: the measured ones, or all if all are simulated; empty with less than two."""
    spreads: list[float] | None
    """Speed of the fastest over that of the slowest worker of each cluster, where simulated clusters differ in
    nothing else; otherwise null."""
    rows: list[AcrossRow]
    """One for each variant."""
    sentences: list[str]
    """The conclusions in words."""


class Comparison(View):
    """The verdict of an experiment: rows grouped by cluster and workers, and one sentence for each group."""

    experiment: str
    baseline: str
    """Name of the variant that the others are compared with."""
    target: str | None
    """The target in words, or null."""
    tuning: str
    """How the settings were chosen, in words: the effort on which every claim stands."""
    note: str | None
    """A remark on all figures, where the experiment was made without a validation part; otherwise null."""
    extended: str | None = None
    """What it means that seeds were added after earlier ones had been compared; null: none were."""
    complete: bool
    """Whether every reported run has ended."""
    rows: list[ComparisonRow]
    """One for each variant, cluster and number of workers."""
    fastest: list[Fastest]
    """One per (cluster, workers) where three seeds or more give a speed-up; empty without a target."""
    across: list[Across]
    """One for each number of workers that several clusters have."""
    sentences: list[str]
    """The conclusion of each cluster and number of workers in words, with interval; marked `simulated` or
    `oversubscribed` where it is."""
