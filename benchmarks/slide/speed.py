"""Speed and memory of whole runs at the size of Amazon-670K: `hooke run`, with rebuilds of the hash tables.

A run builds its tables by its own schedule. Its rate is that of all steps after the first ones, which compile
kernels and touch memory for the first time, with the builds among them. Its memory is the largest resident set of
a process of the run, at any time. One run per cell: rates need an idle machine, memory does not.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.comparison.journals import evaluations
from hooke.spec.events import Steps
from hooke.spec.journal import records, unpack

from benchmarks import speed
from benchmarks.evidence import machine
from benchmarks.evidence.store import commit, over, write
from benchmarks.slide.conditions import BATCH, DWTA, FULL
from benchmarks.slide.region import MAPPED, WIDTH
from benchmarks.slide.running import busy, command

LABELS, FEATURES = 670_091, 135_909
"""Of Amazon-670K, which the paper used."""
ITEMS = 16_384
"""Different training items of the planted problem; a run goes over them again."""
ITEM = "slide, per item"
HALF = "slide, per item, half retrieved"
LAYERS: dict[str, dict[str, Any]] = {
    **{name: MAPPED[name] for name in (ITEM, DWTA, "slide", "sampled, uniform", "random-active", FULL)},
    HALF: {**MAPPED[ITEM], "uniform_share": 0.5},
}
"""As in the map of rates; and half of an item's set from the tables."""
SKIPPED = 100
"""Steps at the beginning that do not count."""
STEPS = {FULL: SKIPPED // 10 + 12}
USUAL = 1100
LOOK = 0.2
"""Seconds between two looks at the memory of processes."""


@dataclass(frozen=True)
class Cell:
    """One run."""

    layer: str
    optimizer: str
    weights: str = "fp32"

    @property
    def name(self) -> str:
        """Return a name for files."""
        return f"{self.layer.replace(', ', '-').replace(' ', '-')}-{self.optimizer}-{self.weights}"

    @property
    def skipped(self) -> int:
        """Return how many steps at the beginning do not count."""
        return SKIPPED // 10 if self.layer == FULL else SKIPPED

    @property
    def steps(self) -> int:
        """Return its steps."""
        return STEPS.get(self.layer, USUAL)


CELLS = (
    *(Cell(layer, optimizer) for layer in (ITEM, DWTA) for optimizer in ("sgd", "row-adam")),
    Cell(FULL, "sgd"),
    Cell("sampled, uniform", "sgd"),
    Cell(HALF, "sgd"),
    *(Cell(layer, "row-adagrad") for layer in (ITEM, DWTA)),
    *(Cell(layer, optimizer, "bf16") for layer in (DWTA, ITEM) for optimizer in ("sgd", "row-adam")),
    Cell(HALF, "row-adam"),
    Cell("slide", "sgd"),
    Cell("random-active", "sgd"),
)
"""The most important first."""


def document(cell: Cell, threads: int, labels: int = LABELS, steps: int | None = None) -> dict[str, Any]:
    """Return the run of a cell."""
    samples = BATCH * (steps or cell.steps)
    size = {"labels": labels, "features": max(FEATURES * labels // LABELS, 2000), "items": ITEMS, "hidden": WIDTH}
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "xmlc-mlp", "parameters": {**size, "validation_items": 32, "test_items": 32}},
        "workload_settings": {**LAYERS[cell.layer], "weights": cell.weights},
        "algorithm": {
            "name": "sgd",
            "parameters": {"optimizer": cell.optimizer, "lr": 0.001 if "adam" in cell.optimizer else 0.1},
        },
        "batch": BATCH,
        "workers": 1,
        "budget": {"samples": samples},
        "evaluation": {"every": samples},
        "compute": {"threads": threads},
        "checkpoint": "never",
    }


def run(folder: Path, threads: int, minutes: float, again: bool = False) -> int:
    """Carry out the cells without a result, or all again, until `minutes` are over; return their number.

    Kernels are compiled beforehand, by short runs of a small problem.
    """
    until, done = time.monotonic() + 60 * minutes, 0
    known = set() if again else {cell_of(record) for record in stored(folder)}
    missing = [cell for cell in CELLS if cell not in known]
    warm(folder, threads, missing)
    for cell in missing:
        if time.monotonic() > until:
            break
        before = {"machine_ms": speed.probe(), "busy": busy()}
        found = {**vars(cell), "labels": LABELS, "batch": BATCH, "threads": threads, **before, "commit": commit()}
        found |= {"hardware": machine.hardware(), **measured(folder, cell, document(cell, threads))}
        write(folder / "speed" / f"{cell.name}.json", found)
        print(told(found), flush=True)
        done += 1
    return done


def warm(folder: Path, threads: int, cells: list[Cell]) -> None:
    """Compile the kernels of these cells into numba's cache."""
    for layer, weights in dict.fromkeys((cell.layer, cell.weights) for cell in cells):
        if layer.startswith("slide") and layer != HALF:
            small = document(Cell(layer, "sgd", weights), threads, 5000, 20)
            command(small, folder / "journals" / f"warm-{time.time_ns()}")


def measured(folder: Path, cell: Cell, ran: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out a run; return its rate and memory, or why there is none."""
    journals = folder / "journals" / f"{cell.name}-{time.time_ns()}"
    with Memory() as memory:
        result = command(ran, journals, keep=True)
    found: dict[str, Any] = {"state": result["state"], "why": str(result.get("why"))[-300:]}
    if over(result) and not result.get("diverged"):
        found |= {"memory_bytes": memory.most, **rates(journals, cell.skipped, ran["batch"])}
    shutil.rmtree(journals, ignore_errors=True)
    return found


def rates(journals: Path, skipped: int, batch: int) -> dict[str, Any]:
    """Return the samples per second of a run's steps after the first ones, and what its tables did."""
    clocks = [
        value
        for record in records(journals / "journal.0.jsonl")
        if isinstance(record, Steps)
        for value in unpack("clock", record.columns["clock"])
    ]
    counted = len(clocks) - skipped
    further = evaluations(journals, 1)[-1].further
    names = ("active_labels", "table_builds", "table_seconds")
    return {
        "steps": counted,
        "samples_per_second": round(batch * counted / (clocks[-1] - clocks[skipped - 1]), 1),
        **{name: further[name] for name in names if name in further},
    }


class Memory:
    """The largest resident set of any process below this one, while this is entered (Linux)."""

    def __init__(self) -> None:
        self.most = 0
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Memory:
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looking.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            self.most = max([self.most, *(largest(process) for process in below(os.getpid()))])


def below(process: int) -> Iterator[int]:
    """Yield the processes that this one has begun, and those that these have."""
    of: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            of.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
        except OSError:  # it has ended
            continue
    waiting = of.get(process, [])
    while waiting:
        yield (child := waiting.pop())
        waiting += of.get(child, [])


def largest(process: int) -> int:
    """Return the bytes of a process's largest resident set so far; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return the results that have a rate."""
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("speed/*.json"))]
    return [record for record in found if "samples_per_second" in record]


def cell_of(record: Mapping[str, Any]) -> Cell:
    """Return the cell of a result."""
    return Cell(record["layer"], record["optimizer"], record["weights"])


def told(found: Mapping[str, Any]) -> str:
    """Return a result in a line."""
    name = cell_of(found).name
    if "samples_per_second" not in found:
        return f"{name}: {found['state']}: {found['why']}"
    return f"{name}: {found['samples_per_second']:,.0f} samples/s, {found['memory_bytes'] / 1e6:,.0f} MB"
