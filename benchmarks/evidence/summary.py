"""What the summary of the results shows: claims behind each question, outcomes of the paper's statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hooke.comparison.crossing import horizon, log_time
from hooke.comparison.intervals import Interval, interval
from hooke.comparison.ranges import mean_of
from hooke.comparison.verdict import log_ratios_of_values, ratio_of

from benchmarks.evidence import codesign, replication, wire
from benchmarks.evidence.claim import WINS, Claim, crossing
from benchmarks.evidence.codesign import BESIDE_PEERS
from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.conditions import SCALING as SCALED
from benchmarks.evidence.paces import PACES
from benchmarks.evidence.pools import PooledFinding, pool
from benchmarks.evidence.records import Run
from benchmarks.evidence.replication import ASYNCHRONOUS, LADDER
from benchmarks.evidence.spread import Spread
from benchmarks.evidence.view import View

Outcome = Literal["held", "smaller", "opposite", "not shown", "open", "not measured"]
OUTCOMES: dict[Outcome, str] = {
    "held": "as stated",
    "smaller": "less than stated",
    "opposite": "the opposite",
    "not shown": "no difference shown",
    "open": "open",
    "not measured": "not measured",
}
"""What became of a statement of the paper -> in words."""
WHICH = (LADDER[-1], *ASYNCHRONOUS[3:], *BESIDE_PEERS)
"""Claims behind "which method": the whole ladder, pairs at other periods than the paper's, and peers."""


@dataclass(frozen=True)
class Share:
    """The share of time that a method's workers were blocked in communication at a place, on one machine."""

    machine: str
    place: str
    label: str
    found: Interval
    runs: tuple[Run, ...]

    @property
    def mean(self) -> float:
        """Return the mean over seeds."""
        return self.found.mean or 0.0


@dataclass(frozen=True)
class Efficiency:
    """Throughput of a method over the same ranks without communication, on one machine. `mean`: geometric."""

    machine: str
    place: str
    label: str
    mean: float
    low: float
    high: float
    """95% interval; the mean itself with one repeat."""
    runs: Mapping[int, Run]
    alone: Mapping[int, Run]
    of_limit: Spread | None


class Summary:
    """The results of all machines, by name of their folder, for one page."""

    def __init__(self, views: Mapping[str, View]) -> None:
        self.views = views

    @cached_property
    def replication(self) -> list[PooledFinding]:
        """Return all claims of the replication, pooled and corrected together."""
        return pool(self.views, lambda view: [f for group in replication.found(view).values() for f in group])

    @cached_property
    def codesign(self) -> list[PooledFinding]:
        """Return all claims of the co-design, pooled and corrected together."""
        return pool(self.views, lambda view: codesign.found(view).values())

    @property
    def which(self) -> list[PooledFinding]:
        """Return the findings behind "which method", in the order of WHICH."""
        found = [*self.replication, *self.codesign]
        return [finding for claim in WHICH for finding in found if finding.claim == claim]

    @property
    def stated(self) -> list[PooledFinding]:
        """Return the findings on statements of the paper."""
        return [finding for finding in self.replication if finding.claim.paper]

    def of(self, claim: Claim) -> list[PooledFinding]:
        """Return the findings on one claim, by place."""
        return [finding for finding in self.replication if finding.claim == claim]

    def letter(self, name: str) -> str:
        """Return the letter of a machine in figures and tables; empty if there is only one."""
        return chr(ord("A") + list(self.views).index(name)) if len(self.views) > 1 else ""

    def place(self, place: str) -> str:
        """Return a place in a few words: `8 hosts, oversubscribed`, `8 workers, simulated`."""
        if PLACES[place].world == "virtual":
            return f"{PLACES[place].hosts} workers, simulated"
        crowded = any(view.note(place).startswith("over") for view in self.views.values())
        return f"{PLACES[place].hosts} hosts{', oversubscribed' if crowded else ''}"

    @cached_property
    def shares(self) -> list[Share]:
        """Return the exposed shares of all methods that were measured."""
        found = []
        for name, view in self.views.items():
            for place in view.matrix.places:
                for label in view.matrix.at(place):
                    runs = [
                        r for r in view.reported(place, label).values() if r.communication_fraction is not None
                    ]
                    if runs:
                        mean = interval([run.communication_fraction or 0.0 for run in runs])
                        found.append(Share(name, place, label, mean, tuple(runs)))
        return found

    @cached_property
    def efficiencies(self) -> list[Efficiency]:
        """Return throughput over that without communication, of all methods with both."""
        return [found for name, view in self.views.items() for found in _efficiencies(name, view)]


def outcome(finding: PooledFinding) -> Outcome:
    """Return what became of a statement of the paper."""
    if not finding.measured:
        return "not measured"
    if finding.open:
        return "open"
    won, placed = WINS.get(finding.pooled.claim), finding.beside_paper
    if finding.claim.judged and won is not True:
        return "not shown" if won is None else "opposite"
    return "smaller" if placed.startswith("below") else "held"


def time_of(view: View, place: str, label: str) -> tuple[float, float | None, float | None] | None:
    """Return the geometric mean of a method's times to the target, s, with its 95% interval; ends may be open.

    None if it was not measured. Times are ranges, as for verdicts.
    """
    runs = [run for run in view.reported(place, label).values() if run.train_seconds or run.diverged == "yes"]
    crossings = [crossing(run, view.evidence.curves.get(run.key, ())) for run in runs]
    longest = horizon(crossings)
    if not runs or longest <= 0:
        return None
    mean = mean_of([log_time(one, longest) for one in crossings])
    middle = ratio_of(mean.point)
    return None if middle is None else (middle, ratio_of(mean.low), ratio_of(mean.high))


def _efficiencies(name: str, view: View) -> Iterable[Efficiency]:
    for label in view.matrix.paces:
        pace = PACES[label]
        for place in pace.places if pace.off != label else ():
            runs, alone = view.repeats(place, label), view.repeats(place, pace.off)
            sides = [{n: run.throughput for n, run in s.items() if run.throughput} for s in (runs, alone)]
            logs = log_ratios_of_values(*sides)
            if place not in SCALED or PLACES[place].hosts == 1 or not logs:
                continue
            mean = mean_of(list(logs.values()))
            found = ratio_of(mean.point) or 0.0
            ends = (ratio_of(mean.low) or found, ratio_of(mean.high) or found)
            yield Efficiency(name, place, label, found, *ends, runs, alone, wire.of_limit(view, place, label))
