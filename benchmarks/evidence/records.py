"""Raw results as they are published: one line per run, one per evaluation, one document of sessions.

Pages are made from these files alone, so that they can be checked and written again without any runs. If the
store of a machine is lost, its measurements continue from these files.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from hooke.trace.phases import PHASES, Phase

from benchmarks.evidence.conditions import PLACES
from benchmarks.evidence.search import Trial

DATA = "data"
"""The folder of the raw data, next to the pages."""
SIMULATED = "simulated"
"""A column of every table: whether a row's seconds are virtual."""
RUNS, CURVES, SESSIONS = "runs.csv", "curves.csv", "sessions.json"
CURVE_COLUMNS = ("key", "samples", "train_seconds", "validation_accuracy")


@dataclass(frozen=True)
class Run:
    """One run. Accuracies but `test_accuracy` are of the validation part. Seconds without another
    name are of the train clock; those of phases are means over workers.

    `wire_bytes` is Hooke's own counter; `link_wire_bytes` is what the shaper counted, with all headers;
    `machine_ms` is what a fixed piece of work took just before (`benchmarks.speed`).
    """

    key: str
    kind: str
    place: str
    label: str
    rate: float
    seed: int
    program: str
    lr: float | None
    precision: str
    workers: int
    oversubscribed: str
    state: str
    diverged: str
    """`yes`: it ended because of NaN or Inf, and never meets a target."""
    why: str
    time_to_target: float | None
    samples_to_target: int | None
    test_accuracy: float | None
    best_accuracy: float | None
    samples: int | None
    steps: int | None
    train_seconds: float | None
    wall_seconds: float | None
    communication_fraction: float | None
    hidden_seconds: float | None
    data: float | None
    compute: float | None
    communicate: float | None
    update: float | None
    evaluate: float | None
    idle: float | None
    servers: int
    server_update: float | None
    wire_bytes: int | None
    link_wire_bytes: int | None
    dropped_packets: int | None
    cpu_seconds: float | None
    staleness_mean: float | None
    lost_mass: float | None
    machine_ms: float | None
    session: str
    commit: str
    command: str

    @property
    def seconds_per_step(self) -> float | None:
        """Return seconds of the train clock per step of each worker."""
        return self.train_seconds / self.steps if self.train_seconds and self.steps else None

    @property
    def throughput(self) -> float | None:
        """Return samples per second, over all workers."""
        return self.samples / self.train_seconds if self.train_seconds and self.samples else None


@dataclass(frozen=True)
class Evidence:
    """All data of the pages. `curves`: by key, (samples, seconds, accuracy) of each evaluation."""

    runs: dict[str, Run]
    curves: dict[str, list[tuple[int, float, float]]]
    sessions: dict[str, Any]

    @property
    def trials(self) -> dict[str, Trial]:
        """Return the outcomes of the runs for the selection of rates, by key, without the reported runs."""
        return {
            key: Trial(run.time_to_target, run.best_accuracy or 0.0, run.diverged == "yes")
            for key, run in self.runs.items()
            if run.kind == "tuning"
        }


def flatten(key: str, stored: Mapping[str, Any]) -> Run:
    """Return one stored run as a line."""
    cell, result = stored["cell"], stored["result"]
    document = cell["document"]
    spec = document.get("settings") or document
    phases = result.get("phases") or {}
    link = result.get("link") or {}
    workers, samples = spec["workers"], result.get("samples")
    stale = {int(k): n for k, n in (result.get("staleness") or {}).items()}
    evaluations = result.get("evaluations") or []
    found = {field.name: result.get(field.name) for field in fields(Run)}
    found |= {name: cell[name] for name in ("kind", "place", "label", "rate", "seed")}
    found |= {str(phase): phases.get(str(phase)) for phase in PHASES if phase is not Phase.REBUILD}
    found |= {
        "key": key,
        "program": result["algorithm"] if "settings" not in document else f"peer {result['algorithm']}",
        "lr": (result.get("parameters") or {}).get("lr"),
        "precision": spec.get("precision") or document["compute"]["precision"],
        "workers": workers,
        "oversubscribed": "yes" if result.get("oversubscribed") else "no",
        "diverged": "yes" if result.get("diverged") else "no",
        "why": _said(result),
        "best_accuracy": max((each["accuracy"] for each in evaluations), default=None),
        "steps": samples // (spec["batch"] * workers) if samples else None,
        "server_update": (result.get("server_phases") or {}).get("update"),
        "link_wire_bytes": link.get("wire_bytes"),
        "dropped_packets": link.get("dropped"),
        "staleness_mean": sum(k * n for k, n in stale.items()) / sum(stale.values()) if stale else None,
        "machine_ms": stored.get("machine_ms"),  # missing in runs before the probe existed
        "session": stored["session"],
        "commit": stored["commit"],
        "command": stored["command"],
    }
    return Run(**found)


def _said(result: Mapping[str, Any]) -> str:
    """Return a short reason why a run did not succeed, without paths of a machine."""
    text = "" if result["state"] == "succeeded" else " ".join(result.get("why", "").split())
    return re.sub(r"(?<!\w)/(?:[^/\s]+/)+", "", text)[:200]


def collect(runs: Mapping[str, Mapping[str, Any]], sessions: Mapping[str, Any]) -> Evidence:
    """Return stored runs and their sessions in the published form."""
    curves = {
        key: [(s["samples"], s["train_seconds"], s["accuracy"]) for s in run["result"].get("evaluations") or []]
        for key, run in runs.items()
        if run["cell"]["kind"] != "pace"
    }
    return Evidence({key: flatten(key, run) for key, run in runs.items()}, curves, dict(sessions))


def merged(old: Evidence, new: Evidence) -> Evidence:
    """Return the runs of both; of a run that both have, the new one."""
    runs, curves = {**old.runs, **new.runs}, {**old.curves, **new.curves}
    return Evidence(runs, curves, {**old.sessions, **new.sessions})


def write(folder: Path, evidence: Evidence) -> None:
    """Write everything to `folder`; long digits are cut, so that files stay small."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = sorted(evidence.runs.values(), key=_order)
    _write_csv(folder / RUNS, (*_names(), SIMULATED), (_line(run) for run in lines))
    curves = (
        (run.key, samples, _cut(seconds, 5), _cut(accuracy, 6))
        for run in lines
        for samples, seconds, accuracy in evidence.curves.get(run.key, ())
    )
    _write_csv(folder / CURVES, CURVE_COLUMNS, curves)
    used = {run.session for run in lines}
    kept = {name: session for name, session in sorted(evidence.sessions.items()) if name in used}
    said = (f"{json.dumps(name)}: {json.dumps(_shortened(session))}" for name, session in kept.items())
    (folder / SESSIONS).write_text("{\n" + ",\n".join(said) + "\n}\n")


def read(folder: Path) -> Evidence:
    """Return the evidence that `write` wrote to a folder; raises FileNotFoundError if there is none."""
    runs, curves = {}, dict[str, list[tuple[int, float, float]]]()
    kinds = {field.name: str(field.type) for field in fields(Run)}
    with (folder / RUNS).open(newline="") as file:
        for line in csv.DictReader(file):
            run = Run(**{name: _value(kinds[name], text) for name, text in line.items() if name != SIMULATED})
            runs[run.key] = run
    with (folder / CURVES).open(newline="") as file:
        for line in csv.DictReader(file):
            point = (int(line["samples"]), float(line["train_seconds"]), float(line["validation_accuracy"]))
            curves.setdefault(line["key"], []).append(point)
    return Evidence(runs, curves, json.loads((folder / SESSIONS).read_text()))


def _names() -> list[str]:
    return [field.name for field in fields(Run)]


def _line(run: Run) -> list[Any]:
    return [*(_cut(getattr(run, name)) for name in _names()), PLACES[run.place].world == "virtual"]


def _order(run: Run) -> tuple[Any, ...]:
    return (run.kind, run.place, run.label, run.rate, run.seed, run.key)


def _shortened(value: Any) -> Any:
    """Return a document whose floats have six digits, or no fraction: times of day stay exact to the second."""
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, float):
        return round(value) if abs(value) >= 1e6 else float(f"{value:.6g}")
    return value


def _cut(value: Any, digits: int = 6) -> Any:
    return f"{value:.{digits}g}" if isinstance(value, float) else value


def _value(kind: str, text: str) -> Any:
    if kind == "str":
        return text
    if not text:
        return None
    return int(text) if kind.startswith("int") else float(text)


def _write_csv(path: Path, columns: Sequence[str], lines: Iterable[Iterable[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(lines)
