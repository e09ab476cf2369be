"""What is kept of a run in either world, from its journals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

DIVERGED: dict[str, Any] = {"diverged": True, "seconds": None, "samples": None, "loss": None}
"""The figures of a run that ended with NaN or Inf."""


def figures(folder: Path, workers: int, curve: bool = False) -> dict[str, Any]:
    """Return seconds and samples to the target (None: missed), and the work of each worker, by rank.

    `computing`: shares of the worker's time; `updates`: exchanges with the server, or steps where there is none.
    `curve`: also the loss over the clock, [s, loss] of every evaluation.
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
    if any(each.slowed_to is not None for each in done):
        found["slowed_to"] = [each.slowed_to for each in done]
    if curve:
        found["curve"] = [[float(f"{each.clock:.5g}"), float(f"{each.loss:.5g}")] for each in evaluations]
    return found


def _exchanges(journal: Path, workers: int) -> list[int]:
    """Return the exchanges of each worker with the server but its first one, which brings nothing."""
    from hooke.spec.events import Steps
    from hooke.spec.journal import records, unpack

    counts: Counter[int] = Counter()
    for record in records(journal):
        if isinstance(record, Steps):
            counts.update(int(each) for each in unpack("worker", record.columns["worker"]))
    return [max(0, counts[worker] - 1) for worker in range(workers)]
