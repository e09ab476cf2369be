"""Raw data of the tuned comparison: one record for each run, as JSON lines beside the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]
COPIED = (
    *("task", "place", "entry", "trial", "rung", "seed", "effort", "parameters", "edges"),
    *("hardware", "commit", "unix", "machine_ms"),
)
RESULT = (
    *("diverged", "time_to_target", "samples_to_target", "validation_accuracy", "test_accuracy", "samples"),
    *("train_seconds", "wall_seconds", "communication_fraction", "wire_bytes"),
)
LATER = ("rule", "torch", "repeats", "unfair", "fewer", "pinned", "others"), ("processor_seconds",)
"""Of a run and its result, where they have been recorded: see `rules.RULE`; PyTorch's version; what it repeats,
why there is no verdict, and whether ranks were pinned to a core each (`rounds.Play`); whether other programs are
known to have used the machine's other cores; of all processes, simulated runs."""


def collect(stored: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Return the records of stored runs, in the order in which they were carried out."""
    return [_record(run) for run in sorted(stored, key=lambda run: run["unix"])]


def _record(run: Mapping[str, Any]) -> Record:
    """`before`: train clock of the last evaluation that missed the target, s; the target was met after it."""
    result = run["result"]
    met = result["time_to_target"]
    clocks = [each["train_seconds"] for each in result["evaluations"]]
    before = max((clock for clock in clocks if met is None or clock < met), default=0.0)
    found = {name: run[name] for name in COPIED} | {name: result[name] for name in RESULT} | {"before": before}
    for names, source in zip(LATER, (run, result), strict=True):
        found |= {name: source[name] for name in names if source.get(name) is not None}
    return found


def write(path: Path, records: Iterable[Record]) -> None:
    """Write records to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def read(path: Path) -> list[Record]:
    """Return the records in a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]
