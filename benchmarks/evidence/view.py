"""The runs of a matrix as its pages look at them: by place and method; what is not of the matrix is left out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from benchmarks.evidence.cells import Score, best_of, count, pace_cells, target_cell
from benchmarks.evidence.conditions import (
    BEST,
    METHODS,
    PACES,
    PLACES,
    SCALING,
    Matrix,
    without_bf16,
    without_root,
)
from benchmarks.evidence.precision import used
from benchmarks.evidence.records import Evidence, Run
from benchmarks.evidence.spread import Spread, quotient
from benchmarks.netlab.starting import caution

SCALED = (BEST.label, "Sync EASGD3, halving, pipelined", "Sync EASGD3")
"""Methods whose weak scaling is drawn."""
STAR = "(*)"
"""Marks a method that had more ranks than cores at a place where others had not."""


@dataclass(frozen=True)
class Best:
    """A method at its best rate. `grid`: how many rates have been tried; `edge`: it is an outermost one."""

    rate: float
    runs: dict[int, Run]
    grid: int
    edge: bool

    @property
    def seeds(self) -> list[Run]:
        """Return the runs by seed."""
        return [self.runs[seed] for seed in sorted(self.runs)]


class View:
    """What has been run of a matrix."""

    def __init__(self, matrix: Matrix, evidence: Evidence) -> None:
        self.matrix, self.evidence = matrix, evidence

    @cached_property
    def targets(self) -> dict[tuple[str, str], dict[float, dict[int, Run]]]:
        """Return the runs towards the target by (place, method), rate and seed."""
        found: dict[tuple[str, str], dict[float, dict[int, Run]]] = {}
        for place in self.matrix.places:
            for label in self.matrix.at(place):
                grid: dict[float, dict[int, Run]] = {}
                for rate in self.matrix.rates:
                    for seed in range(self.matrix.seeds):
                        cell = target_cell(self.matrix, PLACES[place], METHODS[label], rate, seed)
                        if run := self.evidence.runs.get(cell.key):
                            grid.setdefault(rate, {})[seed] = run
                found[place, label] = grid
        return found

    @cached_property
    def paces(self) -> dict[tuple[str, str], dict[int, Run]]:
        """Return the runs of a fixed number of steps by (place, label) and repeat."""
        found: dict[tuple[str, str], dict[int, Run]] = {}
        for cell in pace_cells(self.matrix):
            if run := self.evidence.runs.get(cell.key):
                found.setdefault((cell.place.name, cell.label), {})[cell.seed] = run
        return found

    @property
    def runs(self) -> list[Run]:
        """Return all runs of the matrix."""
        towards = [run for grid in self.targets.values() for seeds in grid.values() for run in seeds.values()]
        return towards + [run for repeats in self.paces.values() for run in repeats.values()]

    def missing(self) -> tuple[int, int]:
        """Return how many runs there are, and how many there are to be."""
        further = 0  # seeds at rates that were the best for a while: kept and shown, but beyond the matrix
        for grid in self.targets.values():
            best = best_rate(grid)
            further += sum(len(seeds) - (0 in seeds) for rate, seeds in grid.items() if best and rate != best)
        return len(self.runs) - further, count(self.matrix)

    def best(self, place: str, label: str) -> Best | None:
        """Return a method's runs at its best rate so far; None if it has not been run there."""
        grid = self.targets.get((place, label), {})
        rate = best_rate(grid)
        if rate is None:
            return None
        tried = sum(0 in seeds for seeds in grid.values())
        edge = len(self.matrix.rates) > 1 and rate in (self.matrix.rates[0], self.matrix.rates[-1])
        return Best(rate, grid[rate], tried, edge)

    def at_best(self, place: str, label: str) -> dict[int, Run]:
        """Return the runs of a method at its best rate by seed; none if it has not been run."""
        best = self.best(place, label)
        return best.runs if best else {}

    def better(self, place: str, *labels: str) -> str:
        """Return which of these methods was the best at a place by its first seed; the first if none was run."""
        runs = {label: self.at_best(place, label) for label in labels}
        return best_of({label: score(seeds[0]) for label, seeds in runs.items() if 0 in seeds}) or labels[0]

    def over(self, place: str, above: str, below: str) -> Spread | None:
        """Return the quotient of two throughputs at a place, repeat by repeat."""
        return quotient(self.paces.get((place, above), {}), self.paces.get((place, below), {}))

    def scaling(self) -> dict[str, list[tuple[int, Spread]]]:
        """Return throughput over that with communication off, by number of hosts, of what is drawn."""
        found = {}
        for label in (label for label in SCALED if label in self.matrix.paces):
            told = [(PLACES[place].hosts, self.over(place, label, PACES[label].off)) for place in SCALING]
            if points := [(hosts, efficiency) for hosts, efficiency in told if efficiency]:
                found[label] = points
        return found

    def cores(self, runs: Iterable[Run]) -> int | None:
        """Return the least number of cores that any of these runs had for all its hosts."""
        sessions = {run.session for run in runs} & self.evidence.sessions.keys()
        return min((int(self.evidence.sessions[name]["hardware"]["cores"]) for name in sessions), default=None)

    def crowded(self, place: str, label: str) -> bool:
        """Return whether a method had more ranks than cores at a place where others had not."""
        runs = self.at_best(place, label).values()
        return any(run.oversubscribed == "yes" for run in runs) and not self.note(place).startswith("over")

    def marked(self, place: str, label: str) -> str:
        """Return a method's label, with a star if it alone was oversubscribed."""
        return f"{label} {STAR}" if self.crowded(place, label) else label

    def note(self, place: str) -> str:
        """Return what must stand beside the figures of a place: whether ranks had a core each."""
        at = [run for run in self.runs if run.place == place]
        cores = self.cores(at)
        if PLACES[place].world == "virtual":
            return "simulated"
        if cores is None or PLACES[place].world == "here":
            return ""
        return caution(PLACES[place].hosts, cores)


def view_of(matrix: Matrix, evidence: Evidence) -> View:
    """Return the view of what a machine measured: of less, if it could have no emulated hosts or uses fp32."""
    worlds = {PLACES[run.place].world for run in evidence.runs.values()}
    if "virtual" in worlds and "lab" not in worlds:
        matrix = without_root(matrix)
    if used(evidence.sessions.values()) == "fp32":
        matrix = without_bf16(matrix)
    return View(matrix, evidence)


def score(run: Run) -> Score:
    """Return how a run went, as far as a choice between several needs it."""
    return Score(run.time_to_target, run.test_accuracy or 0.0)


def best_rate(grid: dict[float, dict[int, Run]]) -> float | None:
    """Return the best rate of a grid by its first seeds."""
    return best_of({rate: score(seeds[0]) for rate, seeds in grid.items() if 0 in seeds})
