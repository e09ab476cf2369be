"""The runs of a matrix by place and method, for its pages, without runs that are not in the matrix."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from benchmarks.evidence.cells import cell_of, pace_cell, searched
from benchmarks.evidence.conditions import PLACES, TUNING_SEED
from benchmarks.evidence.matrix import Matrix, without_bf16, without_root
from benchmarks.evidence.methods import METHODS
from benchmarks.evidence.paces import PACES
from benchmarks.evidence.precision import used
from benchmarks.evidence.records import Evidence, Run
from benchmarks.evidence.search import LADDER, Search
from benchmarks.netlab.starting import oversubscription

STAR = "(*)"
"""Marks a method with more ranks than cores at a place where other methods had not."""


class View:
    """The results of a matrix so far."""

    def __init__(self, matrix: Matrix, evidence: Evidence) -> None:
        self.matrix, self.evidence = matrix, evidence
        self._searches: dict[tuple[str, str], Search] = {}

    def search(self, place: str, label: str) -> Search:
        """Return the state of the search for a method's rate."""
        if (place, label) not in self._searches:
            self._searches[place, label] = searched(self.matrix, place, label, self.evidence.trials)
        return self._searches[place, label]

    @cached_property
    def _tuning(self) -> dict[tuple[str, str], dict[int, Run]]:
        found: dict[tuple[str, str], dict[int, Run]] = {}
        for place in self.matrix.places:
            for label in self.matrix.at(place):
                if not METHODS[label].tuned_as:
                    keys = {k: self._key(place, label, k, TUNING_SEED) for k in LADDER}
                    runs = self.evidence.runs
                    found[place, label] = {k: runs[key] for k, key in keys.items() if key in runs}
        return found

    def tuning(self, place: str, label: str) -> dict[int, Run]:
        """Return the runs of a method's search with the tuning seed, by k; none of them is in a result."""
        return self._tuning.get((place, METHODS[label].tuned_as or label), {})

    @cached_property
    def _reported(self) -> dict[tuple[str, str], dict[int, Run]]:
        found: dict[tuple[str, str], dict[int, Run]] = {}
        for place in self.matrix.places:
            for label in self.matrix.at(place):
                best = self.search(place, label).best
                for seed in self.matrix.seeds(place, label) if best is not None else ():
                    if run := self.evidence.runs.get(self._key(place, label, best, seed)):
                        found.setdefault((place, label), {})[seed] = run
        return found

    def reported(self, place: str, label: str) -> dict[int, Run]:
        """Return the reported runs of a method at its best rate by seed; none if it has not been run."""
        return self._reported.get((place, label), {})

    def _key(self, place: str, label: str, k: int, seed: int) -> str:
        return cell_of(self.matrix, place, label, k, seed).key

    @cached_property
    def _paces(self) -> dict[tuple[str, str], dict[int, Run]]:
        found: dict[tuple[str, str], dict[int, Run]] = {}
        for label in self.matrix.paces:
            for place in PACES[label].places:
                for repeat in self.matrix.repeats(place, label):
                    cell = pace_cell(self.matrix, place, label, repeat)
                    if run := self.evidence.runs.get(cell.key):
                        found.setdefault((place, label), {})[repeat] = run
        return found

    def repeats(self, place: str, label: str) -> dict[int, Run]:
        """Return the runs of a pace at a place by repeat."""
        return self._paces.get((place, label), {})

    @property
    def runs(self) -> list[Run]:
        """Return all runs of the matrix."""
        groups = (*self._tuning.values(), *self._reported.values(), *self._paces.values())
        return [run for group in groups for run in group.values()]

    def cores(self, runs: Iterable[Run]) -> int | None:
        """Return the least number of cores of these runs, each for all its hosts."""
        sessions = {run.session for run in runs} & self.evidence.sessions.keys()
        return min((int(self.evidence.sessions[name]["hardware"]["cores"]) for name in sessions), default=None)

    def crowded(self, place: str, label: str) -> bool:
        """Return whether a method had more ranks than cores at a place where other methods had not."""
        runs = self.reported(place, label).values()
        return any(run.oversubscribed == "yes" for run in runs) and not self.note(place).startswith("over")

    def marked(self, place: str, label: str) -> str:
        """Return a method's label, with a star if it alone was oversubscribed."""
        return f"{label} {STAR}" if self.crowded(place, label) else label

    def note(self, place: str) -> str:
        """Return the note for the figures of a place: simulated, or whether each rank had a core."""
        if PLACES[place].world == "virtual":
            return "simulated"
        cores, hosts = self.cores(run for run in self.runs if run.place == place), PLACES[place].hosts
        if cores is None or hosts == 1:
            return ""
        if PLACES[place].world == "here":
            return (
                f"oversubscribed: {PLACES[place].hosts} ranks on {cores} cores"
                if PLACES[place].hosts > cores
                else ""
            )
        return oversubscription(PLACES[place].hosts, cores)


def view_of(matrix: Matrix, evidence: Evidence) -> View:
    """Return the view of a machine's results; its matrix is smaller without emulated hosts, or in fp32."""
    worlds = {PLACES[run.place].world for run in evidence.runs.values() if run.kind != "pace"}
    if "virtual" in worlds and "lab" not in worlds:
        matrix = without_root(matrix)
    if used(evidence.sessions.values()) == "fp32":
        matrix = without_bf16(matrix)
    return View(matrix, evidence)
