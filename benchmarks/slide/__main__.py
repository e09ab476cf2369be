"""Speed of training with a hashed output layer: `python -m benchmarks.slide [OPTION...]`.

Times the parts of a step on a planted problem, and prints samples per second with rebuilds of the hash tables
in the account: one in every 50 steps, and by the growing schedule over the first 5000 steps. Measure on an idle
machine.
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
    """Seconds of each part, all repetitions."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def __call__(self, part: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[part].append(time.perf_counter() - began)

    def ms(self, part: str) -> float:
        return 1e3 * median(self.seconds[part])

    def least(self, part: str) -> float:
        return 1e3 * min(self.seconds[part])


def measure(network: Network, optimizer: str, momentum: bool, settings: Settings, steps: int) -> dict[str, float]:
    """Train `steps` steps; print the table of parts, return the figures."""
    shapes = network.w2.shape, network.w1.shape
    optimizers = [RowOptimizer(optimizer, shape, 1e-3, momentum=momentum) for shape in shapes]  # type: ignore[arg-type]
    pool = list(batches(settings, 12))
    clock, touched = Clock(), np.zeros(settings.labels, np.uint8)
    for step in range(3):  # compiles
        network.step(step, pool[step], optimizers, clock, touched)
    clock.seconds.clear()
    touched[:] = 0
    rows, active = [], []
    for step in range(steps):
        with clock("step"):
            sizes, distinct = network.step(step, pool[step % len(pool)], optimizers, clock, touched)
        rows.append(distinct)
        active.append(sizes.mean())
        if step == min(steps, CYCLE) - 1:
            after_cycle = np.flatnonzero(touched)
    for _ in range(3):
        with clock("rebuild"):
            network.rebuild()
        with clock("update"):
            moved = network.tables.update_from(network.family, network.w2, after_cycle, network.threads)
    parts = [part for part in clock.seconds if part not in ("step", "rebuild", "update")]
    step_ms, rebuild_ms, update_ms = clock.ms("step"), clock.ms("rebuild"), clock.ms("update")
    rebuilds = RebuildSchedule().until(HORIZON)
    figures = {
        **{f"{part} ms": clock.ms(part) for part in parts},
        "step ms": step_ms, "fastest step ms": clock.least("step"),
        "rebuild ms": rebuild_ms, "update ms": update_ms, "rows of the update": len(after_cycle),
        "ids moved": moved, "active rows per sample": float(np.mean(active)),
        "different rows per batch": float(np.mean(rows)),
        "samples/s without rebuilds": 1e3 * settings.batch / step_ms,
        f"samples/s, rebuild every {CYCLE} steps": 1e3 * settings.batch / (step_ms + rebuild_ms / CYCLE),
        f"samples/s, growing gaps, {HORIZON} steps":
            1e3 * settings.batch / (step_ms + rebuild_ms * rebuilds / HORIZON),
        "MB tables": network.tables.bytes / 1e6, "MB moments": sum(o.bytes for o in optimizers) / 1e6,
        "MB weights": (network.w1.nbytes + network.w2.nbytes) / 1e6,
        "MB peak of the process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }  # fmt: skip
    title = optimizer + (" with momentum" if momentum else "")
    print(columns([(title.upper(), "MEDIAN"), *((what, f"{value:.4g}") for what, value in figures.items())]))
    print(flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.slide", description="Measure hashed output layers.")
    for name, default, about in (
        ("labels", 670_091, "rows of the output layer"), ("features", 135_909, "rows of the input layer"),
        ("hidden", 128, "width"), ("batch", 128, "samples per step"),
        ("nnz", 75, "features per sample"),
        ("positives", 5, "labels per sample"), ("per-table", 5, "hashes per table, K"),
        ("tables", 24, "tables, L"),
        ("limit", 500, "candidates per sample"), ("uniform", 500, "rows of a draw"),
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
    options = vars(parser.parse_args())
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


if __name__ == "__main__":
    main()
