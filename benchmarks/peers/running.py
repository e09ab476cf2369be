"""Starts the ranks of a peer and merges their outcomes into one result."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from hooke.hardware.description import describe, usable_cores
from hooke.trace.phases import communication_fraction

from benchmarks.netlab.lab import Lab
from benchmarks.netlab.running import program
from benchmarks.peers.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
HOW = {
    "ddp": "from the hand-over of the last bucket until backward returns",
    "post-local": "from the hand-over of the last bucket until backward returns, and averaging",
    "hierarchical": "from the hand-over of the last bucket until backward returns, and averaging",
    "torchft-local": "torchft's hook after a step: quorum, all-reduce, commit",
    "torchft-diloco": "torchft's hook after a step: quorum, all-reduce, commit, outer step",
    "mpi4py": "the blocking all-reduce",
    "plain": "none",
}


def run(settings: Settings, lab: Lab | None, folder: Path) -> dict[str, Any]:
    """Run a peer on the lab's hosts, or on this machine; return its result (schema `hooke.peer/1`)."""
    settings.write(folder)
    python = [sys.executable, *(["-m", "mpi4py"] if settings.method == "mpi4py" else [])]
    interface = [] if lab else ["GLOO_SOCKET_IFNAME=lo"]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    words = ["env", f"PYTHONPATH={path}", *interface, *python, "-m", "benchmarks.peers.training", str(folder)]
    ranks = range(settings.workers)

    def training() -> bool:
        ended = any((folder / f"outcome.{rank}.json").exists() for rank in ranks)
        return not ended and all((folder / f"started.{rank}").exists() for rank in ranks)

    status, cost = program(lab, settings.workers, words, training, sys.stderr)
    outcomes = left(folder)
    complete = status == 0 and len(outcomes) == settings.workers
    return result(settings, outcomes if complete else [], f"mpirun ended with status {status}") | cost


def left(folder: Path) -> list[dict[str, Any]]:
    """Return the outcomes of the ranks in a folder, by rank."""
    found = [json.loads(path.read_text()) for path in folder.glob("outcome.*.json")]
    return sorted(found, key=lambda outcome: int(outcome["rank"]))


def result(settings: Settings, outcomes: list[dict[str, Any]], why: str = "") -> dict[str, Any]:
    """Return the result of all ranks' outcomes; without them, that of a run that failed."""
    hardware, versions = describe()
    text = json.dumps(asdict(settings), sort_keys=True)
    found: dict[str, Any] = {
        "schema": "hooke.peer/1",
        "state": "failed_infra",
        "why": why,
        "fingerprint": hashlib.sha256(text.encode()).hexdigest(),
        "workload": settings.workload,
        "algorithm": settings.method,
        "parameters": settings.parameters(),
        "settings": asdict(settings),
        "workers": settings.workers,
        "servers": 0,
        "seed": settings.seed,
        "simulated": False,
        "oversubscribed": settings.workers > usable_cores(),
        "hidden_seconds": None,
        "payload_bytes": None,
        "wire_bytes": None,
        "messages": None,
        "exposed_communication_is": HOW[settings.method],
        "hardware": hardware,
        "versions": versions,
    }
    return found | _measured(settings, outcomes) if outcomes else found


def _measured(settings: Settings, outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    first = outcomes[0]
    evaluations = [
        {"samples": samples, "train_seconds": clock, "loss": loss, "accuracy": accuracy}
        for samples, clock, loss, accuracy, _ in first["evaluations"]
    ]
    reached = next((s for s in evaluations if settings.target and s["accuracy"] >= settings.target), None)
    diverged = first["reason"] == "diverged"
    test_loss, test_accuracy, _ = first["test"] or (None, None, None)
    return {
        "state": "failed_user" if diverged else "succeeded",
        "diverged": diverged,
        "why": "the loss is NaN or Inf: a smaller learning rate may help" if diverged else "",
        "reason": first["reason"],
        "validation_accuracy": evaluations[-1]["accuracy"],
        "validation_loss": evaluations[-1]["loss"],
        "test_accuracy": test_accuracy,
        "test_loss": test_loss,
        "time_to_target": reached["train_seconds"] if reached else None,
        "samples_to_target": reached["samples"] if reached else None,
        "samples": first["samples"],
        "steps": first["steps"],
        "train_seconds": first["clock"],
        "wall_seconds": first["wall"],
        "samples_per_second": first["samples"] / first["clock"] if first["clock"] > 0 else None,
        "communication_fraction": fmean(
            communication_fraction(o["phases"]["communicate"], o["wall"], o["phases"]["evaluate"]) or 0.0
            for o in outcomes
        ),
        "phases": {name: fmean(o["phases"][name] for o in outcomes) for name in first["phases"]},
        "rank_cpu_seconds": sum(o["cpu"] for o in outcomes),
        "hosts": [o["host"] for o in outcomes],
        "evaluations": evaluations,
    }
