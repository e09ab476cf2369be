"""How tests make a store of documents."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.evidence.cells import target_cell
from benchmarks.evidence.conditions import FULL, METHODS, PLACES, Matrix, without_bf16
from benchmarks.evidence.store import Store

DIVERGED = {"state": "failed_user", "samples": None, "phases": None, "train_seconds": None}


def stored(
    folder: Path, runs: Mapping[str, Any], sessions: Mapping[str, Any], published: Path | None = None
) -> Store:
    """Return a store in `folder` that holds these runs by key, and these sessions."""
    for name, found in (("runs", runs), ("sessions", sessions)):
        (folder / name).mkdir(parents=True)
        for key, document in found.items():
            (folder / name / f"{key}.json").write_text(json.dumps(document))
    return Store(folder, published=published)


def moved(runs: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the runs towards a target as if they had been measured at another place."""
    return _anew(runs, FULL, lambda _: place)


def in_fp32(runs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the runs towards a target as if the processor had no bf16."""
    return _anew(runs, without_bf16(FULL), lambda run: run["cell"]["place"])


def as_others(run: Any, seconds: Mapping[str, float | None], place: str) -> dict[str, Any]:
    """Return one run as if it were the first seed of these methods, each having met the target after that long.

    None: it diverged.
    """
    found = {}
    for label, time in seconds.items():
        new = target_cell(FULL, PLACES[place], METHODS[label], 0.1, 0)
        cell = run["cell"] | {"label": label, "place": place, "rate": 0.1, "seed": 0, "document": new.document}
        result = run["result"] | {"time_to_target": time} | ({} if time else DIVERGED)
        found[new.key] = run | {"cell": cell, "result": result}
    return found


def _anew(runs: Mapping[str, Any], matrix: Matrix, place: Callable[[Any], str]) -> dict[str, Any]:
    found = {}
    for run in runs.values():
        cell, name = run["cell"], place(run)
        method = METHODS[cell["label"]] if cell["kind"] == "target" else None
        if method and not (method.peer and name == "virtual"):
            new = target_cell(matrix, PLACES[name], method, cell["rate"], cell["seed"])
            found[new.key] = run | {"cell": cell | {"place": name, "document": new.document}}
    return found
