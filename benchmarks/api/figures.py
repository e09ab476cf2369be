"""What a scenario measures: figures with their values, and what a scenario gets to measure with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.api.server import Server, served


@dataclass(frozen=True)
class Figure:
    """One figure: a value for each round."""

    name: str
    unit: str
    values: tuple[float, ...]
    goal: float | None = None
    """What it should be: at most, or with `higher` at least; None: only measured."""
    higher: bool = False
    """Whether more is better."""

    @property
    def median(self) -> float:
        """Return the median of the rounds."""
        return median(self.values)

    def document(self, scenario: str) -> dict[str, Any]:
        """Return it as it is stored."""
        return {
            "scenario": scenario,
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "values": list(self.values),
            "goal": self.goal,
            "higher": self.higher,
        }


def met(figure: dict[str, Any]) -> bool | None:
    """Return whether a stored figure meets its goal; None without one."""
    goal = figure["goal"]
    if goal is None:
        return None
    return bool(figure["median"] >= goal if figure["higher"] else figure["median"] <= goal)


def p95(seconds: list[float]) -> float:
    """Return the 95th percentile of some durations, in ms. At least two are needed."""
    return 1e3 * quantiles(seconds, n=20, method="inclusive")[-1]


@dataclass(frozen=True)
class Bench:
    """What a scenario measures with."""

    database: str | None = None
    """URL of a PostgreSQL server, on which each API gets a database of its own; None: SQLite."""
    scale: float = 1.0
    rounds: int = 3
    mlflow: Path | None = None
    """A Python that can import mlflow."""
    seconds: float | None = None
    """How long the scenarios with streams last; None: as long as they say."""

    def size(self, full: int, least: int = 1) -> int:
        """Return a number of runs, points or requests at this scale."""
        return max(least, round(full * self.scale))

    def server(self) -> AbstractContextManager[Server]:
        """Start an API on a new home folder and a new database; end it with the block."""
        return served(self.database)

    def say(self, text: str) -> None:
        """Tell the user what is being done."""
        print(f"  {text}", file=sys.stderr, flush=True)


Measured = Iterator[Figure]
