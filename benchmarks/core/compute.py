"""Forward and backward of LeNet at batch 64 on one core: plain PyTorch and Hooke.

Plain: contiguous images, fp32, `loss.backward()`. Hooke: channels last; with bf16 also autocast, weights cast once
per step as one vector. Processor time, measured alternately, best of several rounds. The limit of 7.8 ms was set
on a core with bf16 instructions (AVX512) that takes 18 to 25 ms for the plain step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from hooke.catalogue.workload import Place
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.spec.specification import Compute
from torch.nn import functional

from benchmarks.core._objectives import noise

Result = tuple[str, float, str, float | None]
BATCH, STEPS, TURNS = 64, 20, 5


def plain() -> Callable[[], None]:
    """Return a step of LeNet in plain PyTorch."""
    model = lenet()
    data = noise(BATCH)
    images, labels = data.inputs.float() / 256, data.labels

    def step() -> None:
        model.zero_grad()
        functional.cross_entropy(model(images), labels).backward()

    return step


def ours(precision: str, batch_size: int = BATCH) -> Callable[[], None]:
    """Return a gradient of the real objective, on a batch selected beforehand."""
    place = Place(Compute(device="cpu", precision=precision))
    objective = FlatObjective(lenet, noise(1000), noise(10), "linear", place=place)
    weights = objective.initial(0)
    objective.bind(weights, objective.allocate())
    batch = objective.pick(np.arange(batch_size))
    return lambda: objective.gradient(batch) and None


def seconds(step: Callable[[], None]) -> float:
    began = time.thread_time()
    for _ in range(STEPS):
        step()
    return (time.thread_time() - began) / STEPS


def fastest(ways: Mapping[str, Callable[[], None]]) -> dict[str, float]:
    """Return the seconds per step of each, minimum of several rounds."""
    for step in ways.values():
        seconds(step)
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(TURNS):
        for name, step in ways.items():
            best[name] = min(best[name], seconds(step))
    return best


def measure() -> Iterator[Result]:
    torch.set_num_threads(1)
    best = fastest({"plain PyTorch": plain(), "Hooke, fp32": ours("fp32"), "Hooke, bf16": ours("bf16")})
    for name, value in best.items():
        yield f"LeNet, batch {BATCH}, {name}", 1e3 * value, "ms", 7.8 if name == "Hooke, bf16" else None
    yield "bf16 over plain", best["Hooke, bf16"] / best["plain PyTorch"], "", None
