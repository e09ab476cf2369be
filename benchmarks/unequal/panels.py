"""Which figures a task has, and which conditions each of them shows."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.common.records import Record
from benchmarks.unequal.conditions import of_kind
from benchmarks.unequal.runs import Run, complete

REAL = ("real", "gpu")
"""Kinds of conditions whose seconds are those of a clock on the wall."""
COLUMNS = 2
"""Panels of a figure: more would make it larger than a page of the repository may have."""


def panels(records: Mapping[Run, Record], task: str) -> list[str]:
    """Return the conditions that are complete for a task, without those of many workers."""
    return [name for name in of_kind("cpus", "box", "devices", "real", "gpu") if complete(records, task, name)]


def figures(records: Mapping[Run, Record], task: str) -> dict[str, list[str]]:
    """Return the conditions in each figure of a task, by the figure's name."""
    shown = panels(records, task)
    return {f"loss-{task}-{k // COLUMNS + 1}.svg": shown[k : k + COLUMNS] for k in range(0, len(shown), COLUMNS)}
