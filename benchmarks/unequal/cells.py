"""The page docs/results/heterogeneous-cells.md: how every entry did in every cell, a task in a condition."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import claims
from benchmarks.unequal.conditions import CONDITIONS, SEEDS, of_kind
from benchmarks.unequal.entries import ENTRIES, SIMULATED, SYNC, entries
from benchmarks.unequal.panels import figures, over_epochs
from benchmarks.unequal.runs import Run, best, complete, median, results
from benchmarks.unequal.tasks import TASKS

TITLE = """\
# Unequal workers, cell by cell

<!-- written by `python -m benchmarks.unequal publish` -->

Every entry of the [comparison on unequal workers](heterogeneous.md) in every cell, a task in a condition: the
setting that was chosen, the seconds to the target, and how the work was shared. What was found, how it was
measured and what the columns mean is told [there](heterogeneous.md#how-it-was-measured).
"""


def page(records: Mapping[Run, Record]) -> str:
    """Return the page."""
    lines = [TITLE]
    for task in TASKS:
        lines += _task(records, task)
    return "\n".join(lines).rstrip() + "\n"


def _task(records: Mapping[Run, Record], task: str) -> Iterator[str]:
    shown = [each for each in of_kind(*SIMULATED, "real") if complete(records, task, each)]
    if not shown:
        return
    what, real = TASKS[task], CONDITIONS[shown[0]].kind == "real"
    yield from (f"## {what.title}, to {what.target}{'' if real else ' (simulated)'}", "")
    yield from (f"Budget {what.samples:,} samples, evaluated every {what.every:,}.", "")
    for name in figures(records, task):
        yield from (f"![Loss against time, seed {SEEDS[0]}](heterogeneous/{name})", "")
    for name in over_epochs(records, task):
        yield from (f"![Loss against epochs, seed {SEEDS[0]}](heterogeneous/{name})", "")
    for condition in shown:
        yield from section(records, task, condition)


def section(records: Mapping[Run, Record], task: str, condition: str) -> Iterator[str]:
    """Yield the table of a cell."""
    header = (
        "entry", "chosen setting", "seconds (least to largest)", "missed", "over Sync SGD", "thousand samples",
        "computing, by worker", "share of the samples", "share of the updates",
    )  # fmt: skip
    said, noisy = claims.over(records, (task, condition), SYNC), claims.noise(records)
    ratios = {name: claims.marked(each, noisy) for name, each in said.items()}
    rows = [_row(records, task, condition, entry, ratios.get(entry, "")) for entry in entries(condition)]
    yield from (f"### {CONDITIONS[condition].title}", "", *table(header, rows), "")


def _row(records: Mapping[Run, Record], task: str, condition: str, entry: str, ratio: str) -> tuple[str, ...]:
    found, number = results(records, task, condition, entry) or [], best(records, task, condition, entry)
    settings = Run(task, condition, entry, number or 0, SEEDS[0]).settings
    seconds = [each["seconds"] for each in found if each["seconds"] is not None]
    middle, missed = median(found), len(found) - len(seconds)
    shown = f"{middle:.3g}" if middle else "-"
    samples = [each["samples"] for each in found if each["samples"] is not None]
    worked = [each for each in found if not each["diverged"]]
    return (
        entry,
        ", ".join(f"{name} {_short(value)}" for name, value in settings.items()),
        f"{shown} ({min(seconds):.3g} to {max(seconds):.3g})" if seconds else shown,
        str(missed or ""),
        ratio,
        f"{statistics.median(samples) / 1000:.1f}" if samples else "-",
        _per_worker([each["computing"] for each in worked]),
        _per_worker([_shares(each, "steps", entry) for each in worked]),
        _per_worker([_shares(each, "updates") for each in worked]),
    )


def _shares(record: Record, name: str, entry: str = "") -> list[float]:
    """Return each worker's share of the batches, or of the updates; a split step's batches are its sizes."""
    parts = record["settings"]["sizes"] if entry and ENTRIES[entry].algorithm == "weighted-sync-sgd" else None
    taken = [n * (parts[i] if parts else 1) for i, n in enumerate(record[name])]
    return [n / max(1, sum(taken)) for n in taken]


def _per_worker(rows: Sequence[Sequence[float]]) -> str:
    """Return the means over the runs, by worker; of more than two workers the least and the largest."""
    means = [statistics.mean(column) for column in zip(*rows, strict=True)]
    if not means:
        return "-"
    if len(means) > 2:
        return f"{min(means):.0%} to {max(means):.0%}"
    return ", ".join(f"{each:.0%}" for each in means)


def _short(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
