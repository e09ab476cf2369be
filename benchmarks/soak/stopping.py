"""How long a stop takes: Ctrl-C of `hooke run` until a complete checkpoint is there, and until all has ended.

Every run is stopped at a moment drawn by seed, resumed from what it left, and stopped once more.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.evidence import machine
from benchmarks.soak.running import commit

LIMIT_SECONDS = 10.0
"""From a cancel to SIGKILL of what still lives (`Timing.grace`): a stop has to be shorter."""
CANCELLED = 130
"""Status of `hooke run` after a stop."""
WORKERS = 8
METHODS = ("sync-sgd", "sync-easgd", "async-easgd")
WORLDS = ("virtual", "mpi")
TURNS = 1
"""Runs of each method in each world; each is stopped twice."""
LONGEST_START = 180.0
SPEC = {
    "schema": "hooke.run/1",
    "workload": {"name": "mnist-lenet"},
    "batch": 64,
    "workers": WORKERS,
    "budget": {"samples": 10**8},
    "evaluation": {"every": 10**7},
}


def measure(folder: Path, seed: int, turns: int) -> dict[str, Any]:
    """Stop `turns` runs of every method in both worlds; return the record. `folder`: of the runs."""
    chance = random.Random(seed)
    stops = []
    for world in WORLDS:
        for method in METHODS:
            for turn in range(turns):
                place = folder / f"{world}-{method}-{turn}"
                for resumed in (False, True):
                    stop = _stop(place, world, method, chance.uniform(0.5, 4.0), resumed)
                    print(json.dumps(stop), flush=True)
                    stops.append(stop)
    return {
        "schema": "hooke.stops/1",
        "unix": time.time(),
        "commit": commit(),
        "hardware": machine.hardware(),
        "load": os.getloadavg()[0],
        "stops": stops,
    }


def _stop(place: Path, world: str, method: str, after: float, resumed: bool) -> dict[str, Any]:
    """Start or resume one run, stop it so many seconds after its first step; return what was seen."""
    place.mkdir(parents=True, exist_ok=True)
    document = SPEC | {"algorithm": {"name": method}, "world": world}
    (place / "spec.json").write_text(json.dumps(document | ({"virtual": {}} if world == "virtual" else {})))
    before, begun = _complete(place / "run"), time.time()
    command = [sys.executable, "-m", "hooke", "run", str(place / "spec.json"), "--run-dir", str(place / "run")]
    with (place / f"{'second' if resumed else 'first'}.log").open("w+") as log:
        process = subprocess.Popen(
            [*command, *(["--resume"] if resumed else [])], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            until = time.monotonic() + LONGEST_START
            while not _stepped(place / "run", begun) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            time.sleep(after)
            asked = time.monotonic()
            process.send_signal(signal.SIGINT)
            kept = None
            while process.poll() is None and time.monotonic() < asked + 120:
                if kept is None and _complete(place / "run") - before:
                    kept = time.monotonic() - asked
                time.sleep(0.02)
            ended = time.monotonic() - asked
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        said = [line.strip() for line in log if line.startswith("resuming at")]
        if process.returncode not in (0, CANCELLED):
            log.seek(0)
            raise SystemExit(f"soak: `hooke run` ended with {process.returncode}: {log.read()[-2000:]}")
    found = _complete(place / "run") - before
    return {
        "world": world,
        "method": method,
        "resumed": said[0] if said else "",
        "status": process.returncode,
        "checkpoint": max(found) if found else None,
        "checkpoint_seconds": kept if kept is not None or not found else ended,
        "seconds": ended,
    }


def _complete(run: Path) -> set[int]:
    return {int(path.parent.name) for path in run.glob("checkpoints/*/complete.json")}


def _stepped(run: Path, begun: float) -> bool:
    """Return whether a rank has written steps since this time, s since 1970."""
    written = [path for path in run.glob("journal.*.jsonl") if path.stat().st_mtime > begun]
    return any(b'"steps"' in path.read_bytes() for path in written)


def section(record: Mapping[str, Any]) -> str:
    """Return the table of a record."""
    lines = [
        "## Stops",
        "",
        f"`hooke run` of {WORKERS} workers of `mnist-lenet`, batch 64, told to stop (Ctrl-C) at moments drawn by "
        "seed; then `--resume`, and told to stop again. Seconds from the signal. What lives "
        f"{LIMIT_SECONDS:g} s after a cancel is killed on clusters. Load average at the end: "
        f"{record['load']:.1f}. Commit {record['commit']}.",
        "",
        "| world | method | stops | with a new checkpoint | resumed from it | checkpoint complete, s | ended, s |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for world in WORLDS:
        for method in METHODS:
            of = [s for s in record["stops"] if (s["world"], s["method"]) == (world, method)]
            if of:
                lines.append(_row(world, method, of))
    return "\n".join(lines)


def _row(world: str, method: str, stops: Sequence[Mapping[str, Any]]) -> str:
    kept = [s["checkpoint_seconds"] for s in stops if s["checkpoint_seconds"] is not None]
    ended = [s["seconds"] for s in stops]
    cells = (
        world,
        method,
        len(stops),
        len(kept),
        sum(bool(s["resumed"]) for s in stops),
        _spread(kept),
        _spread(ended),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):.1f} ({min(values):.1f} to {max(values):.1f})" if values else "-"
