"""The same where every point is an evaluation: 100 runs with 10,000 evaluations of 20 metrics each."""

from __future__ import annotations

from benchmarks.api import bodies
from benchmarks.api.figures import Bench, Measured
from benchmarks.api.scenarios.many import fill, looks

TITLE = "Many evaluations"
EVALUATIONS = 10_000
METRICS = ("validation_accuracy", "validation_loss", *bodies.FURTHER)


def measure(bench: Bench) -> Measured:
    """Yield ms of the first look after a start of the API, and of later ones."""
    count = bench.size(100, 2)
    with bench.server() as server:
        runs = fill(server, count, EVALUATIONS, EVALUATIONS)
        name = f"{count} runs x {EVALUATIONS:,} evaluations x {len(METRICS)} metrics"
        yield from looks(bench, server, name, runs, METRICS)
