"""Runs the cells of a table by the product's own command line, and keeps what each of them printed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.catalogue.algorithm import algorithm
from hooke.catalogue.validation import validate_run
from hooke.spec.specification import fingerprint

from benchmarks import speed
from benchmarks.methods import conditions
from benchmarks.methods.conditions import Place


@dataclass(frozen=True)
class Cell:
    """One run of a table."""

    label: str
    workers: int
    seed: int
    document: dict[str, Any]

    @property
    def key(self) -> str:
        """Return the fingerprint of the resolved run: a result belongs to exactly one."""
        return fingerprint(validate_run(self.document))[:16]


def cells(place: Place, seeds: int, only: list[str]) -> list[Cell]:
    """Return every cell of a table, numbers of workers outermost."""
    found = []
    for workers, samples in place.samples.items():
        for seed in range(seeds):
            for label, (name, parameters) in conditions.methods(workers).items():
                if only and name not in only:
                    continue
                count = min(workers, algorithm(name).max_workers or workers)
                found.append(Cell(label, workers, seed, _document(place, name, parameters, count, samples, seed)))
    return found


def _document(
    place: Place, name: str, parameters: dict[str, Any], workers: int, samples: int, seed: int
) -> dict[str, Any]:
    return {
        "schema": "hooke.run/1",
        "workload": {"name": "mnist-lenet"},
        "algorithm": {"name": name, "parameters": parameters},
        "batch": conditions.BATCH,
        "workers": workers,
        "seed": seed,
        "world": place.world,
        "virtual": conditions.NETWORK if place.world == "virtual" else None,
        "budget": {"samples": samples},
        "target": {"metric": "validation_accuracy", "value": conditions.TARGET},
        "evaluation": {"every": conditions.EVERY},
        "compute": place.compute,
    }


def run_all(todo: list[Cell], folder: Path, jobs: int) -> list[tuple[Cell, dict[str, Any]]]:
    """Return every cell with its result; those that `folder` holds already are read, not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        return list(zip(todo, pool.map(lambda cell: _run(cell, folder), todo), strict=True))


def run_so_far(todo: list[Cell], folder: Path) -> list[tuple[Cell, dict[str, Any]]]:
    """Return the cells that `folder` holds, with their results."""
    return [(cell, _run(cell, folder)) for cell in todo if (folder / f"{cell.key}.json").exists()]


def _run(cell: Cell, folder: Path) -> dict[str, Any]:
    kept = folder / f"{cell.key}.json"
    if not kept.exists():
        shutil.rmtree(folder / cell.key, ignore_errors=True)  # of a run that was interrupted
        spec = folder / f"{cell.key}.run.json"
        spec.write_text(json.dumps(cell.document))
        command = [sys.executable, "-m", "hooke", "run", str(spec), "--json", "--run-dir", str(folder / cell.key)]
        machine = speed.probe()
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if not ended.stdout.strip():
            raise SystemExit(f"{cell.label}, seed {cell.seed}: {ended.stderr[-2000:]}")
        said = json.loads(ended.stdout) | {"machine_ms": machine}
        kept.write_text(json.dumps(said))
        print(
            f"{cell.label} P={cell.workers} seed {cell.seed}: {said['state']}, {said['validation_accuracy']}",
            flush=True,
        )
    found: dict[str, Any] = json.loads(kept.read_text())
    return found
