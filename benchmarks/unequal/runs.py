"""The runs of the comparison: which there are, which is the best trial, one of them in virtual time."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.common.records import Record
from benchmarks.unequal import journals
from benchmarks.unequal.conditions import CONDITIONS, SEEDS, TUNING_SEED
from benchmarks.unequal.entries import Settings, document, entries, trial
from benchmarks.unequal.tasks import TASKS


@dataclass(frozen=True)
class Run:
    """A trial (with the tuning seed) or a result (with another one) of the settings of a trial."""

    task: str
    condition: str
    entry: str
    trial: int
    seed: int

    @property
    def settings(self) -> Settings:
        """Return the batch and the parameters."""
        return trial(self.entry, self.condition, self.trial)

    @property
    def document(self) -> dict[str, Any]:
        """Return its specification."""
        return document(self.task, self.condition, self.entry, self.settings, self.seed)

    def record(self, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is kept of it."""
        return asdict(self) | {"settings": self.settings} | figures


def run_of(record: Record) -> Run:
    """Return the run that a record describes."""
    return Run(*(record[name] for name in ("task", "condition", "entry", "trial", "seed")))


def drawn(record: Record) -> bool:
    """Return whether a record has the settings that its trial has now: not where a space was changed since."""
    return bool(record["settings"] == run_of(record).settings)


Todo = tuple[Run, float | None]
"""A run, and the virtual seconds after which it is ended; None: it is not."""
BEHIND, SHORT = 1.25, 5e-3
"""A trial is ended at so many times the seconds of the best one before it, and so many more: evaluations, which do
not count, take a little virtual time."""


def carried_out(todo: Todo) -> dict[str, Any]:
    """Carry out a run in virtual time; return its record, with the curve of a result."""
    from hooke.catalogue.validation import validate_run
    from hooke.errors import NumericalError
    from hooke.loop.train import run_spec_virtual

    run, limit = todo
    document = run.document
    document["budget"] |= {} if limit is None else {"max_seconds": limit}
    spec = validate_run(document)
    with tempfile.TemporaryDirectory() as folder:
        try:
            run_spec_virtual(spec, Path(folder))
        except NumericalError:
            return run.record(journals.DIVERGED)
        return run.record(journals.figures(Path(folder), spec.workers, curve=run.seed != TUNING_SEED))


def score(record: Record) -> tuple[float, float]:
    """Return what the best trial has least of: seconds to the target; without it, the loss."""
    seconds, loss = record["seconds"], record["loss"]
    return (math.inf if seconds is None else seconds), (math.inf if loss is None else loss)


def _numbers(condition: str) -> range:
    return range(CONDITIONS[condition].trials)


def best(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> int | None:
    """Return the number of the best trial; None as long as one is missing."""
    trials = [Run(task, condition, entry, number, TUNING_SEED) for number in _numbers(condition)]
    if any(each not in records for each in trials):
        return None
    return min(trials, key=lambda each: score(records[each])).trial


def missing(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> list[Run]:
    """Return what is to be run next of a cell: its trials, or the results of the best of them."""
    number = best(records, task, condition, entry)
    if number is None:
        wanted = [Run(task, condition, entry, each, TUNING_SEED) for each in _numbers(condition)]
    else:
        wanted = [Run(task, condition, entry, number, seed) for seed in SEEDS]
    return [each for each in wanted if each not in records]


def cells(tasks: Sequence[str], conditions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (task, condition), those that are run first at the beginning."""
    for task in TASKS:
        yield from (
            (task, each) for each in CONDITIONS if task in tasks and each in conditions and fits(task, each)
        )


def fits(task: str, condition: str) -> bool:
    """Return whether the task is trained in the condition."""
    return task in CONDITIONS[condition].tasks


def following(
    records: Mapping[Run, Record], todo: list[tuple[str, str]], busy: Sequence[Todo], room: int
) -> list[Todo]:
    """Return the next runs in virtual time, at most `room`, without those that are under way.

    Leaves what is complete at the beginning of `todo` out of it.
    """
    while todo and complete(records, *todo[0]):
        del todo[0]
    found: list[Todo] = []
    under_way = {run for run, _ in busy}
    for task, condition in todo:
        for entry in entries(condition):
            new = [each for each in missing(records, task, condition, entry) if each not in under_way]
            found += [(each, _limit(records, each)) for each in new]
            if len(found) >= room:
                return found[:room]
    return found


def _limit(records: Mapping[Run, Record], run: Run) -> float | None:
    """Return when a trial cannot be the best any more; None of a result, and as long as none met the target."""
    before = [
        records[each]["seconds"]
        for number in _numbers(run.condition)
        if (each := replace(run, trial=number)) in records
    ]
    met = [seconds for seconds in before if seconds is not None]
    return BEHIND * min(met) + SHORT if met and run.seed == TUNING_SEED else None


def results(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> list[Record] | None:
    """Return the results of the best trial, by seed; None as long as one is missing."""
    number = best(records, task, condition, entry)
    runs = [] if number is None else [Run(task, condition, entry, number, seed) for seed in SEEDS]
    return [records[each] for each in runs] if runs and all(each in records for each in runs) else None


def complete(records: Mapping[Run, Record], task: str, condition: str) -> bool:
    """Return whether all entries have all runs: only then they are shown side by side."""
    return fits(task, condition) and all(
        results(records, task, condition, entry) is not None for entry in entries(condition)
    )


def median(found: Sequence[Record]) -> float | None:
    """Return the median of the seconds; None if it lies among the seeds that missed the target."""
    seconds = sorted(each["seconds"] for each in found if each["seconds"] is not None)
    middle = len(found) // 2
    return float(seconds[middle]) if middle < len(seconds) else None
