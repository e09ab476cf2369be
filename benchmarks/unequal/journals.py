"""What is kept of a run in either world, from its journals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DIVERGED: dict[str, Any] = {"diverged": True, "seconds": None, "samples": None, "loss": None}
"""The figures of a run that ended with NaN or Inf."""


def figures(folder: Path, workers: int, curve: bool = False, detail: bool = False) -> dict[str, Any]:
    """Return seconds and samples to the target (None: missed), and the work of each worker, by rank.

    `computing`: shares of the worker's time; `updates`: exchanges with the server, or steps where there is none;
    `batches`: of a step of each worker, where they were measured before the run.
    `curve`: also the loss over the clock, [s, loss] of every evaluation, and `curve_samples`, the samples at each.
    `detail`: also `wall`, the seconds to the target with evaluations, `phases`, shares of the time of each worker
    and the server, and the mean `staleness` of each worker's updates, where there is a server.
    """
    from hooke.comparison.journals import read

    ranks = read(folder, workers + (folder / f"journal.{workers}.jsonl").exists())
    evaluations = [each for rank in ranks for each in rank.evaluations]
    met = next((each for each in evaluations if each.reached), None)
    done = [rank.done for rank in ranks[:workers] if rank.done is not None]
    steps = [each.step for each in done]
    found: dict[str, Any] = {
        "diverged": False,
        "seconds": met.clock if met else None,
        "samples": met.samples if met else None,
        "loss": min(each.loss for each in evaluations),
        "clock": evaluations[-1].clock,
        "all_samples": evaluations[-1].samples,
        "steps": steps,
        "computing": [round(each.phases["compute"] / each.clock, 4) if each.clock else 0.0 for each in done],
        "updates": steps if len(ranks) == workers else _exchanges(folder / f"journal.{workers}.jsonl", workers),
    }
    if any(each.batches is not None for each in done):
        found["batches"] = [each.batches for each in done]
    if any(each.slowed_to is not None for each in done):
        found["slowed_to"] = [each.slowed_to for each in done]
    if detail:
        found["wall"] = met.wall if met else None
        every = [rank.done for rank in ranks if rank.done is not None]
        found["phases"] = [_shares(each.phases, each.clock) for each in every]
        if len(ranks) > workers:
            found["staleness"] = _staleness(folder / f"journal.{workers}.jsonl", workers)
    if curve:
        found["curve_samples"] = [each.samples for each in evaluations]
        found["curve"] = [[float(f"{each.clock:.5g}"), float(f"{each.loss:.5g}")] for each in evaluations]
    return found


def _shares(phases: Mapping[str, float], clock: float) -> dict[str, float]:
    """Return the shares of the clock; it stands during evaluations."""
    return {name: round(s / clock, 4) for name, s in phases.items() if s and clock and name != "evaluate"}


def _column(journal: Path, *names: str) -> Iterator[tuple[float, ...]]:
    """Yield these columns of every exchange of a server."""
    from hooke.spec.events import ABSENT, Steps
    from hooke.spec.journal import records, unpack

    for record in records(journal):
        if isinstance(record, Steps):
            has = record.columns
            yield from zip(
                *(unpack(name, has[name]) if name in has else [ABSENT[name]] * record.n for name in names),
                strict=True,
            )


def _staleness(journal: Path, workers: int) -> list[float | None]:
    """Return by how many updates the center was ahead of each worker's, on average; None without an update."""
    found: list[list[float]] = [[] for _ in range(workers)]
    for worker, stale in _column(journal, "worker", "staleness"):
        if not math.isnan(stale):
            found[int(worker)].append(stale)
    return [round(sum(each) / len(each), 3) if each else None for each in found]


def _exchanges(journal: Path, workers: int) -> list[int]:
    """Return the exchanges of each worker with the server but its first one, which brings nothing."""
    counts = Counter(int(worker) for (worker,) in _column(journal, "worker"))
    return [max(0, counts[worker] - 1) for worker in range(workers)]
