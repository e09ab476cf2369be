"""Which figures a task has, and which conditions each of them shows."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.common.records import Record
from benchmarks.unequal.conditions import of_kind
from benchmarks.unequal.runs import Run, complete
from benchmarks.unequal.tasks import ITEMS

REAL = ("real", "gpu")
"""Kinds of conditions whose seconds are those of a clock on the wall."""
COLUMNS = 2
"""Panels of a figure: more would make it larger than a page of the repository may have."""
SURVIVED, CHANGED = "survival.svg", "changing.svg"
"""The figures of the methods over Sync SGD, by cluster: speeds that spread, and that change during a run."""


def panels(records: Mapping[Run, Record], task: str) -> list[str]:
    """Return the conditions that are complete for a task, without those of many workers."""
    return [name for name in of_kind("cpus", "box", "devices", "real", "gpu") if complete(records, task, name)]


def over_epochs(records: Mapping[Run, Record], task: str) -> dict[str, list[str]]:
    """Return the figure of the loss over epochs, and its conditions: boxes first, as in the paper."""
    kinds = ("box", "gpu", "real", "devices", "cpus")
    shown = [name for kind in kinds for name in of_kind(kind) if complete(records, task, name)]  # type: ignore[arg-type]
    return {f"epochs-{task}.svg": shown[:COLUMNS]} if shown and task in ITEMS else {}


def epochs(record: Record, task: str, every: int) -> list[float]:
    """Return the epochs at the evaluations of a result's curve.

    `every`: samples from one evaluation to the next, of records that do not have their samples: an evaluation may
    be later than that by an update.
    """
    samples = record.get("curve_samples") or [k * every for k in range(len(record["curve"]))]
    return [each / ITEMS[task] for each in samples]


def figures(records: Mapping[Run, Record], task: str) -> dict[str, list[str]]:
    """Return the conditions in each figure of a task, by the figure's name."""
    shown = panels(records, task)
    return {f"loss-{task}-{k // COLUMNS + 1}.svg": shown[k : k + COLUMNS] for k in range(0, len(shown), COLUMNS)}


def survival(records: Mapping[Run, Record]) -> list[list[str]]:
    """Return the clusters in the figure of survival, by the spread of their speeds; none without those of many."""
    rows = [[at for at in of_kind(kind) if complete(records, "digits", at)] for kind in ("spread", "cpus")]
    return [row for row in rows if row] if rows[0] else []


def changing(records: Mapping[Run, Record]) -> list[list[str]]:
    """Return the clusters in the figure of changes, that with one slow worker first; none without changes."""
    found = [at for at in of_kind("changing") if complete(records, "digits", at)]
    still = [at for at in ("one-slow",) if complete(records, "digits", at)]
    return [still + found] if found else []
