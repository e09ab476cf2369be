"""How the kernels of hashing scale with threads: one network, the same steps with 1, 2, 4, ... of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from hooke.hashing.families import make_family
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.threads import Threads

from benchmarks.slide.conditions import ACTIVE
from benchmarks.slide.network import DRAWN, HOGWILD, Batch, Network, Settings, batches
from benchmarks.slide.region import WIDTH, features

CANDIDATES, UNIFORM = 60, ACTIVE - 65
"""Labels from the tables, and of the draw that a batch shares; the rest are the item's own."""
WAYS = {
    "row-wise Adagrad": (DRAWN, "adagrad"),
    "SGD": (DRAWN, "sgd"),
    "SGD, Hogwild": (HOGWILD, "sgd"),
}
"""What is measured -> way of a step, optimizer."""
BLOCKS, MOST = 3, 200


def counts(threads: int) -> list[int]:
    """Return 1, 2, 4, ... and the number of threads itself."""
    return [*(1 << k for k in range(threads.bit_length()) if 1 << k < threads), threads]


def scaling(labels: int, batch: int, threads: int, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the samples per second of every way and number of threads, the most threads first."""
    settings = Settings(
        labels=labels, features=features(labels), hidden=WIDTH, batch=batch, nnz=75, positives=5, per_table=5,
        tables=24, limit=CANDIDATES, uniform=min(UNIFORM, labels // 2), least=min(ACTIVE, labels), groups=1,
        threads=threads, family="dwta", strategy="vanilla",
    )  # fmt: skip
    family = make_family(settings.family, settings.hidden, settings.per_table, settings.tables)
    network, pool = Network(settings, family), list(batches(settings, 8))
    for name, (way, kind) in WAYS.items():
        network.way = way
        shapes = network.w2.shape, network.w1.shape
        optimizers = [RowOptimizer(kind, shape, 1e-3) for shape in shapes]  # type: ignore[arg-type]
        for count in reversed(counts(threads)):
            network.threads, network.settings = Threads(count), replace(settings, threads=count)
            rate = batch / _step(network, pool, optimizers, seconds)
            yield {"what": name, "threads": count, "samples_per_second": round(rate, 1)}
    for count in reversed(counts(threads)):
        network.threads = Threads(count)
        began = time.perf_counter()
        network.rebuild()
        yield {"what": "building the tables", "threads": count, "seconds": time.perf_counter() - began}


def _step(network: Network, pool: list[Batch], optimizers: list[RowOptimizer], seconds: float) -> float:
    """Return the seconds of a step, the median of some blocks of them."""
    touched = np.zeros(network.settings.labels, np.uint8)

    def steps(number: int) -> float:
        began = time.perf_counter()
        for step in range(number):
            network.step(step, pool[step % len(pool)], optimizers, lambda _: nullcontext(), touched)
        return (time.perf_counter() - began) / number

    steps(2)
    number = max(1, min(MOST, int(seconds / BLOCKS / steps(1))))
    return statistics.median(steps(number) for _ in range(BLOCKS))
