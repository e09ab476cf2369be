"""Overhead of the virtual world: processor time of a simulated run per gradient."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch
from hooke.catalogue.validation import validate_run
from hooke.loop.train import run_spec_virtual

from benchmarks.core._objectives import Weightless, make_digits

Result = tuple[str, float, str, float | None]
WORKERS = 8
STEPS = 100
TURNS = 3


def seconds_per_gradient(algorithm: str) -> tuple[float, float]:
    """Return (with real gradients, with gradients of no cost), best of several rounds."""
    document = {
        "schema": "hooke.run/1",
        "workload": {"name": "digits-mlp"},
        "algorithm": {"name": algorithm},
        "batch": 32,
        "workers": WORKERS,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": 32 * WORKERS * STEPS},
        "evaluation": {"every": 10**9},
    }
    spec = validate_run(document)
    makers = (make_digits, lambda: Weightless(make_digits()))
    best = [float("inf"), float("inf")]
    for _ in range(TURNS):
        for i, make in enumerate(makers):
            began = time.process_time()
            run_spec_virtual(spec, None, make)
            best[i] = min(best[i], (time.process_time() - began) / (WORKERS * STEPS))
    return best[0], best[1]


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    for algorithm in ("sync-easgd", "async-easgd"):
        whole, own = seconds_per_gradient(algorithm)
        yield f"{algorithm}, {WORKERS} workers, per gradient", 1e6 * whole, "us", None
        yield f"{algorithm}, of which simulation and update", 1e6 * own, "us", None
