"""Verdicts as English sentences, with units and the number of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hooke.comparison.verdict import LEAST_PAIRS, MARGIN, WORTH_SHOWING, Claim, Verdict
from hooke.spec.specification import Target


@dataclass(frozen=True)
class ComparedPlace:
    """Cluster and progress of a group of runs."""

    cluster: str
    workers: int
    simulated: bool
    oversubscribed: bool
    ended: int
    runs: int
    failed: Mapping[str, int]
    """Variant -> number of its runs that failed."""
    overlapped: int = 0
    """Runs that shared their machine with a run of another cluster."""
    cancelled: Mapping[str, int] = field(default_factory=dict)
    """The same of runs whose seed is not compared, because a person ended them."""

    def __str__(self) -> str:
        notes = [count(self.workers, "worker"), "simulated" if self.simulated else "real"]
        if self.oversubscribed:
            notes.append("oversubscribed: more ranks than cores")
        if self.overlapped:
            notes.append(
                f"{count(self.overlapped, 'run')} overlapped with those of another cluster on its machine"
            )
        if self.ended < self.runs:
            notes.append(f"so far {self.ended} of {self.runs} runs ended")
        notes += [_ended("failed", self.failed), _ended("cancelled", self.cancelled)]
        notes = [note for note in notes if note]
        return f"On {self.cluster} ({', '.join(notes)})"


def _ended(how: str, of: Mapping[str, int]) -> str:
    """Return "3 runs failed: 2 of a and 1 of b", those with the most first; empty without any."""
    most = [f"{n} of {name}" for name, n in sorted(of.items(), key=lambda each: -each[1])]
    named = [*most[:6], count(len(most) - 6, "more variant")] if len(most) > 6 else most
    return f"{count(sum(of.values()), 'run')} {how}: {listed(named)}" if of else ""


def count(n: int, noun: str) -> str:
    """Return "1 seed", "2 seeds"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def figure(value: float) -> str:
    """Return a ratio with about two digits, or more if it would otherwise be rounded to 1."""
    if value >= 10:
        return f"{value:,.0f}"
    if value < 0.1:
        return f"{value:.2g}"
    for decimals in range(1 if value >= 1 else 2, 7):
        text = f"{value:.{decimals}f}"
        if float(text) != 1 or value == 1:
            return text
    return f"{value:.6f}"


def estimate(value: float) -> str:
    """Return a ratio that nothing is claimed of, with about two digits: its distance from 1 is not known."""
    return f"{value:.1f}" if 0.95 <= value < 1.05 else figure(value)


def describe_target(target: Target) -> str:
    """Return the target in words, e.g. "90% validation accuracy"."""
    if target.of_accuracy:
        return f"{target.value * 100:g}% {target.part} accuracy"
    return f"{target.part} loss {target.value:g}"


def describe_parts(target: Target | None, without_validation: bool) -> str | None:
    """Return the remark on an experiment made without a validation part; None for others."""
    if not without_validation:
        return None
    judged = "evaluations scored" if target is None else "the target was judged on"
    return f"made without a validation part: {judged} the test part"


def short(variant: str, verdict: Verdict) -> str:
    """Return one variant's part of a group's sentence: name, figure, interval, n, excluded pairs."""
    v = verdict.swapped if verdict.claim in ("slower", "at most") else verdict
    notes = [f"n={v.pairs}"]
    if left := v.missed_by_both + v.met_at_start:
        notes.append(f"{left} left out")
    if verdict.claim == "not shown" and v.shown_alone:
        notes.append("not after correction")
    elif v.coarse:
        notes.append("evaluate more often")
    if v.ratio is None:
        return f"{variant} ({_why_open(verdict, 'baseline', variant)})"
    words = "x as long" if verdict.claim in ("slower", "at most") else "x"
    if v.low is None or v.high is None:
        return f"{variant} {_bound(v)}{words} ({', '.join(notes)})"
    return f"{variant} {figure(v.ratio)}{words} ({ends(v)}, {', '.join(notes)})"


def _bound(v: Verdict) -> str:
    """Return the known end of a one-sided interval; the mean of censored values is not an estimate."""
    return f"at least {figure(v.low or 0)}" if v.high is None else f"at most {figure(v.high or 0)}"


def ends(v: Verdict) -> str:
    """Return the ends of an interval."""
    if v.low is None and v.high is None:
        return "no interval"
    if v.high is None:
        return f"from {figure(v.low or 0)}"
    if v.low is None:
        return f"up to {figure(v.high)}"
    return f"{figure(v.low)} to {figure(v.high)}"


def _why_open(v: Verdict, baseline: str, variant: str) -> str:
    """Return the reason for the open end or ends of the interval."""
    sides = [
        (baseline, v.missed_by_baseline, v.diverged_by_baseline),
        (variant, v.missed_by_variant, v.diverged_by_variant),
    ]
    parts = [_missed(name, missed, diverged, v.pairs) for name, missed, diverged in sides if missed]
    if v.in_first_interval:
        seeds = count(v.in_first_interval, "seed")
        parts.append(f"for {seeds} a target was met at the first evaluation, so evaluate more often")
    return " and ".join(parts)


def _missed(name: str, missed: int, diverged: int, pairs: int) -> str:
    how = "diverged" if diverged == missed else "missed it"
    some = f" ({diverged} diverged)" if 0 < diverged < missed else ""
    return f"{name} {how} with {missed} of {count(pairs, 'seed')}{some}"


def _left_out(v: Verdict) -> list[str]:
    parts = []
    if v.missed_by_both:
        parts.append(f"left out: {count(v.missed_by_both, 'seed')} for which neither reached it")
    if v.met_at_start:
        parts.append(f"left out: {count(v.met_at_start, 'seed')} for which it was met before the first step")
    return parts


def _notes(v: Verdict, marks: str) -> str:
    """Return the number of seeds, the excluded ones with reasons, and the correction."""
    notes = [f"{count(v.pairs, 'seed')}{marks}", *_left_out(v)]
    if v.comparisons > 1:
        notes.append(f"after correction for {v.comparisons} comparisons")
    return "; ".join(notes)


def sentence(variant: str, baseline: str, verdict: Verdict, marks: str, why_unpaired: str | None) -> str:
    """Return the claim on one variant in one sentence. `marks` is ", simulated" or the like, or empty."""
    if verdict.claim == "baseline":
        return f"{variant} is the baseline."
    if verdict.claim == "no claim":
        return f"No claim on {variant}: {why_unpaired or _too_few(verdict)}."
    v = verdict.swapped if verdict.claim in ("slower", "at most") else verdict
    note = _notes(v, marks)
    if verdict.claim == "same":
        ratio = f"ratio {figure(v.ratio or 0)}, and its 95% interval {ends(v)} lies within {_percent()} of 1"
        return f"{variant} and {baseline} are practically the same: {ratio} ({note})."
    if verdict.claim == "not shown":
        return f"Not shown that {variant} and {baseline} differ: {_why_not(variant, baseline, verdict)} ({note})."
    if v.high is None:
        how, note = _bound(v), f"95% confidence, {note}; {_why_open(verdict, baseline, variant)}"
    else:
        how, note = figure(v.ratio or 0), f"95% interval {ends(v)}, {note}"
    if verdict.claim in ("faster", "at least"):
        return f"{variant} reaches the target {how}x faster than {baseline} ({note})."
    return f"{variant} takes {how}x as long as {baseline} to reach the target ({note})."


def _percent() -> str:
    return f"{100 * (MARGIN - 1):.3g}%"


def _too_few(verdict: Verdict) -> str:
    if verdict.unfair:
        return verdict.unfair
    left = f" ({'; '.join(_left_out(verdict))})" if _left_out(verdict) else ""
    return f"{count(verdict.pairs, 'pair')} of finished seeds{left}, but {LEAST_PAIRS} are needed"


def _why_not(variant: str, baseline: str, v: Verdict) -> str:
    if v.ratio is None:
        return _why_open(v, baseline, variant)
    if v.shown_alone:
        return (
            f"ratio {figure(v.ratio)} (95% interval {ends(v)}) would be shown in a single comparison, but is not"
        )
    if v.high is None or v.low is None:
        why = _why_open(v, baseline, variant)
        return f"{why}, and the remaining bound ({ends(v)}) does not exclude 1"
    coarse = ", because times are only known to an evaluation interval: evaluate more often" if v.coarse else ""
    power = f"; about {v.seeds_needed} seeds would show a ratio of {WORTH_SHOWING:g}" if _worth_more(v) else ""
    if v.too_far_apart:
        power = f"; with evaluations this far apart no number of seeds would show a ratio of {WORTH_SHOWING:g}"
    return f"ratio {figure(v.ratio)}, and its 95% interval {ends(v)} includes 1{coarse}{power}"


def _worth_more(v: Verdict) -> bool:
    """Return whether more seeds than there are would show a ratio that matters."""
    return not v.coarse and v.seeds_needed is not None and v.seeds_needed > v.pairs


def may_show_more(v: Verdict) -> bool:
    """Return whether nothing is shown, and `seeds_needed` tells how many seeds would show a ratio that matters."""
    return v.claim == "not shown" and _worth_more(v)


def power_hint(verdicts: Sequence[tuple[str, Verdict]]) -> str | None:
    """Return how many seeds would show a ratio that matters, of variants not shown to differ; or that none do."""
    ratio = f"a ratio of {WORTH_SHOWING:g}"
    told = [f"{v.seeds_needed} for {name}" for name, v in verdicts if may_show_more(v)]
    said = [f"Seeds that would show {ratio}: about {listed(told)}."] if told else []
    if apart := [name for name, v in verdicts if v.claim == "not shown" and v.too_far_apart]:
        said.append(f"With evaluations this far apart no number of seeds would show {ratio}: {listed(apart)}.")
    return " ".join(said) or None


GROUPS: tuple[tuple[str, tuple[Claim, ...]], ...] = (
    ("faster", ("faster", "at least")),
    ("slower", ("slower", "at most")),
    ("practically the same", ("same",)),
    ("not shown", ("not shown",)),
)


def group_sentence(
    place: ComparedPlace,
    baseline: str,
    target: str,
    verdicts: Sequence[tuple[str, Verdict]],
    unchosen: Sequence[str] = (),
) -> str:
    """Return the conclusions for one cluster and number of workers, all variants in one sentence.

    `unchosen`: variants without a run, because no trial of theirs gave a result.
    """
    parts = []
    for title, claims in GROUPS:
        items = [short(name, v) for name, v in verdicts if v.claim in claims]
        if items:
            parts.append(f"{title}: {', '.join(items)}")
    silent = [f"{name} ({_too_few(v)})" for name, v in verdicts if v.claim == "no claim"]
    silent += [f"{name} (none of its trials gave a result)" for name in unchosen]
    if silent:
        parts.append(f"no claim: {', '.join(silent)}")
    if not parts:
        return f"{place}: there is no variant to compare with {baseline}."
    several = max((v.comparisons for _, v in verdicts), default=1)
    corrected = f", claims after correction for {several} comparisons" if several > 1 else ""
    return f"{place}, time to {target} against {baseline}, 95% intervals{corrected}: {'; '.join(parts)}."
