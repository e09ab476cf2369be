"""The page docs/results/heterogeneous.md."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.unequal.conditions import (
    BASELINE,
    CONDITIONS,
    ENTRIES,
    SEEDS,
    TASKS,
    TRIALS,
)
from benchmarks.unequal.runs import Record, Run, best, results

HEAD = f"""\
# Unequal workers: simulated

<!-- written by `python -m benchmarks.unequal publish` -->

**Everything on this page is simulated.** Gradients, messages and updates are computed by the code of the methods;
seconds are those of a virtual clock. A gradient takes 20 us per sample and 50 us, over the worker's speed, with 5%
jitter; a message 10 us and 0.8 ns per byte. The boxes have the device profiles of `hooke.spec.devices`, whose
constants are assumptions, not measurements. Nothing here says how fast a real machine is.

Every entry has {TRIALS} trials in every condition: the learning rate from 0.01 to 1, the batch of a worker from
16, 32 and 64, and the entry's own settings (`benchmarks/unequal/conditions.py`), drawn at random, the same in
every condition. The trial that meets the target first is run again with {len(SEEDS)} seeds that no trial had.
Targets are those of the validation part. Data are handed out, every example once per epoch. No entry has momentum
in its local steps; Adaptive SGD may have momentum of the merged model.

Seconds are medians over the seeds, with the least and the largest; *missed*: seeds that did not meet the target in
the budget, which count as longer than all others. *over Sync SGD*: the ratio of the medians, above 1 faster.
{TRIALS} trials are few: another draw may find a better setting for any entry, and a difference below a third is
not to be read as one. Conditions in which an entry is incomplete are left out; `benchmarks.unequal run` goes on.
Where mega_batch is P times the largest batch, Adaptive SGD gives each of P workers one batch between two merges,
so that it is synchronous.
"""


def page(records: Mapping[Run, Record]) -> str:
    """Return the page."""
    parts = [HEAD, *summary(records)]
    for task, what in TASKS.items():
        cells = [section(records, task, condition) for condition in CONDITIONS]
        if found := [each for each in cells if each]:
            target = f"{'loss' if what.metric.endswith('loss') else 'accuracy'} {what.value:g}"
            parts += [f"## {what.title}, to {target}\n", f"Budget {what.samples:,} samples.\n", *found]
    return "\n".join(parts)


def complete(records: Mapping[Run, Record], task: str, condition: str) -> bool:
    """Return whether all entries have all runs: only then they are shown side by side."""
    return all(results(records, task, condition, entry) for entry in ENTRIES)


def shown(records: Mapping[Run, Record]) -> list[str]:
    """Return the conditions that are complete for a task."""
    return [each for each in CONDITIONS if any(complete(records, task, each) for task in TASKS)]


def median(found: Sequence[Record]) -> float | None:
    """Return the median of the seconds; None if it lies among the seeds that missed the target."""
    seconds = sorted(each["seconds"] for each in found if each["seconds"] is not None)
    middle = len(found) // 2
    return seconds[middle] if middle < len(seconds) else None


def summary(records: Mapping[Run, Record]) -> list[str]:
    """Return a table of the ratios to the baseline: entries by conditions, geometric mean over the tasks."""
    lines = [
        "## Summary\n",
        f"Ratio of {BASELINE}'s seconds to those of the entry, geometric mean over the tasks that both have "
        "(number of tasks, where it is not all). *-*: the median missed the target.\n",
        "| entry | " + " | ".join(CONDITIONS[each].title for each in shown(records)) + " |",
        "|---|" + "---|" * len(shown(records)),
    ]
    for entry in ENTRIES:
        row = [_mean_ratio(records, condition, entry) for condition in shown(records)]
        lines.append(f"| {entry} | " + " | ".join(row) + " |")
    return ["\n".join(lines) + "\n"]


def _mean_ratio(records: Mapping[Run, Record], condition: str, entry: str) -> str:
    ratios, counted = [], 0
    for task in TASKS:
        mine, other = (results(records, task, condition, each) for each in (entry, BASELINE))
        if mine is None or other is None or not complete(records, task, condition):
            continue
        counted += 1
        here, there = median(mine), median(other)
        if here and there:
            ratios.append(there / here)
    if not ratios:
        return "-" if counted else ""
    return f"{statistics.geometric_mean(ratios):.2f}" + (
        f" ({len(ratios)} of {counted})" if len(ratios) < counted else ""
    )


def section(records: Mapping[Run, Record], task: str, condition: str) -> str:
    """Return the table of a cell, or nothing as long as an entry is incomplete."""
    if not complete(records, task, condition):
        return ""
    base = results(records, task, condition, BASELINE)
    rows = []
    for entry in ENTRIES:
        found = results(records, task, condition, entry)
        number = best(records, task, condition, entry)
        if found is not None and number is not None:
            rows.append(_row(entry, Run(task, condition, entry, number, SEEDS[0]), found, base))
    head = [
        f"### {CONDITIONS[condition].title}\n",
        "| entry | chosen setting | seconds (least to largest) | missed | over Sync SGD | thousand samples "
        "| computing, by worker | share of the work, by worker |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def _row(entry: str, run: Run, found: Sequence[Record], base: Sequence[Record] | None) -> str:
    seconds = [each["seconds"] for each in found if each["seconds"] is not None]
    missed = len(found) - len(seconds)
    middle, other = median(found), median(base) if base else None
    shown = f"{middle:.3g}" if middle else "-"
    spread = f"{shown} ({min(seconds):.3g} to {max(seconds):.3g})" if seconds else shown
    ratio = f"{other / middle:.2f}" if middle and other else "-"
    samples = [each["samples"] for each in found if each["samples"] is not None]
    setting = ", ".join(f"{name} {_short(value)}" for name, value in run.settings.items())
    worked = [each for each in found if not each["diverged"]]
    cells = [
        entry, setting, spread, str(missed or ""), ratio,
        f"{statistics.median(samples) / 1000:.1f}" if samples else "-",
        _per_worker([each["computing"] for each in worked]),
        _per_worker([_shares(entry, each) for each in worked]),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def _shares(entry: str, record: Record) -> list[float]:
    """Return each worker's share of the batches: where a step has unequal parts, by their sizes."""
    parts = record["settings"]["sizes"] if ENTRIES[entry].algorithm == "weighted-sync-sgd" else None
    taken = [n * (parts[i] if parts else 1) for i, n in enumerate(record["steps"])]
    return [n / max(1, sum(taken)) for n in taken]


def _per_worker(rows: Sequence[Sequence[float]]) -> str:
    return ", ".join(f"{100 * statistics.mean(column):.0f}%" for column in zip(*rows, strict=True)) or "-"


def _short(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
