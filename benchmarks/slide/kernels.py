"""Speed of training with a hashed output layer: `python -m benchmarks.slide kernels [OPTION...]`.

Times the parts of a step on a planted problem, taken in several ways in turn, and prints samples per second with
rebuilds of the hash tables in the account: one in every 50 steps, and by the growing schedule over the first 5000
steps. Measure on an idle machine; on a busy one the column PROCESSOR (time of all threads; rates as if these ran
undisturbed) says more.
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
from hooke.hashing.family import Family
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.schedule import RebuildSchedule

from benchmarks.slide.network import DRAWN, LISTS, Batch, Network, Settings, batches

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


class Measured:
    """A network that takes its steps in one way, and their times."""

    def __init__(self, settings: Settings, family: Family, way: str, optimizer: str, momentum: bool) -> None:
        self.settings, self.network, self.clock = settings, Network(settings, family, way), Clock()
        shapes = self.network.w2.shape, self.network.w1.shape
        self.optimizers = [RowOptimizer(optimizer, shape, 1e-3, momentum=momentum) for shape in shapes]  # type: ignore[arg-type]
        self.title = f"{optimizer}{' with momentum' if momentum else ''}, {way}"
        self._touched, self._rows, self._active = np.zeros(settings.labels, np.uint8), list[int](), list[float]()
        self._more: dict[str, float] = {}

    def begin(self) -> None:
        """Forget the steps that compiled the kernels."""
        self.clock.times.clear()
        self.network.rebuild()
        self._touched[:] = 0
        self._rows.clear()
        self._active.clear()

    def step(self, number: int, batch: Batch) -> None:
        with self.clock("step"):
            sizes, distinct = self.network.step(number, batch, self.optimizers, self.clock, self._touched)
        self._rows.append(distinct())
        self._active.append(float(sizes.mean()))

    def update(self) -> None:
        """Renew the tables by the rows that were touched so far."""
        network, since = self.network, np.flatnonzero(self._touched)
        with self.clock("update"):
            moved = network.tables.update_from(network.family, network.w2, since, network.threads)
        self._more |= {f"rows touched in {len(self._rows)} steps": len(since), "ids that the update moved": moved}

    def rebuild(self) -> None:
        with self.clock("rebuild"):
            self.network.rebuild()

    def times(self) -> dict[str, dict[str, float]]:
        return {part: self.clock.figures(part) for part in self.clock.times}

    def rates(self) -> dict[str, dict[str, float]]:
        """Return samples per second with rebuilds, by the median, the fastest and the processor time of steps."""
        times, rates = self.times(), dict[str, dict[str, float]]()
        for kind in ("median", "fastest", "processor"):
            step_ms, rebuild_ms = times["step"][kind], times["rebuild"][kind]
            share = self.settings.threads if kind == "processor" else 1  # it is spread over the threads
            for name, often in (
                ("without rebuilds", 0.0), (f"rebuild every {CYCLE} steps", 1 / CYCLE),
                (f"growing gaps, {HORIZON} steps", RebuildSchedule().until(HORIZON) / HORIZON),
            ):  # fmt: skip
                rate = 1e3 * self.settings.batch * share / (step_ms + often * rebuild_ms)
                rates.setdefault(name, {})[kind] = rate
        return rates

    def figures(self) -> dict[str, float]:
        network = self.network
        return {
            "active rows per sample": float(np.mean(self._active)),
            "different rows per batch": float(np.mean(self._rows)), **self._more,
            "MB tables": network.tables.bytes / 1e6, "MB moments": sum(o.bytes for o in self.optimizers) / 1e6,
            "MB weights": (network.w1.nbytes + network.w2.nbytes) / 1e6,
            "MB peak of the process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        }  # fmt: skip

    def table(self) -> str:
        return columns([
            (self.title.upper(), "MEDIAN", "FASTEST", "PROCESSOR"),
            *((f"{part}, ms", *(f"{value:.3g}" for value in each.values()))
              for part, each in self.times().items()),
            *((f"samples/s, {name}", *(f"{value:.0f}" for value in each.values()))
              for name, each in self.rates().items()),
            *((name, f"{value:.4g}", "", "") for name, value in self.figures().items()),
        ])  # fmt: skip


def measure(ways: list[Measured], settings: Settings, steps: int) -> dict[str, Any]:
    """Train `steps` steps, one of each way after the other; print tables and ratios, return the figures."""
    pool = list(batches(settings, 12))
    for step in range(3):  # compiles
        for way in ways:
            way.step(step, pool[step])
    for way in ways:
        way.begin()
    for step in range(steps):
        for way in ways if step % 2 else reversed(ways):
            way.step(step, pool[step % len(pool)])
        if step == min(steps, CYCLE) - 1:
            for way in ways:
                way.update()
    for _ in range(3):
        for way in ways:
            way.rebuild()
    for way in ways:
        print(way.table(), "\n", flush=True)
    first = ways[0].rates()
    for way in ways[1:]:
        for name, rate in way.rates().items():
            told = ", ".join(f"{value / first[name][kind]:.2f} ({kind})" for kind, value in rate.items())
            print(f"{way.title} over {ways[0].title}, {name}: {told}", flush=True)
    return {way.title: {"times": way.times(), "rates": way.rates(), "figures": way.figures()} for way in ways}


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
    parser.add_argument(
        "--ways",
        default=f"{LISTS},{DRAWN}",
        help="of a step, in turn, compared with the first (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    options = vars(parser.parse_args(arguments))
    target, steps, optimizers = options.pop("json"), options.pop("steps"), options.pop("optimizers").split(",")
    ways = options.pop("ways").split(",")
    settings = Settings(**options)
    family = make_family(settings.family, settings.hidden, settings.per_table, settings.tables)
    results: dict[str, Any] = {}
    for optimizer in optimizers:
        kind, _, momentum = optimizer.partition("+")
        measured = [Measured(settings, family, way, kind, bool(momentum)) for way in ways]
        results |= measure(measured, settings, steps)
    if target:
        hardware, versions = describe()
        report = {"unix": time.time(), "hardware": hardware, "versions": versions, "settings": options}
        target.write_text(json.dumps(report | {"results": results}, indent=2) + "\n")
