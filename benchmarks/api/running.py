"""Runs scenarios, prints their figures and stores the record."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import speed
from benchmarks.api import baseline
from benchmarks.api.figures import Bench, met
from benchmarks.api.peer import version_of
from benchmarks.api.server import check_environment
from benchmarks.evidence import machine
from benchmarks.evidence.store import ROOT, write

SCHEMA = "hooke.bench-api/1"
SCENARIOS = (
    *("ingest", "storage", "compaction", "series", "many", "lists", "streams", "memory", "writers"),
    "evaluations",
)
"""In the order in which they are measured; the last one takes longest."""
LONG = ("hour", "processes")
"""Measured only if they are named: the one takes an hour, the other needs PostgreSQL."""


def run(names: Sequence[str], bench: Bench, store: Path, check: float | None) -> int:
    """Measure scenarios, print and store their figures; return the exit status."""
    known_names = (*SCENARIOS, *LONG)
    if unknown := [name for name in names if name not in known_names]:
        sys.exit(
            f"benchmarks.api: no scenario is called {', '.join(unknown)}; there are: {', '.join(known_names)}"
        )
    check_environment()
    record = begin(bench)
    known = baseline.of(record)
    if check is not None and known is None:
        sys.exit(f"benchmarks.api: there is no baseline of {baseline.key(record)} at scale {bench.scale:g}")
    print(f"{machine.title_of(record['hardware'])}; {record['database']}; scale {bench.scale:g}")
    if known is not None:
        print(f"baseline: commit {known['commit']}, load average {known['load_before']:.1f}")
    else:
        print(f"no baseline of {baseline.key(record)} at this scale: no ratios")
    for name in names or SCENARIOS:
        measure(name, bench, record, known)
    record |= {"load_after": os.getloadavg()[0], "speed_after_ms": speed.probe()}
    place = store / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(record['unix']))}.json"
    write(place, record)
    print(f"load average {record['load_before']:.1f} before, {record['load_after']:.1f} after; record: {place}")
    worse = baseline.worse(record, known, check) if check is not None and known is not None else []
    for line in worse:
        print(f"worse than the baseline: {line}")
    return 1 if worse else 0


def begin(bench: Bench) -> dict[str, Any]:
    """Return a record without figures: machine, load, versions and conditions."""
    from importlib.metadata import version

    return {
        "schema": SCHEMA,
        "unix": time.time(),
        "commit": commit(),
        "hardware": machine.hardware(),
        "versions": {name: version(name) for name in ("hooke-api", "fastapi", "sqlalchemy", "uvicorn", "numpy")},
        "database": "PostgreSQL" if bench.database else "SQLite",
        "scale": bench.scale,
        "rounds": bench.rounds,
        "mlflow": version_of(bench.mlflow) if bench.mlflow else None,
        "load_before": os.getloadavg()[0],
        "speed_before_ms": speed.probe(),
        "scenarios": {},
    }


def measure(name: str, bench: Bench, record: dict[str, Any], known: dict[str, Any] | None) -> None:
    """Measure one scenario and add its figures to the record, with what else used the machine meanwhile."""
    module = importlib.import_module(f"benchmarks.api.scenarios.{name}")
    print(f"{module.TITLE}:", flush=True)
    began, used = time.time(), _others()
    figures = []
    for figure in module.measure(bench):
        figures.append(figure.document(name))
        print(line(figures[-1], baseline.ratio(figures[-1], known)), flush=True)
    seconds = time.time() - began
    record["scenarios"][name] = {
        "title": module.TITLE,
        "seconds": seconds,
        "others": max(0.0, _others() - used) / seconds,
        "figures": figures,
    }


def line(figure: dict[str, Any], ratio: float | None) -> str:
    """Return a line about a figure: median, spread, goal, and its ratio to the baseline."""
    low, high = min(figure["values"]), max(figure["values"])
    spread = f" ({low:,.4g} to {high:,.4g})" if len(figure["values"]) > 1 else ""
    goal = ""
    if (well := met(figure)) is not None:
        goal = f"; goal {'>=' if figure['higher'] else '<='} {figure['goal']:,g}{'' if well else ', MISSED'}"
    told = "" if ratio is None else f"; {ratio:.2f}x the baseline"
    return f"  {figure['name']}: {figure['median']:,.4g} {figure['unit']}{spread}{goal}{told}"


def _others() -> float:
    """Return the processor seconds that processes of others have used: all but this one and its ended children."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    idle = int(fields[3]) + int(fields[4])
    busy = (sum(map(int, fields[:8])) - idle) / os.sysconf("SC_CLK_TCK")
    return busy - sum(os.times()[:4])


def commit() -> str:
    """Return the commit that is measured, with a + if files differ from it; `unknown` without git."""
    words = ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "unknown"
