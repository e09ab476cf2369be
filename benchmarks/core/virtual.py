"""Overhead of the virtual world: processor time of a simulated run per gradient, and the gain by all cores."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch
from hooke.catalogue.validation import validate_run
from hooke.hardware.description import usable_cores
from hooke.loop.train import run_spec_virtual
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.objective.samples import Samples

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


def gain(workers: int, every: int = 10**9) -> float:
    """Return the speed of LeNet on all cores over that on one, best of several rounds in turns.

    `every`: samples between evaluations of 5,120 images; by default there are but two, of few images.
    """
    images = torch.rand(512, 1, 28, 28), torch.arange(512) % 10
    held = Samples(images[0].repeat(10, 1, 1, 1), images[1].repeat(10))
    parts, samples = (Samples(*images), Samples(*images)), 32 * workers * 12
    document = {
        "workload": {"name": "digits-mlp"},  # not built: the objective is given
        "algorithm": {"name": "sync-sgd", "parameters": {"lr": 0.001}},  # images are noise: larger ones diverge
        "batch": 32,
        "workers": workers,
        "world": "virtual",
        "virtual": {},
        "budget": {"samples": samples},
        "evaluation": {"every": every},
    }
    best = dict.fromkeys((1, usable_cores()), float("inf"))
    for _ in range(TURNS):
        for cores in best:
            began = time.perf_counter()
            run_spec_virtual(
                validate_run(document),
                None,
                lambda: FlatObjective(lenet, *parts, validation=held if every < samples else None),
                cores=cores,
            )
            best[cores] = min(best[cores], time.perf_counter() - began)
    return best[1] / best[usable_cores()]


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    for algorithm in ("sync-easgd", "async-easgd"):
        whole, own = seconds_per_gradient(algorithm)
        yield f"{algorithm}, {WORKERS} workers, per gradient", 1e6 * whole, "us", None
        yield f"{algorithm}, of which simulation and update", 1e6 * own, "us", None
    for workers in (4, 8):
        yield f"LeNet, {workers} workers, speed on {usable_cores()} cores over one", gain(workers), "x", None
    often = f"LeNet, {WORKERS} workers, evaluated every 2 steps, speed on {usable_cores()} cores over one"
    yield often, gain(WORKERS, 2 * 32 * WORKERS), "x", None
