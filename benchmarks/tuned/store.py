"""Results on disk: one JSON file per run (`runs/<key>.json`), one per session, journals."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.hardware.description import describe

from benchmarks.evidence import machine
from benchmarks.evidence.store import commit, over, write
from benchmarks.tuned.rounds import Play
from benchmarks.tuned.rules import RULE

KEPT = (
    *("state", "diverged", "why", "time_to_target", "samples_to_target", "validation_accuracy", "test_accuracy"),
    *("samples", "train_seconds", "wall_seconds", "communication_fraction", "hidden_seconds", "wire_bytes"),
    *("cpu_seconds", "processor_seconds", "parameters", "simulated", "oversubscribed", "evaluations"),
)
"""Fields of a result that are stored."""


@dataclass(frozen=True)
class Store:
    """One folder of results."""

    folder: Path

    def results(self) -> dict[str, dict[str, Any]]:
        """Return every stored result by key."""
        return {key: stored["result"] for key, stored in self.stored().items()}

    def stored(self) -> dict[str, dict[str, Any]]:
        """Return every stored run by key, with its conditions."""
        return {path.stem: json.loads(path.read_text()) for path in sorted(self.folder.glob("runs/*.json"))}

    def keep(self, play: Play, result: Mapping[str, Any], machine_ms: float) -> None:
        """Store a run; one that says nothing of its method is stored as a failure, and is repeated."""
        document = {
            "schema": "hooke.tuned/1",
            "task": play.task.name,
            "place": play.place.name,
            "entry": play.entry.name,
            "trial": play.trial,
            "rung": play.rung,
            "seed": play.seed,
            "effort": play.effort,
            "parameters": play.parameters,
            "edges": play.edges,
            "rule": RULE,
            "document": play.document,
            "hardware": machine.hardware(),
            "torch": describe()[1].get("torch", "unknown").partition("+")[0],
            "commit": commit(),
            "unix": time.time(),
            "machine_ms": machine_ms,
            "result": {name: result.get(name) for name in KEPT},
        } | ({"repeats": dict(play.repeats)} if play.repeats else {})
        document |= {name: told for name in ("unfair", "fewer", "pinned") if (told := getattr(play, name))}
        name = f"runs/{play.key}.json" if over(result) else f"failures/{play.key}-{time.time_ns()}.json"
        write(self.folder / name, document)

    def journal(self, play: Play) -> Path:
        """Return a folder for a run's journals that does not exist yet."""
        return self.folder / "journals" / f"{play.key}-{time.time_ns()}"
