"""The accuracy and throughput of a variant in words, where an experiment has no target."""

from __future__ import annotations

from collections.abc import Mapping

from hooke.comparison.intervals import Interval
from hooke.comparison.verdict import LEAST_PAIRS, Verdict
from hooke.comparison.wording import count, ends, figure


def without_target(
    variant: str, accuracy: Interval, throughput: Verdict, shown: bool, diverged: Mapping[str, int]
) -> str:
    """Return one variant's accuracy and throughput relative to the baseline, if there is no target.

    `shown`: whether the difference of accuracies is one after correction for the number of variants. `diverged`:
    the sides that did, with how many seeds: these have no accuracy, so nothing is said in favor of such a side.
    """
    if throughput.unfair:
        return f"{variant} (no claim: {throughput.unfair})"
    lost = "".join(f"; left out: {count(k, 'seed')} with which {name} diverged" for name, k in diverged.items())
    if (n := min(accuracy.n, throughput.pairs)) < LEAST_PAIRS:
        return f"{variant} (no claim: {count(n, 'pair')} of finished seeds, but {LEAST_PAIRS} are needed{lost})"
    survivor = any((name == variant) == ((accuracy.mean or 0.0) > 0) for name in diverged)
    return f"{variant} {_points(accuracy, shown, survivor)} and {_speed(throughput)} (n={n}{lost})"


def _points(accuracy: Interval, shown: bool, survivor: bool) -> str:
    """Return the difference of accuracies in words; `survivor`: it is in favor of a side that diverged, too."""
    low, high = (100 * (v or 0.0) for v in (accuracy.low, accuracy.high))
    points = f"({low:+.2g} to {high:+.2g} points)"
    if low <= 0 <= high:
        return f"accuracy difference not shown {points}"
    if survivor:
        return f"accuracy difference not shown, only on the seeds that are left {points}"
    if not shown:
        return f"accuracy difference not shown after correction {points}"
    return f"final accuracy {100 * (accuracy.mean or 0.0):+.2g} points {points}"


def _speed(throughput: Verdict) -> str:
    interval = f"({ends(throughput)})"
    if throughput.claim == "same":
        return f"throughput practically the same {interval}"
    if throughput.claim == "not shown":
        return f"throughput difference not shown {interval}"
    return f"throughput {figure(throughput.ratio or 0)}x {interval}"
