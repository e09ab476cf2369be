"""Claims about two methods, what the paper says of them, and the verdict on the runs.

The verdict is that of `hooke.comparison.verdict`. This module passes it the runs, and leaves a claim open if
a method that would lose may have a better rate than those tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from hooke.comparison import verdict as rule
from hooke.comparison.crossing import Crossing
from hooke.comparison.ranges import Range
from hooke.comparison.verdict import Verdict, compare, compare_values, holm, log_ratios, log_ratios_of_values

from benchmarks.evidence.methods import METHODS, Method
from benchmarks.evidence.paces import PACES
from benchmarks.evidence.records import Run
from benchmarks.evidence.search import Trial, best_of
from benchmarks.evidence.view import View

EDGE = "open: best rate at the edge of the grid"
UNTRIED = "open: rates still to be tried"
UNSTABLE = "open: diverges with other seeds at the rate that was chosen"
WINS: dict[str, bool | None] = {"faster": True, "at least": True, "slower": False, "at most": False}
"""Whether a verdict favours the variant (True) or the baseline (False); other verdicts favour neither."""


class Bounded(Protocol):
    """A ratio with the ends of its interval, of one machine or pooled; None: an open end."""

    @property
    def ratio(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


@dataclass(frozen=True)
class Paper:
    """A statement of the paper on two of its methods. `figure`: a quotient; source: see `replication`."""

    said: str
    source: Literal["abstract", "account"]
    figure: float | None = None

    def __str__(self) -> str:
        return f"{self.said} ({self.source})"


@dataclass(frozen=True)
class Claim:
    """`variant` over `baseline`: in time to the target, or (`pace`) in samples per second.

    If a side names several methods, the best one with the tuning seed is used. Raises ValueError if a figure of
    the paper would be compared with a method that is not the paper's.
    """

    what: str
    variant: tuple[str, ...]
    baseline: tuple[str, ...]
    paper: Paper | None = None
    pace: bool = False
    judged: bool = True
    """Whether one side may be called faster; otherwise only the ratio is reported."""

    def __post_init__(self) -> None:
        about = [PACES[label].method for label in self.variant] if self.pace else self.methods
        if self.paper and not all(method.published for method in about):
            raise ValueError(f"{self.what}: {self.paper} does not refer to these methods")

    @property
    def methods(self) -> list[Method]:
        """Return the methods of both sides."""
        return [PACES[x].method if self.pace else METHODS[x] for x in (*self.variant, *self.baseline)]


@dataclass(frozen=True)
class Finding:
    """The result for a claim at a place. `open`: reason if there is no conclusion; `keys`: the runs used.

    `logs`: log-ratios by seed, which several machines pool.
    """

    claim: Claim
    place: str
    verdict: Verdict | None
    open: str = ""
    keys: tuple[str, ...] = ()
    logs: Mapping[int, Range] = field(default_factory=dict)


def crossing(run: Run, curve: Iterable[tuple[int, float, float]]) -> Crossing:
    """Return the two evaluations between which a run met its target, in seconds of the train clock."""
    if run.time_to_target is None:
        return Crossing(run.train_seconds or 0.0, None, run.diverged == "yes")
    earlier = [seconds for samples, seconds, _ in curve if samples < (run.samples_to_target or 0)]
    return Crossing(min(max(earlier, default=0.0), run.time_to_target), run.time_to_target)


def findings(view: View, claims: Iterable[tuple[Claim, str]]) -> list[Finding]:
    """Return the findings for claims at places, corrected for the number of comparisons among them."""
    found = [_found(view, claim, place) for claim, place in claims]
    judged = {n: f.verdict for n, f in enumerate(found) if f.verdict and f.claim.judged}
    corrected = holm(judged)
    return [_opened(view, replace(f, verdict=corrected.get(n, f.verdict))) for n, f in enumerate(found)]


def _found(view: View, claim: Claim, place: str) -> Finding:
    if claim.pace:
        sides = [view.repeats(place, label) for (label,) in (claim.variant, claim.baseline)]
        above, below = ({n: run.throughput for n, run in side.items() if run.throughput} for side in sides)
        verdict = compare_values(above, below) if above and below else None
        return Finding(claim, place, verdict, keys=_keys(*sides), logs=log_ratios_of_values(above, below))
    variant, baseline = (better(view, place, labels) for labels in (claim.variant, claim.baseline))
    if variant is None or baseline is None:
        return Finding(claim, place, None)
    fast, slow = view.reported(place, variant), view.reported(place, baseline)
    if not (fast and slow):
        return Finding(claim, place, None, keys=_keys(fast, slow))
    crossings = _crossings(view, slow), _crossings(view, fast)
    return Finding(claim, place, compare(*crossings), keys=_keys(fast, slow), logs=log_ratios(*crossings))


def _crossings(view: View, runs: Mapping[int, Run]) -> dict[int, Crossing]:
    """Return the crossings by seed, without runs that were ended before their first step."""
    told = {seed: run for seed, run in runs.items() if run.train_seconds or run.diverged == "yes"}
    return {seed: crossing(run, view.evidence.curves.get(run.key, ())) for seed, run in told.items()}


def _keys(*sides: Mapping[int, Run]) -> tuple[str, ...]:
    common = set.intersection(*(set(side) for side in sides))
    return tuple(side[seed].key for seed in sorted(common) for side in sides)


def better(view: View, place: str, labels: tuple[str, ...]) -> str | None:
    """Return the best of several methods by the tuning seed at their best rates; None if some are missing."""
    trials = dict[str, Trial]()
    for label in labels:
        state = view.search(place, label)
        if state.best is None or not state.over:
            return labels[0] if len(labels) == 1 and state.best is not None else None
        trials[label] = state.tried[state.best]
    return best_of(trials)


def _opened(view: View, finding: Finding) -> Finding:
    """Return a finding that is open if a method that lost, or was not shown to differ, may have a better rate.

    This also applies if it diverged with a reported seed at the best rate of the tuning seed, because a smaller
    rate might not diverge.
    """
    claim, verdict = finding.claim, finding.verdict
    if claim.pace or verdict is None or (verdict.claim == "no claim" and not verdict.missed_by_both):
        return finding
    everybody = (*claim.variant, *claim.baseline)
    if not all(view.search(finding.place, label).over for label in everybody):
        return replace(finding, open=UNTRIED)
    won = WINS.get(verdict.claim)
    losers = everybody if won is None else claim.baseline if won else claim.variant
    if any(view.search(finding.place, label).at_edge for label in losers):
        return replace(finding, open=EDGE)
    runs = (run for label in losers for run in view.reported(finding.place, label).values())
    return replace(finding, open=UNSTABLE) if any(run.diverged == "yes" for run in runs) else finding


def beside_paper(found: Bounded, paper: Paper | None) -> str:
    """Return the position of a ratio's interval relative to the paper's figure; empty if there is no figure."""
    if paper is None or paper.figure is None or (found.low is None and found.high is None):
        return ""
    if found.low is not None and found.low > paper.figure:
        return f"above {paper.figure:g}x"
    if found.high is not None and found.high < paper.figure:
        return f"below {paper.figure:g}x"
    return f"includes {paper.figure:g}x"


def ratio(verdict: Verdict) -> str:
    """Return a ratio with its interval and the number of pairs behind it: `1.23x [1.10, 1.40], n = 5`."""
    return f"{with_interval(verdict)}, n = {verdict.pairs}"


def with_interval(found: Bounded) -> str:
    """Return a ratio with its interval, or the bound that is known: `1.23x [1.10, 1.40]`, `≥ 1.90x`."""
    if found.low is None and found.high is None:
        return "no ratio" if found.ratio is None else f"{found.ratio:.2f}x"
    if found.high is None:
        return f"≥ {found.low:.2f}x"
    if found.low is None:
        return f"≤ {found.high:.2f}x"
    return f"{found.ratio:.2f}x [{found.low:.2f}, {found.high:.2f}]"


def said(finding: Finding) -> str:
    """Return the verdict in words; `not measured` if there are no pairs of runs."""
    if finding.verdict is None or finding.verdict.pairs == 0:
        missed = finding.verdict and (finding.verdict.missed_by_both or finding.verdict.met_at_start)
        return finding.open or ("neither met the target" if missed else "not measured")
    if not finding.claim.judged:
        return ""
    return finding.open or in_words(finding.verdict.claim)


def in_words(claim: rule.Claim) -> str:
    """Return a claim of the verdict rule as the pages say it."""
    words = {"same": "practically the same", "at least": "faster, at least", "at most": "slower, at least"}
    return words.get(claim, claim)
