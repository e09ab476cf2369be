"""A map of rates: samples per second of each output layer over numbers of labels and batches.

Rates, not times to a precision: settings are the defaults, and no layer is trained to a target.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from hooke.comparison.journals import evaluations
from hooke.hashing.schedule import RebuildSchedule
from hooke.spec.events import Steps
from hooke.spec.journal import records, unpack
from hooke.workloads.xmlc_mlp import PLANTED

from benchmarks import speed
from benchmarks.evidence import machine
from benchmarks.evidence.machine import title_of
from benchmarks.evidence.store import commit, over, write
from benchmarks.slide.conditions import (
    ACTIVE,
    CLEARED,
    DWTA,
    FULL,
    LAYERS,
    OPTIMIZER,
    PROBLEMS,
    QUIET,
    RANDOM,
    SLIDE,
    known_of,
)
from benchmarks.slide.running import busy, command

LABELS = (10_000, 31_623, 100_000, 316_228, 1_000_000)
BATCHES = (32, 128, 512, 2048)
COARSE = (10_000, 100_000, 670_091), (32, 256, 2048)
"""Labels and batches of the coarse map."""
OF_DWTA: dict[str, Any] = {**LAYERS[DWTA].given, "hashes": 5, "tables": 24}
MAPPED: dict[str, dict[str, Any]] = {name: dict(layer.given) for name, layer in LAYERS.items()}
MAPPED |= {DWTA: OF_DWTA, "slide, per item": {**OF_DWTA, "sets": "item", "uniform_share": 0.94}}
STEPS, FEW, LONG = 24, 6, 1 << 26
"""Steps of a cell, and of one whose steps compute more than LONG outputs; the first quarter of them does not count
(compilation, first touch of memory)."""
WIDTH = 128
"""Hidden units."""
HORIZON = 5000
"""Steps over which builds of the tables are spread."""


def cells(coarse: bool = False, problem: str = PLANTED) -> Iterator[tuple[int, int, str]]:
    """Yield (labels, batch, layer), the most labels first; the real records have one number of labels."""
    labels, batches = COARSE if coarse else (LABELS, BATCHES)
    yield from product(reversed(labels) if problem == PLANTED else (PROBLEMS[problem].labels,), batches, MAPPED)


def outputs(labels: int, batch: int, layer: str) -> int:
    """Return the outputs that a step holds, at most."""
    return batch * (labels if layer == FULL else min(labels, max(ACTIVE, 6 * batch)))


def steps(labels: int, batch: int, layer: str) -> int:
    """Return the steps of a cell."""
    return FEW if outputs(labels, batch, layer) > LONG else STEPS


def memory(labels: int, batch: int, layer: str) -> int:
    """Return about how many bytes a cell takes: vectors of all weights, and outputs with copies."""
    return 4 * (8 * WIDTH * (labels + features(labels)) + 4 * outputs(labels, batch, layer))


def features(labels: int) -> int:
    """Return the features of a planted problem: about as many per label as Amazon-670K has."""
    return max(2000, labels // 5)


def document(labels: int, batch: int, layer: str, threads: int, problem: str = PLANTED) -> dict[str, Any]:
    """Return the run of a cell: of a planted problem of its size, or of the real records."""
    given, samples = dict(MAPPED[layer]), steps(labels, batch, layer) * batch
    if "active" in given:  # the set holds the labels of the batch, too
        given["active"] = max(ACTIVE, 6 * batch)
    data = {"labels": labels, "features": features(labels), "items": max(8192, 4 * batch)}
    if problem != PLANTED:
        data = dict(PROBLEMS[problem].parameters)
    return {
        "schema": "hooke.run/1",
        "workload": {
            "name": "xmlc-mlp",
            "parameters": {**data, "validation_items": 32, "test_items": 32},
        },
        "workload_settings": given,
        "algorithm": {"name": "sgd", "parameters": {**OPTIMIZER, "lr": 0.1}},
        "batch": batch,
        "workers": 1,
        "budget": {"samples": samples},
        "evaluation": {"every": samples},
        "compute": {"threads": threads},
        "checkpoint": "never",
    }


def run(folder: Path, threads: int, minutes: float, coarse: bool = False, problem: str = PLANTED) -> int:
    """Measure the cells that have no rate, until `minutes` are over; return their number.

    A cell that has failed is measured again by the next call. One that needs more memory than is free is left out.
    """
    until, done = time.monotonic() + 60 * minutes, 0
    known = {
        (r["labels"], r["batch"], r["layer"])
        for r in stored(folder)
        if "samples_per_second" in r and problem_of(r) == problem
    }
    for cell in cells(coarse, problem):
        if cell in known or time.monotonic() > until:
            continue
        labels, batch, layer = cell
        if memory(*cell) > (free := available()):
            print(
                f"{cell}: left out, it needs about {memory(*cell) / 1e9:.0f} GB of {free / 1e9:.0f} GB", flush=True
            )
            continue
        before = {"machine_ms": speed.probe(), "busy": busy()}
        journals = folder / "journals" / f"{labels}-{batch}-{time.time_ns()}"
        result = command(document(*cell, threads, problem), journals, keep=True)
        found = {
            "problem": problem,
            "labels": labels,
            "batch": batch,
            "layer": layer,
            **before,
            "commit": commit(),
        }
        found |= {"hardware": machine.hardware(), "state": result["state"], "why": str(result.get("why"))[-300:]}
        if over(result):
            found |= rates(journals, *cell)
        shutil.rmtree(journals, ignore_errors=True)
        name = f"{labels}-{batch}-{layer.replace(', ', '-')}.json"
        write(folder / "map" / (name if problem == PLANTED else f"{problem}-{name}"), found)
        print(
            f"{labels:,} labels, batch {batch}, {layer}: {found.get('samples_per_second', result['state'])}",
            flush=True,
        )
        done += 1
    return done


def available() -> int:
    """Return the bytes of memory that are free or can be made so, from /proc/meminfo."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return 1024 * int(lines["MemAvailable"].split()[0])


def rates(journals: Path, labels: int, batch: int, layer: str) -> dict[str, float]:
    """Return the rate of a run from its journal: the median step, with builds of tables spread over HORIZON."""
    clocks = [
        value
        for record in records(journals / "journal.0.jsonl")
        if isinstance(record, Steps)
        for value in unpack("clock", record.columns["clock"])
    ]
    counted = clocks[steps(labels, batch, layer) // 4 :]
    step = statistics.median(b - a for a, b in pairwise(counted))
    further = evaluations(journals, 1)[-1].further
    build = 0.0
    if layer.startswith(SLIDE):
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


def problem_of(record: Mapping[str, Any]) -> str:
    """Return what a cell was measured on."""
    return str(record.get("problem", PLANTED))


def finding(found: Sequence[Mapping[str, Any]]) -> str:
    """Return in how many cells of planted problems hashing computes faster than other layers, in words."""
    cells: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for record in found:
        if problem_of(record) == PLANTED and "samples_per_second" in record:
            cells[record["labels"], record["batch"]][record["layer"]] = record["samples_per_second"]
    told = []
    for other in (FULL, RANDOM):
        factors = [
            hashed / rates[other] for rates in cells.values() if other in rates and (hashed := _hashed(rates))
        ]
        told += [
            f"than {other} in {sum(factor > 1 for factor in factors)} of {len(factors)} cells "
            f"({_times(min(factors))} to {_times(max(factors))} times)"
        ]
    labels, batches = (sorted({cell[place] for cell in cells}) for place in (0, 1))
    return (
        f"In samples per second alone, from {labels[0]:,} to {labels[-1]:,} planted labels and batches of "
        f"{batches[0]} to {batches[-1]:,}, the fastest kind of hashing computes faster {' and '.join(told)}."
    )


def _times(factor: float) -> str:
    """Return a factor with two digits, without an exponent."""
    return f"{factor:.2g}" if factor < 99.5 else f"{float(f'{factor:.2g}'):,.0f}"


def _hashed(rates: Mapping[str, float]) -> float | None:
    return max((rate for layer, rate in rates.items() if layer.startswith(SLIDE)), default=None)


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the map as a section of the page: planted problems of all sizes, then the real records."""
    machines = sorted({title_of(record["hardware"]) for record in found if record.get("hardware")})
    most = max((r["labels"] for r in found if problem_of(r) == PLANTED), default=0)
    beyond = f"Above {most:,} labels nothing has been measured. " if 0 < most < LABELS[-1] else ""
    lines = [
        "## Map of rates",
        "",
        f"{'; '.join(machines)}{'. ' * bool(machines)}Samples/s, {ACTIVE} active labels or six times the batch, "
        "settings not tuned, the "
        f"median of {STEPS - STEPS // 4} steps (of {FEW - FEW // 4} where a step computes more than 67 million "
        f"outputs); `slide` with its builds spread over {HORIZON} steps: SimHash with 9 hashes and 50 tables, or "
        "DWTA with 5 and 24; per item with a common draw of 94%. **Rates only: the layers have not been trained "
        "to equal precision here**, and one that is faster per sample may need more samples. -: not measured, or "
        f"too large for the memory; ~: other programs used more than {QUIET:.0%} of the processors. {beyond}"
        f"Commit {', '.join(sorted({str(record.get('commit')) for record in found}))}.",
    ]
    if known := _known(found):
        lines += ["", known]
    for problem in (PLANTED, *(name for name in PROBLEMS if name != PLANTED)):
        if own := [record for record in found if problem_of(record) == problem]:
            title = "Planted problems" if problem == PLANTED else PROBLEMS[problem].title
            lines += ["", f"{title}:", "", *_rows(own)]
    return "\n".join(lines)


def _known(found: Sequence[Mapping[str, Any]]) -> str:
    """Return what is known of the times of some commits, and of which rows of the map; empty without anything."""
    old = [record for record in found if record.get("commit") in CLEARED]
    if len(old) == len(found):
        return known_of(str(record.get("commit")) for record in old)
    rows = sorted({(problem_of(record), record["labels"], record["batch"]) for record in old})
    named = [
        f"{'planted' if problem == PLANTED else 'real records'}, {labels:,} labels, batch {batch:,}"
        for problem, labels, batch in rows
    ]
    return (
        f"**{'; '.join(named)}: every step also cleared the whole gradient** (commit {', '.join(CLEARED)}, "
        "[decision 106](../decisions/0106-wide-outputs-on-a-gpu.md)), so that all layers but `full` are shown too "
        "slow there."
        if named
        else ""
    )


def _rows(found: Sequence[Mapping[str, Any]]) -> list[str]:
    rates = {(r["labels"], r["batch"], r["layer"]): r.get("samples_per_second") for r in found}
    disturbed = {(r["labels"], r["batch"], r["layer"]) for r in found if r.get("busy", 0.0) > QUIET}
    places = sorted({(labels, batch) for labels, batch, _ in rates})
    lines = [
        f"| labels | batch | {' | '.join(MAPPED)} |",
        f"|---|---|{'---|' * len(MAPPED)}",
    ]
    for labels, batch in places:
        cells_of = [(labels, batch, layer) for layer in MAPPED]
        marks = ["~" if cell in disturbed else "" for cell in cells_of]
        values = [rates.get(cell) for cell in cells_of]
        told = [f"{mark}{value:,.0f}" if value else "-" for mark, value in zip(marks, values, strict=True)]
        lines.append(f"| {labels:,} | {batch:,} | {' | '.join(told)} |")
    return lines
