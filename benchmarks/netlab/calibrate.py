"""Calibration of a lab's network, measured before a session of runs and stored with their results."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from hooke.hardware.description import describe

from benchmarks.netlab.lab import Lab, LabError
from benchmarks.netlab.running import program
from benchmarks.netlab.starting import emulation
from benchmarks.netlab.wire_speed import limits

ROOT = Path(__file__).resolve().parents[2]


def calibrate(lab: Lab, parts: tuple[str, ...] = ("pair", "collectives")) -> dict[str, Any]:
    """Measure latency and bandwidth of hosts 1 and 2, and the all-reduce over all hosts."""
    if lab.hosts < 2:
        raise LabError("a network of one host has nothing to measure: up --hosts 2")
    hardware, versions = describe()
    found: dict[str, Any] = {
        "schema": "hooke.netlab/1",
        "unix": time.time(),
        "lab": {"hosts": lab.hosts, "rate": lab.rate, "bits_per_second": lab.bits_per_second},
        "emulated": emulation(lab, lab.hosts),
        "hardware": hardware,
        "versions": versions,
        "load": os.getloadavg()[0],
    }
    for part in parts:
        found[part] = _probe(lab, part, 2 if part == "pair" else lab.hosts)
    if "collectives" in found:
        found["collectives"]["limits"] = limits(lab.hosts, found["collectives"]["elements"], lab.bits_per_second)
    return found


def _probe(lab: Lab, part: str, ranks: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="netlab-") as folder:
        out = Path(folder) / "found.json"
        words = [
            "env",
            f"PYTHONPATH={ROOT}",
            sys.executable,
            "-m",
            "mpi4py",
            "-m",
            "benchmarks.netlab.probe",
            part,
        ]
        status, _ = program(lab, ranks, [*words, str(out)])
        if status != 0 or not out.exists():
            raise LabError(f"the probe of {part} on {ranks} hosts ended with status {status}")
        found: dict[str, Any] = json.loads(out.read_text())
        return found | {"measured_with": emulation(lab, ranks)["note"]}


def lines(found: dict[str, Any]) -> list[str]:
    """Return a calibration in words; every figure says whether ranks had a core each."""
    said = []
    if pair := found.get("pair"):
        note = pair["measured_with"]
        said.append(f"latency {pair['latency_seconds'] * 1e6:.0f} us ({note})")
        for size, rates in pair["bits_per_second"].items():
            told = ", ".join(f"{way} {rate / 1e6:.0f}" for way, rate in rates.items())
            said.append(f"{int(size) / 1e6:.2f} MB at {found['lab']['rate']}: {told} Mb/s ({note})")
    if sums := found.get("collectives"):
        note = sums["measured_with"]
        for name, (least, median, most) in sums["seconds"].items():
            limit = sums["limits"].get(name)
            against = f", at wire speed {limit * 1e3:.1f} ms" if limit else ""
            said.append(
                f"all-reduce of {sums['bytes'] / 1e6:.2f} MB, {name}: {median * 1e3:.1f} ms "
                f"[{least * 1e3:.1f}, {most * 1e3:.1f}]{against} ({note})"
            )
    return said
