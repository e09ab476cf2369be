"""A control: methods at the setting of another one, which says what a delay alone costs and gains.

All have learning rate, momentum (Nesterov's) and accumulation of the trial that was chosen for PyTorch DDP with
the bf16 hook, and run on the reported seeds; Sync SGD is DDP's twin in the catalogue. Nothing is chosen here. A
run ends after SAMPLES without the target, 1.2 times those of the slowest run of DDP. Samples are those of
trajectories; clocks are computed in closed form, as in `reported`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hooke.comparison.crossing import Crossing
from hooke.comparison.verdict import compare_all
from hooke.comparison.wording import short

from benchmarks.common import records
from benchmarks.regimes.clocks import Link, clocks
from benchmarks.regimes.conditions import TASKS
from benchmarks.regimes.learnt import PROPOSALS
from benchmarks.regimes.networks import weights
from benchmarks.regimes.runs import Run, trajectory
from benchmarks.tuned.conditions import SEEDS
from benchmarks.tuned.entries import DDP_BF16

WORKERS, SAMPLES = 8, 102_400
SYNC = "sync-sgd"
CONTROLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "delayed-gradient-averaging": ("delayed-gradient-averaging", {}),
    "pipe-sgd": ("pipe-sgd", {}),
    "pipe-sgd, predicted": ("pipe-sgd", {"predict": "momentum"}),
    "delayed-gradient-averaging, share 0.7": ("delayed-gradient-averaging", {"share": 0.7}),
    SYNC: (SYNC, {}),
    "pipe-sgd, predicted, half the rate": ("pipe-sgd", {"predict": "momentum", "lr": 0.5}),
    "pipe-sgd, half the rate": ("pipe-sgd", {"lr": 0.5}),
}
"""Name -> method and what it has of its own; of `lr` the share of DDP's. Run seed by seed, in this order."""
HEADER = (
    "| entry | thousand samples, by seed | simulated seconds, by seed | exposed | over Sync SGD |\n"
    "|---|---|---|---|---|"
)
Record = Mapping[str, Any]


def store_of(task: str) -> Path:
    """Return the file of the records."""
    return PROPOSALS / f"{task}-{WORKERS}-control.jsonl"


def key(record: Record) -> tuple[str, int]:
    """Return what identifies a record: name and seed."""
    return record["control"], record["seed"]


def document(task: str, name: str, seed: int, samples: int = SAMPLES) -> dict[str, Any]:
    """Return the run of a control: that of DDP's twin, with another method."""
    chosen = json.loads((PROPOSALS / f"{task}-{WORKERS}-hosts-chosen.json").read_text())["entries"]
    ddp = next(each for each in chosen if each["entry"] == DDP_BF16.name)
    found = Run(task, WORKERS, DDP_BF16.name, ddp["trial"], seed).document(ddp["parameters"], samples)
    method, own = CONTROLS[name]
    parameters = found["algorithm"]["parameters"]
    parameters |= {**own, "lr": parameters["lr"] * own.get("lr", 1)}
    return found | {"algorithm": {"name": method, "parameters": parameters}}


def missing(task: str, known: Mapping[tuple[str, int], Record]) -> Iterator[tuple[str, int]]:
    """Yield name and seed of the runs without a record."""
    first = TASKS[task].first_seed
    every = ((name, seed) for seed in range(first, first + SEEDS) for name in CONTROLS)
    yield from (each for each in every if each not in known)


def run(task: str, path: Path) -> None:
    """Carry out what is missing, one run after the other."""
    for name, seed in missing(task, records.read(path, key)):
        found = trajectory(document(task, name, seed))
        records.add(path, {"task": task, "control": name, "seed": seed} | found)
        print(name, seed, found, flush=True)


def table(task: str, path: Path | None = None) -> str:
    """Return the controls whose runs are complete, the fastest first."""
    known, times = records.read(path or store_of(task), key), dict[str, dict[int, Crossing]]()
    for name in CONTROLS:
        own = {seed: record for (control, seed), record in known.items() if control == name}
        if len(own) == SEEDS:
            times[name] = {seed: crossing(task, name, seed, record) for seed, record in sorted(own.items())}
    others = {name: own for name, own in times.items() if name != SYNC}
    said = compare_all(times.get(SYNC, {}), others)
    told = {name: f"{each.claim}: {short(name, each)}" for name, each in said.items()} | {SYNC: "-"}
    order = sorted(times, key=lambda name: _order(times[name]))
    lines = [_line(task, name, {seed: known[name, seed] for seed in times[name]}, times[name]) for name in order]
    return "\n".join([HEADER, *(f"{line} {told[name]} |" for name, line in zip(order, lines, strict=True))])


def crossing(task: str, name: str, seed: int, record: Record) -> Crossing:
    """Return when a run met the target in simulated time."""
    made = document(task, name, seed, record["met"] or SAMPLES) | {"target": None}
    link = Link(made["virtual"]["latency"], made["virtual"]["seconds_per_byte"])
    by, before = (float(each[0, 0]) for each in clocks(made, weights(TASKS[task].workload), [link], [{}]))
    if record["diverged"]:
        return Crossing(0.0, None, diverged=True)
    return Crossing(before, by) if record["met"] else Crossing(by, None)


def _line(task: str, name: str, own: Mapping[int, Record], times: Mapping[int, Crossing]) -> str:
    samples = ", ".join(_told(record, record["met"] and f"{record['met'] / 1000:.0f}") for record in own.values())
    seconds = ", ".join(_told(own[seed], f"{each.by:.1f}" if each.by else None) for seed, each in times.items())
    per_sample = document(task, name, 0)["virtual"]["compute_seconds_per_sample"] / WORKERS
    busy = [(record["met"] * per_sample, times[seed].by) for seed, record in own.items() if record["met"]]
    share = f"{statistics.fmean(1 - spent / by for spent, by in busy if by):.0%}" if busy else "-"
    return f"| {name} | {samples} | {seconds} | {share} |"


def _told(record: Record, figure: str | None) -> str:
    return figure or ("diverged" if record["diverged"] else "missed")


def _order(crossings: Mapping[int, Crossing]) -> tuple[int, float]:
    times = [each.by for each in crossings.values() if each.by is not None]
    return len(crossings) - len(times), statistics.geometric_mean(times) if times else 0.0
