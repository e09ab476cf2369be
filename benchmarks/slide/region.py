"""A map of rates: samples per second of each output layer over numbers of labels and batches.

Rates, not times to a precision: settings are the defaults, and no layer is trained to a target.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hooke.comparison.journals import evaluations
from hooke.hashing.schedule import RebuildSchedule
from hooke.spec.events import Steps
from hooke.spec.journal import records, unpack

from benchmarks import speed
from benchmarks.evidence import machine
from benchmarks.evidence.store import commit, over, write
from benchmarks.slide.conditions import ACTIVE, LAYERS, OPTIMIZER, SLIDE
from benchmarks.slide.running import busy, command

LABELS = (10_000, 31_623, 100_000, 316_228, 1_000_000)
BATCHES = (32, 128, 512, 2048)
STEPS, LEFT_OUT = 24, 6
"""Steps of a cell, and those at its beginning that do not count (compilation, first touch of memory)."""
HORIZON = 5000
"""Steps over which builds of the tables are spread."""


def cells() -> Iterator[tuple[int, int, str]]:
    """Yield (labels, batch, layer), the cheapest first."""
    for labels in LABELS:
        for batch in BATCHES:
            for layer in LAYERS:
                yield labels, batch, layer


def document(labels: int, batch: int, layer: str, threads: int) -> dict[str, Any]:
    """Return the run of a cell."""
    given = dict(LAYERS[layer].given)
    if "active" in given:  # the set holds the labels of the batch, too
        given["active"] = max(ACTIVE, 6 * batch)
    problem = {"labels": labels, "features": max(2000, labels), "items": max(8192, 4 * batch)}
    return {
        "schema": "hooke.run/1",
        "workload": {
            "name": "xmlc-mlp",
            "parameters": {**problem, "validation_items": 32, "test_items": 32},
        },
        "workload_settings": given,
        "algorithm": {"name": "sgd", "parameters": {**OPTIMIZER, "lr": 0.1}},
        "batch": batch,
        "workers": 1,
        "budget": {"samples": STEPS * batch},
        "evaluation": {"every": STEPS * batch},
        "compute": {"threads": threads},
        "checkpoint": "never",
    }


def run(folder: Path, threads: int, minutes: float) -> int:
    """Measure the cells that have no result, until `minutes` are over; return their number."""
    until, done = time.monotonic() + 60 * minutes, 0
    known = {(r["labels"], r["batch"], r["layer"]) for r in stored(folder)}
    for cell in cells():
        if cell in known or time.monotonic() > until:
            continue
        labels, batch, layer = cell
        before = {"machine_ms": speed.probe(), "busy": busy()}
        journals = folder / "journals" / f"{labels}-{batch}-{time.time_ns()}"
        result = command(document(*cell, threads), journals, keep=True)
        found = {"labels": labels, "batch": batch, "layer": layer, **before, "commit": commit()}
        found |= {"hardware": machine.hardware(), "state": result["state"], "why": str(result.get("why"))[-300:]}
        if over(result):
            found |= rates(journals, batch, layer)
        write(folder / "map" / f"{labels}-{batch}-{layer.replace(', ', '-')}.json", found)
        print(
            f"{labels:,} labels, batch {batch}, {layer}: {found.get('samples_per_second', result['state'])}",
            flush=True,
        )
        done += 1
    return done


def rates(journals: Path, batch: int, layer: str) -> dict[str, float]:
    """Return the rate of a run from its journal: the median step, with builds of tables spread over HORIZON."""
    clocks = [
        value
        for record in records(journals / "journal.0.jsonl")
        if isinstance(record, Steps)
        for value in unpack("clock", record.columns["clock"])
    ]
    step = statistics.median(b - a for a, b in zip(clocks[LEFT_OUT:], clocks[LEFT_OUT + 1 :], strict=False))
    further = evaluations(journals, 1)[-1].further
    build = 0.0
    if layer == SLIDE:
        build = (
            further["table_seconds"] / further["table_builds"] * (1 + RebuildSchedule().until(HORIZON)) / HORIZON
        )
    return {
        "step_seconds": step,
        "build_seconds_per_step": build,
        "active_labels": further["active_labels"],
        "samples_per_second": round(batch / (step + build), 1),
    }


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return the measured cells."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("map/*.json"))]


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the map as a section of the page."""
    rates = {(r["labels"], r["batch"], r["layer"]): r.get("samples_per_second") for r in found}
    places = sorted({(labels, batch) for labels, batch, _ in rates})
    lines = [
        "## Map of rates",
        "",
        f"Samples/s on planted problems, {ACTIVE} active labels or six times the batch, settings not tuned, the "
        f"median step of {STEPS - LEFT_OUT}; `slide` with its builds spread over {HORIZON} steps. **Rates only: "
        "the layers have not been trained to equal precision here**, and one that is faster per sample may need "
        "more samples.",
        "",
        f"| labels | batch | {' | '.join(LAYERS)} |",
        f"|---|---|{'---|' * len(LAYERS)}",
    ]
    for labels, batch in places:
        values = [rates.get((labels, batch, layer)) for layer in LAYERS]
        told = [f"{value:,.0f}" if value else "-" for value in values]
        lines.append(f"| {labels:,} | {batch:,} | {' | '.join(told)} |")
    return "\n".join(lines)
