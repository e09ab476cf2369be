"""One run in virtual time, and what is kept of it; records as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.unequal.conditions import SEEDS, TRIALS, TUNING_SEED, Settings, document, trial

Record = Mapping[str, Any]


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


def carried_out(run: Run) -> dict[str, Any]:
    """Carry out a run; return its record: seconds and samples to the target (None: missed), work of each."""
    from hooke.catalogue.validation import validate_run
    from hooke.errors import NumericalError
    from hooke.loop.train import run_spec_virtual

    spec = validate_run(document(run.task, run.condition, run.entry, run.settings, run.seed))
    known = asdict(run) | {"settings": run.settings}
    try:
        outcomes = run_spec_virtual(spec)
    except NumericalError:
        return known | {"diverged": True, "seconds": None, "samples": None, "loss": None}
    evaluations = next(each.evaluations for each in reversed(outcomes) if each.evaluations)
    met = next((each for each in evaluations if each.reached), None)
    workers = [each.done for each in outcomes[: spec.workers]]
    return known | {
        "diverged": False,
        "seconds": met.clock if met else None,
        "samples": met.samples if met else None,
        "loss": min(each.loss for each in evaluations),
        "steps": [each.step for each in workers],
        "computing": [each.phases["compute"] / each.clock if each.clock else 0.0 for each in workers],
    }


def score(record: Record) -> tuple[float, float]:
    """Return what the best trial has least of: seconds to the target; without it, the loss."""
    seconds, loss = record["seconds"], record["loss"]
    return (math.inf if seconds is None else seconds), (math.inf if loss is None else loss)


def best(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> int | None:
    """Return the number of the best trial; None as long as one is missing."""
    trials = [Run(task, condition, entry, number, TUNING_SEED) for number in range(TRIALS)]
    if any(each not in records for each in trials):
        return None
    return min(trials, key=lambda each: score(records[each])).trial


def missing(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> list[Run]:
    """Return what is to be run next of a cell: its trials, or the results of the best of them."""
    number = best(records, task, condition, entry)
    if number is None:
        wanted = [Run(task, condition, entry, each, TUNING_SEED) for each in range(TRIALS)]
    else:
        wanted = [Run(task, condition, entry, number, seed) for seed in SEEDS]
    return [each for each in wanted if each not in records]


def results(records: Mapping[Run, Record], task: str, condition: str, entry: str) -> list[Record] | None:
    """Return the results of the best trial, by seed; None as long as one is missing."""
    number = best(records, task, condition, entry)
    runs = [] if number is None else [Run(task, condition, entry, number, seed) for seed in SEEDS]
    return [records[each] for each in runs] if runs and all(each in records for each in runs) else None


def read(path: Path) -> dict[Run, Record]:
    """Return the records in a file by run; none without the file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {_run_of(record): record for record in map(json.loads, lines)}


def _run_of(record: Record) -> Run:
    return Run(*(record[name] for name in ("task", "condition", "entry", "trial", "seed")))


def add(path: Path, record: Record) -> None:
    """Append a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def write(path: Path, records: Iterable[Record]) -> None:
    """Write records to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
