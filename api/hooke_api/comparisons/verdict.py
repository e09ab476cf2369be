"""The verdict on two variants: a paired log-ratio of times to the target, with a 95% t interval.

A seed that missed the target is censored: its time is only known to be greater than its last train clock. What
follows is conservative:

- the baseline missed it: the ratio of that pair is at least what the clocks say. With such bounds in the place of
  the true log-ratios the mean can only be too small, so the lower end of its interval still is one: "at least";
- the variant missed it: the same upside down: "at most";
- both missed it, or some pairs are bounded from below and others from above: nothing bounds the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from hooke_api.intervals import Interval, interval

LEAST_PAIRS = 3
"""Fewer pairs than this and nothing is claimed."""

NEGLIGIBLE = 1.01
"""Times to the target whose ratio lies, with its whole interval, within this factor of 1 are practically the same:
nobody chooses a method for one percent, however sure it is."""

Claim = Literal["baseline", "faster", "slower", "same", "not shown", "at least", "at most", "no claim"]


@dataclass(frozen=True)
class Outcome:
    """One seed: train-clock seconds to the target, or (`reached` false) the last clock without it."""

    seconds: float
    reached: bool


@dataclass(frozen=True)
class Verdict:
    """Baseline's time over the variant's: 2 means that the variant needs half the time.

    `ratio` is the geometric mean over pairs; null where nothing bounds it. For "at least" `high` is null, for
    "at most" `low` is.
    """

    ratio: float | None
    low: float | None
    high: float | None
    pairs: int
    missed_by_baseline: int
    missed_by_variant: int
    missed_by_both: int
    claim: Claim

    @property
    def censored(self) -> int:
        """Return the number of pairs in which at least one side missed the target."""
        return self.missed_by_baseline + self.missed_by_variant - self.missed_by_both

    @property
    def swapped(self) -> Verdict:
        """Return the verdict on the baseline, with the variant as the baseline."""
        opposite: dict[Claim, Claim] = {
            "faster": "slower",
            "slower": "faster",
            "at least": "at most",
            "at most": "at least",
        }
        return replace(
            self,
            ratio=1 / self.ratio if self.ratio else None,
            low=1 / self.high if self.high else None,
            high=1 / self.low if self.low else None,
            missed_by_baseline=self.missed_by_variant,
            missed_by_variant=self.missed_by_baseline,
            claim=opposite.get(self.claim, self.claim),
        )


def compare(baseline: Mapping[int, Outcome], variant: Mapping[int, Outcome]) -> Verdict:
    """Return the verdict on a variant; both sides are given by seed, and only common seeds are pairs.

    A time of 0 (the target was met before the first step) has no ratio: its pair is left out.
    """
    pairs = [
        (baseline[seed], variant[seed])
        for seed in sorted(baseline.keys() & variant.keys())
        if baseline[seed].seconds > 0 and variant[seed].seconds > 0
    ]
    by_baseline = sum(not b.reached for b, _ in pairs)
    by_variant = sum(not v.reached for _, v in pairs)
    by_both = sum(not b.reached and not v.reached for b, v in pairs)
    nothing = Verdict(None, None, None, len(pairs), by_baseline, by_variant, by_both, "no claim")
    if not pairs:
        return nothing
    claim: Claim = "not shown" if len(pairs) >= LEAST_PAIRS else "no claim"
    if by_baseline and by_variant:
        return replace(nothing, claim=claim)
    logs = interval([math.log(b.seconds) - math.log(v.seconds) for b, v in pairs])
    above = logs.low is not None and logs.low > 0
    below = logs.high is not None and logs.high < 0
    found = replace(nothing, ratio=_exp(logs.mean), low=_exp(logs.low), high=_exp(logs.high), claim=claim)
    if by_baseline:
        return replace(found, high=None, claim="at least" if above and claim == "not shown" else claim)
    if by_variant:
        return replace(found, low=None, claim="at most" if below and claim == "not shown" else claim)
    if claim == "not shown" and _negligible(logs):
        claim = "same"
    elif claim == "not shown" and (above or below):
        claim = "faster" if above else "slower"
    return replace(found, claim=claim)


def _negligible(logs: Interval) -> bool:
    limit = math.log(NEGLIGIBLE)
    return logs.low is not None and logs.high is not None and -limit <= logs.low <= logs.high <= limit


def _exp(value: float | None) -> float | None:
    return None if value is None else math.exp(value)


def paired_ratio(baseline: Mapping[int, float], variant: Mapping[int, float]) -> Interval:
    """Return the geometric mean of variant over baseline with its interval, over the common seeds."""
    common = sorted(baseline.keys() & variant.keys())
    logs = interval(
        [math.log(variant[s] / baseline[s]) for s in common if variant[s] > 0 and baseline[s] > 0],
    )
    return Interval(_exp(logs.mean), _exp(logs.low), _exp(logs.high), logs.n)


def paired_difference(baseline: Mapping[int, float], variant: Mapping[int, float]) -> Interval:
    """Return the mean of variant minus baseline with its interval, over the common seeds."""
    return interval([variant[s] - baseline[s] for s in sorted(baseline.keys() & variant.keys())])
