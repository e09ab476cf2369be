"""Compares the variants of an experiment with the first, in interleaved rounds: step time and exposed
communication.

All variants use the same hosts within the same minutes, one after the other in each round, and are compared within
a round, so that slow changes of the machine's load cancel. A variant called `communication off` gives the step
time without exchange, a lower bound of the step time, as is the step's share of an all-reduce.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hooke.cli.document import load_run
from hooke.spec.specification import RunSpec

from benchmarks.netlab.lab import Lab, LabError
from benchmarks.netlab.running import hooke
from benchmarks.netlab.starting import emulation
from benchmarks.netlab.wire_speed import limits

OFF = "communication off"
WIDTHS = {"fp32": 4, "bf16": 2, "fp16": 2}


def compare(lab: Lab, document: dict[str, Any], names: Sequence[str], workers: int, rounds: int) -> dict[str, Any]:
    """Run every variant once per round; return what was measured of each, by name."""
    known = [variant["name"] for variant in document.get("variants", [])]
    if unknown := [name for name in names if name not in known]:
        raise LabError(f"no variant is called {unknown[0]!r}; there are: {', '.join(known)}")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names or known}
    for seed in range(rounds):
        for name, measured in found.items():
            measured.append(_once(lab, load_run(document, name, None, workers, "mpi", seed), name))
    return {"emulated": emulation(lab, workers), "workers": workers, "rounds": rounds, "variants": found}


def _once(lab: Lab, spec: RunSpec, name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="netlab-") as folder:
        report, found = hooke(lab, spec, Path(folder))
        if report.state != "succeeded":
            raise LabError(f"{name!r} {report.state}: {report.why}")
        elements = _elements(Path(folder))
    steps = found["samples"] / (spec.batch * spec.workers)
    wire = limits(spec.workers, elements, lab.bits_per_second)["any"] * WIDTHS[spec.communication.wire] / 4
    phases = {phase: 1e3 * seconds / steps for phase, seconds in found["phases"].items()}
    return {
        "step_ms": 1e3 * found["train_seconds"] / steps,
        "exposed": found["communication_fraction"],
        "phases_ms": phases,
        "hidden_ms": 1e3 * found["hidden_seconds"] / steps,
        "cpu_ms": 1e3 * found["cpu_seconds"] / steps if found["cpu_seconds"] else None,
        "wire_ms": 1e3 * wire / spec.algorithm.parameters.get("period", 1),
    }


def _elements(folder: Path) -> int:
    import numpy as np

    with np.load(folder / "final.0.npz") as final:
        return int(final["weights"].size)


def lines(found: dict[str, Any]) -> list[str]:
    """Return the table: medians over rounds with [least, most]; ratios and shares are formed within each round."""
    variants: dict[str, list[dict[str, Any]]] = found["variants"]
    first = next(iter(variants.values()))
    off = variants.get(OFF)
    note = found["emulated"]["note"]
    said = [f"{note}; {found['emulated']['rate']}, {found['emulated']['transport']}, {found['rounds']} rounds"]
    head = ("variant", "ms per step", "over the first", "exposed, %", "of the limit, %", "processor ms per step")
    said.append(" | ".join(head))
    for name, runs in variants.items():
        cells = [name, _range([r["step_ms"] for r in runs], "{:.2f}")]
        cells.append(_range([r["step_ms"] / f["step_ms"] for r, f in zip(runs, first, strict=True)], "{:.3f}"))
        cells.append(_range([100 * r["exposed"] for r in runs], "{:.1f}"))
        floors = [max(o["step_ms"], r["wire_ms"]) for r, o in zip(runs, off, strict=True)] if off else []
        shares = [100 * floor / r["step_ms"] for r, floor in zip(runs, floors, strict=False)]
        cells.append(_range(shares, "{:.1f}") if shares and name != OFF else "-")
        cpu = [r["cpu_ms"] for r in runs if r["cpu_ms"] is not None]
        cells.append(_range(cpu, "{:.1f}") if cpu else "-")
        said.append(" | ".join(cells))
    return said


def _range(values: Sequence[float], form: str) -> str:
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{form.format(middle)} [{form.format(least)}, {form.format(most)}]"
