"""A few runs on a real device and the CPU beside it, with fixed settings and one seed: what each worker does.

They are not tuned: their seconds compare no methods. `python -m benchmarks.unequal few` takes less than a minute.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.records import Record
from benchmarks.evidence.wording import table
from benchmarks.unequal import real
from benchmarks.unequal.entries import ADAPTIVE, FASTEST, SLOWEST, STATIC, Settings, document
from benchmarks.unequal.runs import Run
from benchmarks.unequal.tasks import TASKS

TASK, SEED = "w8a-deep", 1
SIZES = {"batch": 192, "lr": 0.06, "largest": 8, "sizes": [8, 1]}
"""192 are 16 items for each of 12 threads."""
PROCESS = f"{ADAPTIVE}, the CPU one process"
FIXED: dict[str, tuple[str, Settings]] = {
    FASTEST: (FASTEST, {"batch": 256, "lr": 0.4}),
    ADAPTIVE: (ADAPTIVE, SIZES | {"smallest_of": [2, 1]}),
    PROCESS: (ADAPTIVE, SIZES | {"smallest_of": [2, 1]}),
    STATIC: (STATIC, SIZES | {"alpha": 1.0}),
    SLOWEST: (SLOWEST, {"batch": 192, "lr": 0.4}),
    "Heterogeneous EASGD": ("Heterogeneous EASGD", {"batch": 256, "lr": 0.4, "beta": 0.5, "period": 4}),
}
"""Entry, settings; those that say most first."""
HEADER = (
    "entry", "settings", "seconds to the target", "thousand samples per second", "gradients, by worker",
    "waits for the server", "steps", "updates", "staleness",
)  # fmt: skip


@dataclass(frozen=True)
class Few(Run):
    """One of these runs."""

    @property
    def settings(self) -> Settings:
        """Return the fixed settings."""
        return FIXED[self.entry][1]

    @property
    def document(self) -> dict[str, Any]:
        """Return its specification."""
        made = document(self.task, self.condition, FIXED[self.entry][0], self.settings, self.seed)
        if self.entry == PROCESS:
            device, cpu = made["groups"]
            made["groups"] = [device, {"kind": "cpu", "threads": cpu["threads"]}]
        return made


def run(keep: Callable[[dict[str, Any]], None], minutes: float) -> None:
    """Carry them out under one mpirun."""
    runs = [Few(TASK, "gpu", entry, 0, SEED) for entry in FIXED]
    with tempfile.TemporaryDirectory() as folder:
        until = time.monotonic() + 60 * minutes
        real.together(runs, Path(folder), until, lambda each, figures: keep(each.record(figures)))


def read(path: Path) -> list[dict[str, Any]]:
    """Return records in a file; none without one."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def section(records: Sequence[Record]) -> Iterator[str]:
    """Yield the part of the page; nothing without records."""
    if not records:
        return
    yield from ("### What each worker does", "")
    yield f"{TASKS[TASK].title}, fixed settings, one seed, to {TASKS[TASK].target}."
    yield "Not tuned: seconds compare no methods. Worker 0 is the device, worker 1 the CPU."
    yield f"{records[0]['machine']}, PyTorch {records[0]['torch']}."
    yield ""
    yield from table(HEADER, [_row(each) for each in records])
    yield ""


def _row(record: Record) -> tuple[str, ...]:
    settings = ", ".join(f"{name} {_told(value)}" for name, value in record["settings"].items())
    if record["diverged"]:
        return (record["entry"], settings, "diverged", *[""] * (len(HEADER) - 3))
    workers = range(len(record["steps"]))
    seconds, phases = record["seconds"], record["phases"]
    rate = record["all_samples"] / record["clock"] / 1000 if record["clock"] else 0.0
    return (
        record["entry"],
        settings,
        f"{seconds:.3g}" if seconds else f"- ({record['loss']:.3f} after {record['clock']:.2f})",
        f"{rate:.1f}",
        ", ".join(f"{phases[i].get('compute', 0.0):.0%}" for i in workers),
        ", ".join(f"{_waits(phases[i]):.0%}" for i in workers),
        _told(record["steps"]),
        _told(record["updates"]),
        ", ".join("-" if each is None else f"{each:.1f}" for each in record.get("staleness", ())),
    )


def _waits(phases: Mapping[str, float]) -> float:
    return phases.get("communicate", 0.0) + phases.get("idle", 0.0)


def _told(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
