"""Verdicts in plain English: short, with units, with the n behind them, and no word more than was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hooke.spec import Target

from hooke_api.comparisons.verdict import LEAST_PAIRS, NEGLIGIBLE, Claim, Verdict
from hooke_api.intervals import Interval


@dataclass(frozen=True)
class Place:
    """Where a group of runs was executed, and how far they are."""

    cluster: str
    workers: int
    simulated: bool
    oversubscribed: bool
    ended: int
    runs: int
    failed: int

    def __str__(self) -> str:
        notes = [count(self.workers, "worker"), "simulated" if self.simulated else "real"]
        if self.oversubscribed:
            notes.append("oversubscribed: more ranks than cores")
        if self.ended < self.runs:
            notes.append(f"so far {self.ended} of {self.runs} runs ended")
        if self.failed:
            notes.append(f"{count(self.failed, 'run')} failed")
        return f"On {self.cluster} ({', '.join(notes)})"


def count(n: int, noun: str) -> str:
    """Return "1 seed", "2 seeds"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def figure(value: float) -> str:
    """Return a ratio in about two digits, and in more where fewer would say 1."""
    if value >= 10:
        return f"{value:,.0f}"
    if value < 0.1:
        return f"{value:.2g}"
    for decimals in range(1 if value >= 1 else 2, 7):
        text = f"{value:.{decimals}f}"
        if float(text) != 1 or value == 1:
            return text
    return f"{value:.6f}"


def describe_target(target: Target) -> str:
    """Return the target in words, e.g. "90% validation accuracy"."""
    if target.of_accuracy:
        return f"{target.value * 100:g}% {target.part} accuracy"
    return f"{target.part} loss {target.value:g}"


def describe_parts(target: Target | None, without_validation: bool) -> str | None:
    """Return what is to be known of an experiment made without a validation part; None of all others."""
    if not without_validation:
        return None
    judged = "evaluations scored" if target is None else "the target was judged on"
    return f"made without a validation part: {judged} the test part"


def short(variant: str, verdict: Verdict) -> str:
    """Return one variant's part of a group's sentence: name, figure, interval, n."""
    v = verdict.swapped if verdict.claim in ("slower", "at most") else verdict
    if v.ratio is None:
        return f"{variant} ({_missed(verdict, 'baseline', variant)})"
    bound = "at least " if v.high is None else "at most " if v.low is None else ""
    words = "x as long" if verdict.claim in ("slower", "at most") else "x"
    return f"{variant} {bound}{figure(v.ratio)}{words} ({_ends(v)}, n={v.pairs})"


def _ends(v: Verdict) -> str:
    if v.low is None and v.high is None:
        return "no interval"
    if v.high is None:
        return f"from {figure(v.low or 0)}"
    if v.low is None:
        return f"up to {figure(v.high)}"
    return f"{figure(v.low)} to {figure(v.high)}"


def _missed(v: Verdict, baseline: str, variant: str) -> str:
    parts = [(baseline, v.missed_by_baseline), (variant, v.missed_by_variant)]
    return " and ".join(f"{name} missed it with {n} of {count(v.pairs, 'seed')}" for name, n in parts if n)


def sentence(variant: str, baseline: str, verdict: Verdict, marks: str, why_unpaired: str | None) -> str:
    """Return the claim on one variant in one sentence. `marks` is ", simulated" or the like, or empty."""
    if verdict.claim == "baseline":
        return f"{variant} is the baseline."
    if verdict.claim == "no claim":
        return f"No claim on {variant}: {why_unpaired or _too_few(verdict)}."
    v = verdict.swapped if verdict.claim in ("slower", "at most") else verdict
    note = f"{count(v.pairs, 'seed')}{marks}"
    if verdict.claim == "same":
        ratio = f"ratio {figure(v.ratio or 0)}, and its 95% interval {_ends(v)} lies within {_percent()} of 1"
        return f"{variant} and {baseline} are practically the same: {ratio} ({note})."
    if verdict.claim == "not shown":
        return f"Not shown that {variant} and {baseline} differ: {_why_not(variant, baseline, verdict)} ({note})."
    missed = _missed(verdict, baseline, variant)
    if v.high is None:
        note = f"95% from {figure(v.low or 0)}, {note}; {missed}"
    else:
        note = f"95% interval {_ends(v)}, {note}"
    ratio = figure(v.ratio or 0)
    if verdict.claim in ("faster", "at least"):
        bound = "at least " if verdict.claim == "at least" else ""
        return f"{variant} reaches the target {bound}{ratio}x faster than {baseline} ({note})."
    bound = "at least " if verdict.claim == "at most" else ""
    return f"{variant} takes {bound}{ratio}x as long as {baseline} to reach the target ({note})."


def _percent() -> str:
    return f"{100 * (NEGLIGIBLE - 1):.3g}%"


def _too_few(verdict: Verdict) -> str:
    return f"{count(verdict.pairs, 'pair')} of finished seeds, and {LEAST_PAIRS} are needed"


def _why_not(variant: str, baseline: str, v: Verdict) -> str:
    if v.ratio is None:
        return _missed(v, baseline, variant)
    if v.high is None or v.low is None:
        return f"{_missed(v, baseline, variant)}, and the bound that is left ({_ends(v)}) does not exclude 1"
    return f"ratio {figure(v.ratio)}, and its 95% interval {_ends(v)} includes 1"


GROUPS: tuple[tuple[str, tuple[Claim, ...]], ...] = (
    ("faster", ("faster", "at least")),
    ("slower", ("slower", "at most")),
    ("practically the same", ("same",)),
    ("not shown", ("not shown",)),
)


def group_sentence(place: Place, baseline: str, target: str, verdicts: Sequence[tuple[str, Verdict]]) -> str:
    """Return what may be said of one cluster and number of workers, all variants in one sentence."""
    parts = []
    for title, claims in GROUPS:
        items = [short(name, v) for name, v in verdicts if v.claim in claims]
        if items:
            parts.append(f"{title}: {', '.join(items)}")
    silent = [f"{name} ({_too_few(v)})" for name, v in verdicts if v.claim == "no claim"]
    if silent:
        parts.append(f"no claim: {', '.join(silent)}")
    if not parts:
        return f"{place}: there is no variant to compare with {baseline}."
    return f"{place}, time to {target} against {baseline}, 95% intervals: {'; '.join(parts)}."


def without_target(variant: str, accuracy: Interval, throughput: Interval) -> str:
    """Return one variant's accuracy and throughput against the baseline's, where no target was set."""
    if accuracy.n < LEAST_PAIRS or throughput.n < LEAST_PAIRS:
        n = min(accuracy.n, throughput.n)
        return f"{variant} (no claim: {count(n, 'pair')} of finished seeds, and {LEAST_PAIRS} are needed)"
    return f"{variant} {_points(accuracy)} and {_speed(throughput)} (n={accuracy.n})"


def _points(accuracy: Interval) -> str:
    low, high = (100 * (v or 0.0) for v in (accuracy.low, accuracy.high))
    ends = f"({low:+.2g} to {high:+.2g} points)"
    if low <= 0 <= high:
        return f"accuracy difference not shown {ends}"
    return f"final accuracy {100 * (accuracy.mean or 0.0):+.2g} points {ends}"


def _speed(throughput: Interval) -> str:
    ends = f"({figure(throughput.low or 0)} to {figure(throughput.high or 0)})"
    if (throughput.low or 0) <= 1 <= (throughput.high or 0):
        return f"throughput difference not shown {ends}"
    return f"throughput {figure(throughput.mean or 0)}x {ends}"
