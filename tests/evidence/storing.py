"""How tests make a store of documents: recorded runs, whose times, place and method are put in anew."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.evidence.cells import Cell, cell_of, pace_cell
from benchmarks.evidence.conditions import EVERY, HOLDING_SEEDS, TUNING_SEED
from benchmarks.evidence.matrix import FULL, Matrix
from benchmarks.evidence.methods import METHODS
from benchmarks.evidence.store import Store

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())
LOST = dict.fromkeys(
    ("time_to_target", "validation_accuracy", "samples_to_target", "samples", "phases", "train_seconds")
)
DIVERGED = {"state": "failed_user", "diverged": True, "evaluations": [], **LOST}
TEMPLATES = {(run["cell"]["kind"], run["cell"]["label"]): run for run in RECORDED["runs"]}


def stored(
    folder: Path, runs: Mapping[str, Any], sessions: Mapping[str, Any], published: Path | None = None
) -> Store:
    """Return a store in `folder` that holds these runs by key, and these sessions."""
    for name, found in (("runs", runs), ("sessions", sessions)):
        (folder / name).mkdir(parents=True)
        for key, document in found.items():
            (folder / name / f"{key}.json").write_text(json.dumps(document))
    return Store(folder, published=published)


def kept(cell: Cell, result: dict[str, Any]) -> dict[str, Any]:
    """Return what a store keeps of a cell with this result."""
    named = ("kind", "label", "rate", "seed", "document")
    told = {name: getattr(cell, name) for name in named} | {"place": cell.place.name}
    command = f"python -m benchmarks.evidence run --only {cell.key} --again"
    session = next(iter(RECORDED["sessions"]))
    return {
        "cell": told,
        "result": result,
        "session": session,
        "commit": "abc",
        "command": command,
        "machine_ms": 4,
    }


def towards(cell: Cell, seconds: float | None, grain: float = 1 / 20) -> dict[str, Any]:
    """Return a run of a cell that met the target after so long, within `grain` of it; None: it diverged."""
    result = TEMPLATES["target", "Sync EASGD3"]["result"] | {"algorithm": cell.method.name}
    if seconds is None:
        return kept(cell, result | DIVERGED)
    accuracies = (0.1, 0.9, 0.965)
    times = (0.0, seconds * (1 - grain), seconds)
    scores = [
        {"samples": n * EVERY, "train_seconds": time, "loss": 1.0, "accuracy": accuracy}
        for n, (time, accuracy) in enumerate(zip(times, accuracies, strict=True))
    ]
    met = {"time_to_target": seconds, "samples_to_target": 2 * EVERY, "samples": 2 * EVERY}
    ended = {"train_seconds": seconds, "samples_per_second": 2 * EVERY / seconds}
    return kept(cell, result | met | ended | {"evaluations": scores, "test_accuracy": 0.961})


def method(
    place: str,
    label: str,
    seconds: Mapping[int, float | None],
    rates: Mapping[int, float | None] = {-1: 300.0, 0: 200.0, 1: None},
    matrix: Matrix = FULL,
) -> dict[str, Any]:
    """Return the runs of a method: its search (k -> seconds), and its seeds at the best rate (seed -> seconds)."""
    found, taken = {}, METHODS[label].tuned_as or label
    for k, took in rates.items():
        cell = cell_of(matrix, place, taken, k, TUNING_SEED)
        found[cell.key] = towards(cell, took)
    met = {k: took for k, took in rates.items() if took is not None}
    best = min(met, key=lambda k: met[k]) if met else min(rates)
    for seed in HOLDING_SEEDS if met else ():
        cell = cell_of(matrix, place, taken, best, seed)
        found[cell.key] = towards(cell, met[best])
    for seed, took in seconds.items():
        cell = cell_of(matrix, place, label, best, seed)
        found[cell.key] = towards(cell, took)
    return found


def pace(place: str, label: str, rates: Mapping[int, float], matrix: Matrix = FULL) -> dict[str, Any]:
    """Return the runs of a pace by repeat: samples per second, as if they had been these."""
    found = {}
    for repeat, rate in rates.items():
        cell = pace_cell(matrix, place, label, repeat)
        template = TEMPLATES["pace", "Sync EASGD3"]["result"]
        samples = template["samples"]
        told = {"train_seconds": samples / rate, "samples_per_second": rate, "algorithm": cell.method.name}
        found[cell.key] = kept(cell, template | told)
    return found
