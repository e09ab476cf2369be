"""Runs what is missing, one after the other, with the product's command line, and stores the results."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooke.spec.invariants import faults

from benchmarks import speed
from benchmarks.evidence import machine
from benchmarks.evidence.store import commit, over, write
from benchmarks.slide.conditions import SPACES
from benchmarks.slide.rounds import Play, Rounds, following
from benchmarks.slide.spaces import spaces_of

KEPT = (
    *("state", "diverged", "why", "time_to_target", "samples_to_target", "validation_accuracy", "test_accuracy"),
    *("test_further", "samples", "train_seconds", "wall_seconds", "evaluations", "phases"),
)
"""Fields of a result that are stored."""
LOOK_SECONDS = 0.5
LONGEST, PATIENCE = 1800.0, 60.0
"""Seconds after which a run is cancelled from outside, and after which it is killed then."""


@dataclass(frozen=True)
class Store:
    """One folder of results: `runs/<key>.json`."""

    folder: Path

    def stored(self) -> dict[str, dict[str, Any]]:
        """Return every stored run of the present search spaces by key, with its conditions."""
        found = {path.stem: json.loads(path.read_text()) for path in sorted(self.folder.glob("runs/*.json"))}
        return {key: record for key, record in found.items() if spaces_of(record) == SPACES}

    def keep(self, play: Play, result: Mapping[str, Any], before: Mapping[str, float]) -> None:
        """Store a run; one that says nothing of its layer is stored as a failure."""
        document = {
            "schema": "hooke.slide/1",
            "problem": play.problem.name,
            "size": play.size.name,
            "target": play.problem.target,
            "trials": play.size.trials,
            "spaces": SPACES,
            "layer": play.layer.name,
            "trial": play.trial,
            "rung": play.rung,
            "seed": play.seed,
            "setting": play.layer.searched(play.setting),
            "edges": play.edges,
            "document": play.document,
            "hardware": machine.hardware(),
            "commit": commit(),
            "unix": round(time.time()),
            **before,
            "result": {name: result.get(name) for name in KEPT},
        }
        name = f"runs/{play.key}.json" if over(result) else f"failures/{play.key}-{time.time_ns()}.json"
        write(self.folder / name, document)


def run_all(rounds: list[Rounds], store: Store, minutes: float) -> int:
    """Run what is missing until nothing is, or `minutes` are over; return the number of runs.

    A run that fails for a reason outside of its layer is not repeated in this call.
    """
    until, failed, done = time.monotonic() + 60 * minutes, set[str](), 0
    results = {key: each["result"] for key, each in store.stored().items()}
    while time.monotonic() < until and (play := following(rounds, results, failed)):
        began = time.monotonic()
        before = {"machine_ms": speed.probe(), "busy": busy()}
        result = command(play.document, store.folder / "journals" / f"{play.key}-{time.time_ns()}")
        store.keep(play, result, before)
        if over(result):
            results[play.key] = result
        else:
            failed.add(play.key)
        done += 1
        print(f"{play.title}: {_said(result)} ({time.monotonic() - began:.0f} s in all)", flush=True)
    return done


def command(
    document: Mapping[str, Any],
    folder: Path,
    keep: bool = False,
    longest: float = LONGEST,
    words: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the result of `hooke run`; `keep`: whether its journals stay in `folder`.

    `longest`: seconds after which it is cancelled, which is no result; `words`: further ones of the command line.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    spec = folder.parent / f"{folder.name}.json"  # a name may have points: with_suffix would cut it
    spec.write_text(json.dumps(document))
    line = [sys.executable, "-m", "hooke", "run", str(spec), "--json", "--run-dir", str(folder), *words]
    said, errors, late = _ended(line, longest)
    found: dict[str, Any] = {"state": "failed_infra", "why": errors[-2000:]}
    if late:
        found["why"] = f"not over after {longest:.0f} s: cancelled from outside"
    elif said.strip():
        found = json.loads(said)
        if over(found) and (wrong := faults(folder)):
            found = {"state": "failed_infra", "why": "; ".join(wrong)}
    spec.unlink()
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _ended(line: Sequence[str], longest: float) -> tuple[str, str, bool]:
    """Return output and errors of a command, and whether it was ended: by a signal that lets it end its ranks."""
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for seconds, end in ((longest, process.terminate), (PATIENCE, process.kill)):
        try:
            said, errors = process.communicate(timeout=seconds)
            return said, errors, end == process.kill
        except subprocess.TimeoutExpired:
            end()
    said, errors = process.communicate()
    return said, errors, True


def busy(seconds: float = LOOK_SECONDS) -> float:
    """Return the share of the processors' time that other programs use, measured while this one sleeps."""
    idle, total = _times()
    time.sleep(seconds)
    later, end = _times()
    return round(1 - (later - idle) / max(1, end - total), 3)


def _times() -> tuple[int, int]:
    """Return idle and total time of all processors, ticks, from /proc/stat."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _said(result: Mapping[str, Any]) -> str:
    if not over(result):
        return f"{result['state']}: {str(result.get('why'))[-300:]}"
    if result.get("diverged"):
        return "diverged"
    if result["time_to_target"] is None:
        return f"missed, {result['validation_accuracy']:.2%} after {result['train_seconds']:.1f} s"
    return f"target after {result['time_to_target']:.1f} s, {result['samples_to_target']:,} samples"
