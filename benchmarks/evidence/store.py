"""Results of a machine: JSON files in a folder (`runs/<key>.json`, `sessions/<id>.json`, failures, journals), and
the results published before."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.hardware.description import describe

from benchmarks.evidence import machine, records
from benchmarks.evidence.cells import Cell
from benchmarks.evidence.conditions import Precision

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ("engine", "benchmarks/netlab", "benchmarks/peers")
"""The measured code, whose commit is recorded with a result."""
ENDED = ("succeeded", "timed_out")
"""States that are results: the budget or the target was met, or the wall limit was reached."""


@dataclass(frozen=True)
class Store:
    """One folder of results. `command`: what measures into it; `published`: raw data of the same machine."""

    folder: Path
    command: str = "python -m benchmarks.evidence"
    published: Path | None = None

    def load(self) -> dict[str, dict[str, Any]]:
        """Return every stored run by key."""
        return {path.stem: json.loads(path.read_text()) for path in sorted(self.folder.glob("runs/*.json"))}

    def evidence(self) -> records.Evidence:
        """Return all results, published or not."""
        own = records.collect(self.load(), self.sessions())
        if self.published is None or not (self.published / records.RUNS).exists():
            return own
        return records.merged(records.read(self.published), own)

    def sessions(self) -> dict[str, dict[str, Any]]:
        """Return every session by id."""
        return {path.stem: json.loads(path.read_text()) for path in sorted(self.folder.glob("sessions/*.json"))}

    def keep(self, cell: Cell, result: dict[str, Any], session: str, machine_ms: float) -> None:
        """Store the result of a cell; a result without information on the method is stored as a failure.

        `machine_ms`: time of a fixed piece of work just before the run (`benchmarks.speed`).
        """
        document = {
            "schema": "hooke.evidence/1",
            "cell": {
                "kind": cell.kind,
                "place": cell.place.name,
                "label": cell.label,
                "rate": cell.rate,
                "seed": cell.seed,
                "document": cell.document,
            },
            "session": session,
            "commit": commit(),
            "unix": time.time(),
            "machine_ms": machine_ms,
            "command": f"{self.command} run --only {cell.key} --again",
            "result": result,
        }
        name = f"runs/{cell.key}.json" if over(result) else f"failures/{cell.key}-{time.time_ns()}.json"
        write(self.folder / name, document)

    def journal(self, cell: Cell) -> Path:
        """Return a folder for a run's journals that does not exist yet."""
        return self.folder / "journals" / f"{cell.key}-{time.time_ns()}"

    def begin(self, precision: Precision) -> str:
        """Store a new session: the machine, its versions, the precision of its matrix; return its id."""
        _, versions = describe()
        name = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        session = {
            "schema": "hooke.evidence.session/1",
            "unix": time.time(),
            "hardware": machine.hardware(),
            "versions": {part: text.partition("+")[0] for part, text in versions.items()},
            "precision": precision,
            "calibrations": {},
        }
        write(self.folder / "sessions" / f"{name}.json", session)
        return name

    def calibrated(self, session: str, place: str, found: Mapping[str, Any]) -> None:
        """Add the calibration of a network to a session."""
        path = self.folder / "sessions" / f"{session}.json"
        document = json.loads(path.read_text())
        told = ("unix", "lab", "emulated", "load", "pair", "collectives")
        document["calibrations"][place] = {name: found[name] for name in told if name in found}
        write(path, document)


def over(result: Mapping[str, Any]) -> bool:
    """Return whether a run is a result of its method, which includes an end by NaN or Inf."""
    return result["state"] in ENDED or bool(result.get("diverged"))


def commit() -> str:
    """Return the commit of the measured code, with a + if files differ from it.

    Without git, as in a copy of the files, it is what the variable HOOKE_COMMIT says, or `unknown`.
    """
    said = _git("rev-parse", "--short=10", "HEAD")
    if said.returncode != 0:
        return os.environ.get("HOOKE_COMMIT", "unknown")
    changed = _git("diff", "--quiet", "HEAD", "--", *MEASURED).returncode != 0
    return said.stdout.strip() + ("+" if changed else "")


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(document, indent=1) + "\n")
    new.replace(path)
