"""Conditions of the comparison on unequal workers: tasks, simulated clusters, methods and their trials."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hooke.spec.devices import PROFILES

TRIALS = 4
"""Settings tried of every method, in every condition."""
TUNING_SEED = 1000
"""Seed of the trials; no result has it."""
SEEDS = (1, 2, 3)
"""Seeds of the results."""
WORKERS = 4
BATCH = 32
"""Mean samples of a worker's step for methods whose batch is not searched: Weighted Sync SGD splits 4 x 32."""
LINK = {"latency": 10e-6, "seconds_per_byte": 0.8e-9}
"""10 Gb/s, where no device has a link of its own."""
COMPUTE = {"compute_seconds_per_sample": 20e-6, "compute_jitter": 0.05}
OF_CPUS = {"compute_seconds_per_step": 50e-6}


@dataclass(frozen=True)
class Task:
    """A workload with a budget and a target on the validation part."""

    title: str
    workload: Mapping[str, Any]
    metric: str
    value: float
    samples: int
    every: int


TASKS = {
    "digits": Task(
        "Digits 8 x 8, perceptron 64 - 64 - 32 - 10",
        {"name": "digits-mlp", "parameters": {"hidden1": 64, "hidden2": 32}},
        "validation_accuracy", 0.94, 20_000, 800,
    ),
    "a9a": Task(
        "a9a, perceptron 123 - 64 - 64 - 2",
        {"name": "libsvm-mlp", "parameters": {"data": "libsvm-binary/a9a", "layers": 2, "hidden": 64}},
        "validation_loss", 0.335, 40_000, 800,
    ),
    "w8a": Task(
        "w8a, perceptron 300 - 64 - 64 - 2",
        {"name": "libsvm-mlp", "parameters": {"data": "libsvm-binary/w8a", "layers": 2, "hidden": 64}},
        "validation_loss", 0.06, 40_000, 800,
    ),
}  # fmt: skip
"""By name; the targets were set before any trial, from one run of `sgd` with lr 0.1 and batch 32."""


@dataclass(frozen=True)
class Condition:
    """A simulated cluster of WORKERS workers, or of a box of devices."""

    title: str
    virtual: Mapping[str, Any]
    speeds: tuple[float, ...]
    """Samples per second of each worker at a batch of 256, relative to the slowest: what a measurement yields."""

    @property
    def workers(self) -> int:
        """Return P."""
        return len(self.speeds)


def of_ratio(ratio: int) -> Condition:
    """Return two workers of speed 1 and two of 1 / ratio."""
    speeds = [1.0, 1.0, 1 / ratio, 1 / ratio]
    virtual = LINK | COMPUTE | OF_CPUS | ({"speeds": speeds} if ratio > 1 else {})
    return Condition(f"speeds 1 : {ratio}", virtual, (ratio, ratio, 1.0, 1.0))


def of_box(kind: str) -> Condition:
    """Return a 28-core CPU beside two devices of a kind."""
    devices = [{"kind": kind, "count": 2}, {"kind": "cpu-28", "count": 1}]
    times = [_seconds(each) for each in (kind, kind, "cpu-28")]
    speeds = tuple(times[-1] / each for each in times)
    return Condition(f"2 x {kind.upper()} and a 28-core CPU", LINK | COMPUTE | {"devices": devices}, speeds)


def _seconds(kind: str, batch: int = 256) -> float:
    profile = PROFILES[kind]  # type: ignore[index]
    return profile.overhead + batch * COMPUTE["compute_seconds_per_sample"] / profile.speed


CONDITIONS = {
    **{f"ratio-{ratio}": of_ratio(ratio) for ratio in (1, 2, 4, 8)},
    **{kind: of_box(kind) for kind in ("k80", "v100", "h100")},
}

Settings = dict[str, Any]
Draw = Callable[[random.Random, Condition], Settings]
"""Returns `batch`, and the parameters of the method, of a trial."""


@dataclass(frozen=True)
class Entry:
    """A method, or a baseline, as it is compared."""

    algorithm: str
    draw: Draw
    alone: bool = False
    """Whether it runs on the fastest worker alone."""


def _lr(r: random.Random) -> float:
    return round(10 ** r.uniform(-2, 0), 4)


def _batch(r: random.Random) -> int:
    return r.choice((16, 32, 64))


def _sync(r: random.Random, c: Condition) -> Settings:
    del c
    return {"batch": _batch(r), "lr": _lr(r)}


def split(c: Condition, batch: int) -> Settings:
    """Return sizes by speed whose mean is a whole number, and the batch with which a step has P x `batch` samples.

    Speeds are rounded to whole multiples of the slowest; the sizes are as many times them as are needed.
    """
    sizes = [max(1, round(speed)) for speed in c.speeds]
    factor = c.workers // math.gcd(sum(sizes), c.workers)
    sizes = [factor * size for size in sizes]
    return {"batch": max(1, round(batch * c.workers / sum(sizes))), "sizes": sizes}


def _weighted(r: random.Random, c: Condition) -> Settings:
    return split(c, _batch(r)) | {"lr": _lr(r)}


def _elastic(r: random.Random, c: Condition) -> Settings:
    return _sync(r, c) | {"beta": round(10 ** r.uniform(-0.7, 0.1), 3), "period": r.choice((1, 4, 16))}


def _static(r: random.Random, c: Condition) -> Settings:
    """Large batches on the workers that are faster than the slowest, single ones on this."""
    large = r.choice((2, 4, 8, 16))
    fast = min(c.speeds) < max(c.speeds)
    sizes = [large if fast and speed > 1 else 1 for speed in c.speeds]
    return _sync(r, c) | {"alpha": 1.0, "largest": large, "sizes": sizes}


def _adaptive(r: random.Random, c: Condition) -> Settings:
    return _sync(r, c) | {"largest": r.choice((4, 8, 16, 32))}


def _merging(r: random.Random, c: Condition) -> Settings:
    bounds = {"largest": r.choice((4, 8, 16, 32)), "mega_batch": r.choice((16, 64, 256))}
    return _sync(r, c) | bounds | {"center_momentum": r.choice((0.0, 0.5, 0.9))}


ENTRIES = {
    "Sync SGD": Entry("sync-sgd", _sync),
    "Weighted Sync SGD, by speed": Entry("weighted-sync-sgd", _weighted),
    "SGD, fastest worker alone": Entry("sgd", _sync, alone=True),
    "Async SGD": Entry("async-sgd", _sync),
    "Async EASGD": Entry("async-easgd", _elastic),
    "Heterogeneous EASGD": Entry("heterogeneous-easgd", _elastic),
    "CPU+GPU Hogbatch": Entry("hogbatch", _static),
    "Adaptive Hogbatch": Entry("hogbatch", _adaptive),
    "Adaptive SGD": Entry("adaptive-sgd", _merging),
}
"""All are compared with the first, the synchronous step of the slowest."""
BASELINE = "Sync SGD"


def trial(entry: str, condition: str, number: int) -> Settings:
    """Return the settings of a trial: the same draws of a method in every condition."""
    return ENTRIES[entry].draw(random.Random(f"{entry} {number}"), CONDITIONS[condition])


def document(task: str, condition: str, entry: str, settings: Settings, seed: int) -> dict[str, Any]:
    """Return the specification of a run."""
    what, where, how = TASKS[task], CONDITIONS[condition], ENTRIES[entry]
    parameters = {name: value for name, value in settings.items() if name != "batch"}
    virtual, workers = dict(where.virtual), where.workers
    if how.alone:
        workers = 1
        if "devices" in virtual:
            virtual["devices"] = [virtual["devices"][0] | {"count": 1}]
        virtual.pop("speeds", None)
    return {
        "schema": "hooke.run/1",
        "workload": dict(what.workload),
        "algorithm": {"name": how.algorithm, "parameters": parameters},
        "batch": settings["batch"],
        "sharding": "dispatched",
        "workers": workers,
        "seed": seed,
        "world": "virtual",
        "virtual": virtual,
        "budget": {"samples": what.samples},
        "target": {"metric": what.metric, "value": what.value},
        "evaluation": {"every": what.every},
    }
