"""Pooling of one ratio over kinds of machines: random effects, for seeds that are the same on every machine.

Each kind of machine has its own true ratio; these vary around their mean with variance tau^2, and the mean is what
is estimated. With y_m the mean logarithm of machine m over n seeds, and z_s that of seed s over k machines, the
variance of the mean is

    V = sum_m (y_m - y)^2 / (k (k - 1))  +  sum_s (z_s - y)^2 / (n (n - 1)).

The first term is that of Hartung and Knapp for machines with the same number of seeds. It does not contain what a
seed does on all machines alike, because that moves every y_m together; the second term does. Without it, intervals
of simulated machines with such seeds hold the truth in 10% to 40% of cases instead of 95%
(docs/decisions/0035-pooling-over-machines.md). t has the degrees of freedom of the shorter sum.

Times that are known only as ranges are treated as in `ranges`: the lower ends give the lower end of the interval,
the upper ends the upper one. With one kind of machine nothing is pooled, and the interval is that of `verdict`.
Seconds are never pooled, only ratios, each formed on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hooke.comparison.intervals import t_quantile
from hooke.comparison.ranges import Range
from hooke.comparison.verdict import LEAST_PAIRS, Claim, claim_of, holm_adjusted, ratio_of

LEAST_PREDICTED = 3
"""Minimum number of machines for a prediction interval: it takes k - 2 degrees of freedom."""
EXACT = 1e-18
"""Least variance of a mean logarithm; smaller ones, of machines that agree in every digit, have no inverse."""

Key = TypeVar("Key", bound=Hashable)
Logs = Mapping[int, Range]
"""Log-ratios of one machine by seed (`verdict.log_ratios`)."""


@dataclass(frozen=True)
class RandomEffects:
    """The mean of k >= 2 estimates that vary by their own errors and by tau^2."""

    mean: float
    error: float
    """Standard error of the mean according to Hartung and Knapp, with k - 1 degrees of freedom."""
    tau2: float
    """Variance of the true values according to DerSimonian and Laird, >= 0."""
    i2: float
    """Share of the total variation that is not explained by the estimates' own errors, 0 to 1."""


def random_effects(means: Sequence[float], variances: Sequence[float]) -> RandomEffects:
    """Return the random-effects mean of k >= 2 independent estimates with these variances > 0.

    Sources: R. DerSimonian, N. Laird, Controlled Clinical Trials 7 (1986) 177, for tau^2; J. Hartung, G. Knapp,
    Statistics in Medicine 20 (2001) 3875, for the standard error; J. Higgins, S. Thompson, Statistics in Medicine
    21 (2002) 1539, for I^2. Raises ValueError for fewer than two estimates.
    """
    if len(means) < 2:
        raise ValueError(f"random effects need at least two estimates, but there are {len(means)}")
    degrees = len(means) - 1
    fixed = [1 / variance for variance in variances]
    total = math.fsum(fixed)
    q = _squares(means, fixed, _mean(means, fixed))
    tau2 = max(0.0, (q - degrees) / (total - math.fsum(w * w for w in fixed) / total))
    weights = [1 / (variance + tau2) for variance in variances]
    mean = _mean(means, weights)
    error = math.sqrt(_squares(means, weights, mean) / degrees / math.fsum(weights))
    return RandomEffects(mean, error, tau2, max(0.0, 1 - degrees / q) if q else 0.0)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(w * v for w, v in zip(weights, values, strict=True)) / math.fsum(weights)


def _squares(values: Sequence[float], weights: Sequence[float], mean: float) -> float:
    return math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True))


@dataclass(frozen=True)
class Pooled:
    """A ratio over `machines` kinds of machines, by the rule of `verdict`; with one machine nothing is pooled.

    `ratio` is a geometric mean over machines and seeds; None for an end, or for both, if it is open.
    """

    claim: Claim
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    machines: int = 0
    seeds: int = 0
    """Seeds that all `machines` have; others are not used."""
    left_out: int = 0
    """Machines with fewer than three pairs."""
    tau2: float | None = None
    """Variance of the machines' true logarithms; None for one machine, or if a time is only known as a bound."""
    i2: float | None = None
    predicted_low: float | None = None
    """95% prediction interval: where the true ratio of a further kind of machine is expected; None below three."""
    predicted_high: float | None = None
    p: float | None = None
    """Two-sided p value of the mean logarithm being 0."""
    p_adjusted: float | None = None
    """`p` after Holm's correction for `comparisons`."""
    comparisons: int = 1


def pooled(machines: Mapping[str, Logs]) -> Pooled:
    """Return one ratio pooled over kinds of machines, from the log-ratios of each by seed.

    Uses the seeds that all machines have; without three of them there is no claim. A machine on which only a bound
    is known makes the pooled ratio a bound.
    """
    told = [logs for logs in machines.values() if len(logs) >= LEAST_PAIRS]
    seeds = sorted(set.intersection(*(set(logs) for logs in told))) if told else []
    found = Pooled("no claim", machines=len(told), seeds=len(seeds), left_out=len(machines) - len(told))
    if len(seeds) < LEAST_PAIRS:
        return found
    table = [[logs[seed] for seed in seeds] for logs in told]
    entries = [entry for row in table for entry in row]
    below, above = (any(ends) for ends in zip(*((e.open_below, e.open_above) for e in entries), strict=True))
    if below and above:
        return replace(found, claim="not shown", p=1.0, p_adjusted=1.0)
    hidden = math.fsum((e.high - e.low) ** 2 for e in entries) / len(entries) / 12
    least = _Side.of([[e.low for e in row] for row in table], hidden)
    most = _Side.of([[e.high for e in row] for row in table], hidden)
    mean = math.fsum(e.point for e in entries) / len(entries)
    p = min(1.0 if below else least.p(1), 1.0 if above else most.p(-1))
    found = replace(
        found,
        ratio=ratio_of(mean),
        low=None if below else ratio_of(least.mean - least.half),
        high=None if above else ratio_of(most.mean + most.half),
        p=p,
    )
    if not (below or above or len(told) < 2):
        found = _varied(found, [[e.point for e in row] for row in table], least, most)
    return _claimed(found, p, 1)


def holm_pooled(found: Mapping[Key, Pooled]) -> dict[Key, Pooled]:
    """Return pooled ratios after Holm's correction for those that have a p value."""
    adjusted = holm_adjusted({key: one.p for key, one in found.items() if one.p is not None})
    return {
        key: _claimed(one, adjusted[key], len(adjusted)) if key in adjusted else one for key, one in found.items()
    }


def _claimed(found: Pooled, p: float, comparisons: int) -> Pooled:
    claim = claim_of(found.low, found.high, p)
    return replace(found, claim=claim, p_adjusted=p, comparisons=comparisons)


@dataclass(frozen=True)
class _Side:
    """The mean of one end of all ranges, and its variance."""

    mean: float
    variance: float
    degrees: int

    @classmethod
    def of(cls, table: Sequence[Sequence[float]], hidden: float) -> _Side:
        """Return the mean of machines x seeds; `hidden`: variance of one value within its range."""
        machines, seeds = len(table), len(table[0])
        by_seed = [math.fsum(column) / machines for column in zip(*table, strict=True)]
        variance = _variance_of_mean(by_seed) + hidden / seeds
        if machines == 1:
            return cls(math.fsum(by_seed) / seeds, variance, seeds - 1)
        by_machine = [math.fsum(row) / seeds for row in table]
        between = random_effects(by_machine, [_residual(table)] * machines)
        return cls(between.mean, between.error**2 + variance, min(machines, seeds) - 1)

    @property
    def half(self) -> float:
        """Return half of the width of the 95% interval."""
        return t_quantile(self.degrees) * math.sqrt(self.variance)

    def p(self, sign: int) -> float:
        """Return the two-sided p value of sign * mean being above 0; 1 if it is not."""
        from scipy.special import stdtr

        if sign * self.mean <= 0:
            return 1.0
        error = math.sqrt(self.variance)
        return 2 * float(stdtr(self.degrees, -sign * self.mean / error)) if error else 0.0


def _variance_of_mean(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)


def _residual(table: Sequence[Sequence[float]]) -> float:
    """Return the variance of a machine's mean left after effects of machines and of seeds (two-way layout)."""
    machines, seeds = len(table), len(table[0])
    by_machine = [math.fsum(row) / seeds for row in table]
    by_seed = [math.fsum(column) / machines for column in zip(*table, strict=True)]
    mean = math.fsum(by_seed) / seeds
    left = math.fsum(
        (value - by_machine[m] - by_seed[s] + mean) ** 2
        for m, row in enumerate(table)
        for s, value in enumerate(row)
    )
    return max(EXACT, left / ((machines - 1) * (seeds - 1)) / seeds)


def _varied(found: Pooled, table: Sequence[Sequence[float]], least: _Side, most: _Side) -> Pooled:
    """Return a pooled ratio with the variation of machines and, for three or more, the prediction interval.

    Source: J. Higgins, S. Thompson, D. Spiegelhalter, J. R. Statist. Soc. A 172 (2009) 137, equation 12.
    """
    machines, seeds = len(table), len(table[0])
    effects = random_effects([math.fsum(row) / seeds for row in table], [_residual(table)] * machines)
    found = replace(found, tau2=effects.tau2, i2=effects.i2)
    if machines < LEAST_PREDICTED:
        return found
    t = t_quantile(min(machines - 2, seeds - 1))
    return replace(
        found,
        predicted_low=ratio_of(least.mean - t * math.sqrt(effects.tau2 + least.variance)),
        predicted_high=ratio_of(most.mean + t * math.sqrt(effects.tau2 + most.variance)),
    )
