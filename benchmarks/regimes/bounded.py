"""Trials that end where their clock passes that of the fastest so far: the same one is chosen, for less work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooke.tuning.search import FIRST_TUNING_SEED

from benchmarks.regimes.cells import Cell
from benchmarks.regimes.clocks import Link, clocks
from benchmarks.regimes.conditions import LAB, TASKS
from benchmarks.regimes.learnt import timed
from benchmarks.regimes.networks import weights
from benchmarks.regimes.runs import Todo


def bounded(cell: Cell, todo: Todo) -> Todo:
    """Return a trial with the budget in which it can be faster than all others of its entry so far.

    Unchanged where none has met the target yet, where the clock has no closed form, and what is no trial.
    """
    run, setting, samples, before = todo
    if run.timed or run.seed != FIRST_TUNING_SEED or not timed(cell.method):
        return todo
    best = fastest(cell)
    return todo if best is None else (run, setting, _within(cell, setting, best), before)


def fastest(cell: Cell) -> float | None:
    """Return the least clock of the trials of an entry that have met the target, s; None: none has."""
    runs = (cell.run(trial, FIRST_TUNING_SEED) for trial in range(1, len(cell.settings) + 1))
    met = [record for run in runs if (record := cell.records.get(run)) and record["met"] is not None]
    return min((clock(cell, record["parameters"], record["met"]) for record in met), default=None)


def clock(cell: Cell, setting: Mapping[str, Any], samples: int) -> float:
    """Return the clock of a trial's evaluation after so many samples where settings are proposed, s."""
    document = cell.run(1, FIRST_TUNING_SEED, LAB).document(setting, samples)
    link = Link(document["virtual"]["latency"], document["virtual"]["seconds_per_byte"])
    by, _ = clocks(document, weights(TASKS[cell.task].workload), [link], [{}])
    return float(by[0, 0])


def _within(cell: Cell, setting: Mapping[str, Any], seconds: float) -> int:
    """Return the samples of a trial's last evaluation within so many seconds; at least those of its first."""
    every, samples = TASKS[cell.task].every, TASKS[cell.task].samples
    low, high = 1, samples // every
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if clock(cell, setting, middle * every) <= seconds else (low, middle - 1)
    return low * every
