"""Speed of training with a hashed output layer: `python -m benchmarks.slide kernels [OPTION...]`.

Times the parts of a step on a planted problem, and prints samples per second with rebuilds of the hash tables
in the account: one in every 50 steps, and by the growing schedule over the first 5000 steps. Measure on an idle
machine; on a busy one the column PROCESSOR (time of all threads; rates as if these ran undisturbed) says more.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from hooke.cli.text import columns
from hooke.hardware.description import describe
from hooke.hashing.families import FAMILIES, make_family
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.schedule import RebuildSchedule

from benchmarks.slide.network import Network, Settings, batches

CYCLE, HORIZON = 50, 5000
"""Steps between rebuilds, and steps over which the growing schedule is averaged."""


class Clock:
    """Wall and processor milliseconds of each part, all repetitions; processor time is that of all threads."""

    def __init__(self) -> None:
        self.times: dict[str, list[tuple[float, float]]] = defaultdict(list)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.times[part].append((1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu)))

    def figures(self, part: str) -> dict[str, float]:
        wall, cpu = zip(*self.times[part], strict=True)
        return {"median": median(wall), "fastest": min(wall), "processor": median(cpu)}


def measure(network: Network, optimizer: str, momentum: bool, settings: Settings, steps: int) -> dict[str, Any]:
    """Train `steps` steps; print the table of parts, return the figures."""
    shapes = network.w2.shape, network.w1.shape
    optimizers = [RowOptimizer(optimizer, shape, 1e-3, momentum=momentum) for shape in shapes]  # type: ignore[arg-type]
    pool = list(batches(settings, 12))
    clock, touched = Clock(), np.zeros(settings.labels, np.uint8)
    for step in range(3):  # compiles
        network.step(step, pool[step], optimizers, clock, touched)
    clock.times.clear()
    network.rebuild()
    touched[:] = 0
    rows, active = [], []
    for step in range(steps):
        with clock("step"):
            sizes, distinct = network.step(step, pool[step % len(pool)], optimizers, clock, touched)
        rows.append(distinct)
        active.append(sizes.mean())
        if step == min(steps, CYCLE) - 1:
            since = np.flatnonzero(touched)
            with clock("update"):
                moved = network.tables.update_from(network.family, network.w2, since, network.threads)
    for _ in range(3):
        with clock("rebuild"):
            network.rebuild()
    times = {part: clock.figures(part) for part in clock.times}
    rates = {}
    for kind in ("median", "fastest", "processor"):
        step_ms, rebuild_ms = times["step"][kind], times["rebuild"][kind]
        share = settings.threads if kind == "processor" else 1  # processor time is spread over the threads
        for name, often in (
            ("without rebuilds", 0.0), (f"rebuild every {CYCLE} steps", 1 / CYCLE),
            (f"growing gaps, {HORIZON} steps", RebuildSchedule().until(HORIZON) / HORIZON),
        ):  # fmt: skip
            rates.setdefault(name, {})[kind] = 1e3 * settings.batch * share / (step_ms + often * rebuild_ms)
    figures = {
        "active rows per sample": float(np.mean(active)), "different rows per batch": float(np.mean(rows)),
        f"rows touched in {min(steps, CYCLE)} steps": len(since), "ids that the update moved": moved,
        "MB tables": network.tables.bytes / 1e6, "MB moments": sum(o.bytes for o in optimizers) / 1e6,
        "MB weights": (network.w1.nbytes + network.w2.nbytes) / 1e6,
        "MB peak of the process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }  # fmt: skip
    title = optimizer + (" with momentum" if momentum else "")
    print(columns([
        (title.upper(), "MEDIAN", "FASTEST", "PROCESSOR"),
        *((f"{part}, ms", *(f"{value:.3g}" for value in each.values())) for part, each in times.items()),
        *((f"samples/s, {name}", *(f"{value:.0f}" for value in each.values())) for name, each in rates.items()),
        *((name, f"{value:.4g}", "", "") for name, value in figures.items()),
    ]))  # fmt: skip
    print(flush=True)
    return {"times": times, "rates": rates, "figures": figures}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.slide kernels", description="Measure hashed output layers.")
    for name, default, about in (
        ("labels", 670_091, "rows of the output layer"), ("features", 135_909, "rows of the input layer"),
        ("hidden", 128, "width"), ("batch", 128, "samples per step"),
        ("nnz", 75, "features per sample"),
        ("positives", 5, "labels per sample"), ("per-table", 5, "hashes per table, K"),
        ("tables", 24, "tables, L"),
        ("limit", 60, "candidates per sample"), ("uniform", 935, "rows of a draw"),
        ("least", 1000, "active rows per sample at least"), ("groups", 1, "draws per batch"),
        ("steps", 100, "steps to measure"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{about} (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--family", choices=sorted(FAMILIES), default="dwta")
    parser.add_argument("--strategy", default="vanilla", help="of queries (default: %(default)s)")
    parser.add_argument(
        "--optimizers", default="sgd,row-adam", help="as sgd,adagrad,row-adam,row-adam+m,lazy-adam"
    )
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    options = vars(parser.parse_args(arguments))
    target, steps, optimizers = options.pop("json"), options.pop("steps"), options.pop("optimizers").split(",")
    settings = Settings(**options)
    family = make_family(settings.family, settings.hidden, settings.per_table, settings.tables)
    results = {}
    for optimizer in optimizers:
        kind, _, momentum = optimizer.partition("+")
        results[optimizer] = measure(Network(settings, family), kind, bool(momentum), settings, steps)
    if target:
        hardware, versions = describe()
        report = {"unix": time.time(), "hardware": hardware, "versions": versions, "settings": options}
        target.write_text(json.dumps(report | {"results": results}, indent=2) + "\n")
