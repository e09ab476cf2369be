"""The verdict rule: conclusions about two variants' times to the target, from runs paired by seed.

The ratio is the geometric mean over seeds of the baseline's time divided by the variant's; its interval is the 95%
t interval of the logarithms. A time is known only to lie between two evaluations (`crossing`), so each logarithm
is a range (`ranges`). If a time is censored, the pair's logarithm is replaced by one that is never larger (the
baseline's time was censored) or never smaller (the variant's). The lower, or upper, end of the interval then still
bounds the mean: "at least", "at most". If both occur, there is no bound.

A pair in which neither side reached the target, or one met it before the first step, is excluded. If pairs are
excluded because neither side reached the target, bounds are not valid either: of two methods that are equal on
average, the one with the larger variance would keep only the seeds on which it was lucky. With several
comparisons, each must pass Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from hooke.comparison.crossing import Crossing, horizon, log_time
from hooke.comparison.intervals import CONFIDENCE, Interval, interval, t_quantile
from hooke.comparison.ranges import Range, mean_of

LEAST_PAIRS = 3
"""Minimum number of pairs for a claim."""

MARGIN = 1.05
"""Two times are practically the same if the whole interval of their ratio lies within this factor of 1."""

WORTH_SHOWING = 1.3
"""The ratio for which the number of seeds is given that would show it."""
SHOWN = math.log(WORTH_SHOWING)
POWER = 0.8
"""Probability with which that number of seeds shows it."""
MOST_SEEDS = 100
"""Largest number of seeds of a cluster in an experiment."""

FARTHEST = 700.0
"""Logarithms are clipped to this value, so that the ends of an interval are finite and not 0."""

Claim = Literal["baseline", "faster", "slower", "same", "not shown", "at least", "at most", "no claim"]
OPPOSITE: dict[Claim, Claim] = {
    "faster": "slower",
    "slower": "faster",
    "at least": "at most",
    "at most": "at least",
}
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Verdict:
    """Baseline's time divided by the variant's: 2 means that the variant needs half the time.

    `ratio` is the geometric mean over pairs, from the clocks of the evaluations that met the target; None without
    a bound. For "at least" only `low` is known, for "at most" only `high`.
    """

    claim: Claim
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0
    """Number of seeds in the ratio."""
    missed_by_baseline: int = 0
    """Of `pairs`: the baseline's run did not reach the target, including diverged ones."""
    missed_by_variant: int = 0
    diverged_by_baseline: int = 0
    """Of `missed_by_baseline`: ended with NaN or Inf."""
    diverged_by_variant: int = 0
    missed_by_both: int = 0
    """Excluded from `pairs`: neither side reached the target."""
    met_at_start: int = 0
    """Excluded from `pairs`: a side met the target before its first step, a time of 0."""
    in_first_interval: int = 0
    """Of `pairs`: a side met the target at its first evaluation after the start; its time has no lower bound."""
    coarse: bool = False
    """The interval includes 1, but would not if the times were exactly those of the evaluations."""
    p: float | None = None
    """Two-sided p value of the mean logarithm being 0."""
    p_adjusted: float | None = None
    """`p` after Holm's correction for `comparisons`."""
    comparisons: int = 1
    undecided: int = 1
    """Of `comparisons`: those that are not shown yet. Holm's correction multiplies the least `p` of them by it."""
    unfair: str | None = None
    """Why tuning does not allow a claim, such as unequal numbers of trials."""
    blur: float = 0.0
    """Half of the mean width of the ranges, a logarithm: evaluations make it smaller, further seeds do not."""

    @property
    def seeds_needed(self) -> int | None:
        """Return about how many seeds would show a ratio of WORTH_SHOWING with the spread seen so far.

        As many show it with probability POWER: t quantiles of both errors, as in the tables of sample sizes for a
        paired t test, that of the first one after the correction for all that is `undecided`. What the evaluations
        leave open (`blur`) stays. None without an interval, or if as many would not be enough as an experiment
        can have.
        """
        if self.low is None or self.high is None or self.pairs < LEAST_PAIRS or self.low <= 0:
            return None
        half = (math.log(self.high) - math.log(self.low)) / 2
        spread = (half - self.blur) * math.sqrt(self.pairs) / t_quantile(self.pairs - 1)
        corrected = 1 - (1 - CONFIDENCE) / self.undecided
        for n in range(LEAST_PAIRS, MOST_SEEDS + 1):
            reach = t_quantile(n - 1, corrected) + t_quantile(n - 1, 2 * POWER - 1)
            if self.blur + spread * reach / math.sqrt(n) < SHOWN:
                return n
        return None

    @property
    def too_far_apart(self) -> bool:
        """Return whether evaluations alone leave open a ratio of WORTH_SHOWING, whatever the number of seeds."""
        return self.blur >= SHOWN and not self.coarse and None not in (self.low, self.high)

    @property
    def censored(self) -> int:
        """Return the number of pairs in which one side missed the target."""
        return self.missed_by_baseline + self.missed_by_variant

    @property
    def shown_alone(self) -> bool:
        """Return whether the interval excludes 1 without a correction for several comparisons."""
        return self.pairs >= LEAST_PAIRS and self.p is not None and self.p < 1 - CONFIDENCE

    @property
    def swapped(self) -> Verdict:
        """Return the verdict on the baseline, with the variant as the baseline."""
        return replace(
            self,
            claim=OPPOSITE.get(self.claim, self.claim),
            ratio=1 / self.ratio if self.ratio else None,
            low=1 / self.high if self.high else None,
            high=1 / self.low if self.low else None,
            missed_by_baseline=self.missed_by_variant,
            missed_by_variant=self.missed_by_baseline,
            diverged_by_baseline=self.diverged_by_variant,
            diverged_by_variant=self.diverged_by_baseline,
        )


def compare(
    baseline: Mapping[int, Crossing], variant: Mapping[int, Crossing], confidence: float = CONFIDENCE
) -> Verdict:
    """Return the verdict on a variant. Both sides are given by seed; the common seeds are the pairs.

    `confidence`: of the interval; p values and claims do not depend on it.
    """
    moved = _moved(baseline, variant)
    pairs = [(b, v) for b, v in moved.values() if b.met or v.met]
    return replace(
        _judge(list(log_ratios(baseline, variant).values()), confidence),
        missed_by_baseline=sum(not b.met for b, _ in pairs),
        missed_by_variant=sum(not v.met for _, v in pairs),
        diverged_by_baseline=sum(b.diverged and not b.met for b, _ in pairs),
        diverged_by_variant=sum(v.diverged and not v.met for _, v in pairs),
        missed_by_both=len(moved) - len(pairs),
        met_at_start=len(_common(baseline, variant)) - len(moved),
        in_first_interval=sum(any(c.met and c.after <= 0 for c in pair) for pair in pairs),
    )


def log_ratios(baseline: Mapping[int, Crossing], variant: Mapping[int, Crossing]) -> dict[int, Range]:
    """Return by seed the logarithm of the baseline's time over the variant's, of the pairs in a ratio."""
    moved = _moved(baseline, variant)
    pairs = {seed: (b, v) for seed, (b, v) in moved.items() if b.met or v.met}
    longest = horizon([*baseline.values(), *variant.values()])
    logs = {seed: log_time(b, longest) - log_time(v, longest) for seed, (b, v) in pairs.items()}
    if len(pairs) < len(moved):  # the remaining pairs were selected by their outcome, so bounds are not valid
        return {s: replace(x, open_below=True, open_above=True) if _one_sided(x) else x for s, x in logs.items()}
    return logs


Pairs = dict[int, tuple[Crossing, Crossing]]


def _common(baseline: Mapping[int, Crossing], variant: Mapping[int, Crossing]) -> Pairs:
    seeds = sorted(baseline.keys() & variant.keys())
    return {s: (baseline[s], variant[s]) for s in seeds if baseline[s].observed and variant[s].observed}


def _moved(baseline: Mapping[int, Crossing], variant: Mapping[int, Crossing]) -> Pairs:
    """Return the pairs of which neither side met the target before its first step."""
    found = _common(baseline, variant).items()
    return {seed: (b, v) for seed, (b, v) in found if not (b.at_start or v.at_start)}


def compare_all(
    baseline: Mapping[int, Crossing], variants: Mapping[str, Mapping[int, Crossing]]
) -> dict[str, Verdict]:
    """Return the verdict on each of several variants, corrected for their number."""
    return holm({name: compare(baseline, variant) for name, variant in variants.items()})


def compare_values(above: Mapping[int, float], below: Mapping[int, float]) -> Verdict:
    """Return the verdict on the ratio above / below of exact positive figures, paired by seed."""
    return _judge(list(log_ratios_of_values(above, below).values()))


def log_ratios_of_values(above: Mapping[int, float], below: Mapping[int, float]) -> dict[int, Range]:
    """Return by seed the logarithm of above / below, of the seeds at which both are positive."""
    seeds = sorted(above.keys() & below.keys())
    logs = {s: math.log(above[s] / below[s]) for s in seeds if above[s] > 0 and below[s] > 0}
    return {seed: Range(log, log, log) for seed, log in logs.items()}


def holm(verdicts: Mapping[Key, Verdict]) -> dict[Key, Verdict]:
    """Return the verdicts after Holm's correction for the comparisons that have a p value."""
    tested = {key: v.p for key, v in verdicts.items() if v.p is not None and v.pairs >= LEAST_PAIRS}
    found, adjusted = dict(verdicts), holm_adjusted(tested)
    undecided = max(1, sum(p >= 1 - CONFIDENCE for p in adjusted.values()))
    for key, p in adjusted.items():
        corrected = replace(verdicts[key], p_adjusted=p, comparisons=len(tested), undecided=undecided)
        found[key] = _claimed(corrected)
    return found


def holm_adjusted(tested: Mapping[Key, float]) -> dict[Key, float]:
    """Return p values after Holm's correction for their number.

    With p values in ascending order, the i-th of k is multiplied by (k - i + 1), and made no smaller than the one
    before. Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6
    (1979).
    """
    adjusted, so_far = dict[Key, float](), 0.0
    for rank, key in enumerate(sorted(tested, key=lambda key: tested[key])):
        so_far = max(so_far, min(1.0, (len(tested) - rank) * tested[key]))
        adjusted[key] = so_far
    return adjusted


def _one_sided(log: Range) -> bool:
    return log.open_below or log.open_above


def _judge(logs: Sequence[Range], confidence: float = CONFIDENCE) -> Verdict:
    """Return the verdict on log-ratios."""
    mean = mean_of(logs, confidence)
    exact = mean_of([Range(log.point, log.point, log.point, log.open_below, log.open_above) for log in logs])
    found = Verdict("no claim", ratio_of(mean.point), ratio_of(mean.low), ratio_of(mean.high), len(logs))
    coarse = mean.p is not None and exact.p is not None and exact.p < 1 - CONFIDENCE <= mean.p
    blur = math.fsum(log.high - log.low for log in logs) / len(logs) / 2 if logs else 0.0
    return _claimed(replace(found, coarse=coarse, p=mean.p, p_adjusted=mean.p, blur=blur))


def _claimed(v: Verdict) -> Verdict:
    """Return the verdict with the claim that follows from its figures."""
    return replace(v, claim=_claim(v))


def _claim(v: Verdict) -> Claim:
    return "no claim" if v.pairs < LEAST_PAIRS or v.unfair else claim_of(v.low, v.high, v.p_adjusted)


def claim_of(low: float | None, high: float | None, p: float | None) -> Claim:
    """Return what an interval of a ratio (None: an open end) and its p value, after correction, allow to claim."""
    if low is not None and high is not None and low >= 1 / MARGIN and high <= MARGIN:
        return "same"
    if p is None or p >= 1 - CONFIDENCE:
        return "not shown"
    if low is not None and low > 1:
        return "faster" if high is not None else "at least"
    return "slower" if low is not None else "at most"


def ratio_of(value: float | None) -> float | None:
    """Return the ratio with this logarithm, clipped so that it is finite and not 0; None of an open end."""
    return None if value is None else math.exp(min(max(value, -FARTHEST), FARTHEST))


def paired_difference(baseline: Mapping[int, float], variant: Mapping[int, float]) -> Interval:
    """Return the mean of variant minus baseline with its interval, over the common seeds."""
    return interval([variant[s] - baseline[s] for s in sorted(baseline.keys() & variant.keys())])
