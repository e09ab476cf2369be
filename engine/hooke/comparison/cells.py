"""The runs of one variant on one cluster with one number of workers, by seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hooke.comparison.crossing import Crossing
from hooke.comparison.figures import FINISHED, RunFigures


@dataclass(frozen=True)
class Cell:
    """One variant on one cluster with one number of workers: one run per seed."""

    variant: str
    runs: list[RunFigures]

    @property
    def by_seed(self) -> dict[int, RunFigures]:
        """Return one run per seed; duplicate cells of a one-worker method count once."""
        found: dict[int, RunFigures] = {}
        for run in self.runs:
            if run.seed not in found or (run.state in FINISHED and found[run.seed].state not in FINISHED):
                found[run.seed] = run
        return found

    def finished(self, figure: Callable[[RunFigures], float | None]) -> dict[int, float]:
        """Return a figure by seed, for finished runs that have it."""
        values = {seed: figure(run) for seed, run in self.by_seed.items() if run.state in FINISHED}
        return {seed: value for seed, value in values.items() if value is not None}

    @property
    def diverged(self) -> int:
        """Return with how many seeds it ended with NaN or Inf."""
        return sum(run.diverged for run in self.by_seed.values())

    def crossings(self) -> dict[int, Crossing]:
        """Return the time to the target by seed, for the runs that allow a conclusion.

        A diverged run never meets the target; leaving it out would compare only the seeds that a method survived.
        A run that ended with another error, or was ended by a machine or a person, is left out.
        """
        told = {seed: run for seed, run in self.by_seed.items() if run.state in FINISHED or run.diverged}
        found = {seed: _crossing(run) for seed, run in told.items()}
        return {seed: crossing for seed, crossing in found.items() if crossing.observed}


def _crossing(run: RunFigures) -> Crossing:
    if run.time_to_target is None:
        return Crossing(run.clock, None, run.diverged)
    return Crossing(run.target_after or 0.0, run.time_to_target)
