"""Findings of several kinds of machines, pooled by ratio (`hooke.comparison.pooling`); seconds are never pooled.

Findings are pooled if claim and place are the same, and if all machines or none had fewer cores than ranks.
Simulated ratios are not pooled: virtual time is the same on every machine, so that a second one adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from hooke.comparison.pooling import Pooled, holm_pooled, pooled

from benchmarks.evidence.claim import Claim, Finding, beside_paper, in_words, with_interval
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.view import View
from benchmarks.evidence.wording import beside

Key = tuple[str, str, bool]


@dataclass(frozen=True)
class PooledFinding:
    """The result for a claim at a place over kinds of machines. `open`: reason if there is no conclusion."""

    claim: Claim
    place: str
    notes: tuple[str, ...]
    """What the machines' pages say of their cores."""
    findings: Mapping[str, Finding]
    """By machine, of those that measured it."""
    pooled: Pooled
    open: str = ""

    @property
    def where(self) -> str:
        """Return the place in words, with the remarks on cores, or that it is simulated."""
        return PLACES[self.place].title + beside("; ".join(filter(None, self.notes)))

    @property
    def measured(self) -> bool:
        """Return whether there is a ratio or a bound of it."""
        return bool(self.findings) and (self.pooled.low is not None or self.pooled.high is not None)

    @property
    def text(self) -> str:
        """Return the ratio with its interval."""
        return with_interval(self.pooled) if self.measured else "not measured"

    @property
    def said(self) -> str:
        """Return the verdict in words."""
        if not self.findings:
            return "not measured"
        return self.open or (in_words(self.pooled.claim) if self.claim.judged else "")

    @property
    def beside_paper(self) -> str:
        """Return the position of the interval relative to the paper's figure, if there is one."""
        return beside_paper(self.pooled, self.claim.paper) if self.measured else ""


def pool(views: Mapping[str, View], found: Callable[[View], Iterable[Finding]]) -> list[PooledFinding]:
    """Return what `found` finds of each machine's view, pooled, and corrected for the number of comparisons."""
    groups: dict[Key, dict[str, Finding]] = {}
    for name, view in views.items():
        for finding in found(view):
            groups.setdefault(_key(view, finding), {})[name] = finding
    results = {key: _pooled(views, findings) for key, findings in groups.items()}
    judged = {key: one.pooled for key, one in results.items() if one.claim.judged}
    corrected = holm_pooled(judged)
    return [replace(one, pooled=corrected.get(key, one.pooled)) for key, one in results.items()]


def _key(view: View, finding: Finding) -> Key:
    return finding.claim.what, finding.place, view.note(finding.place).startswith("oversubscribed")


def _pooled(views: Mapping[str, View], findings: Mapping[str, Finding]) -> PooledFinding:
    first = next(iter(findings.values()))
    there = {name: finding for name, finding in findings.items() if finding.logs}
    used = list(there)[:1] if PLACES[first.place].world == "virtual" else list(there)
    notes = tuple(dict.fromkeys(views[name].note(first.place) for name in there or findings))
    reasons = [finding.open for finding in there.values() if finding.open]
    told = reasons[0] if reasons else ""
    if told and len(there) > 1:
        told += f" ({len(reasons)} of {len(there)} machines)"
    result = pooled({name: there[name].logs for name in used})
    return PooledFinding(first.claim, first.place, notes, there, result, told)
