"""Objectives shared by benchmarks."""

from __future__ import annotations

import os
import time
from typing import Any

import torch
from hooke.catalogue.workload import Objective, Score, workload
from hooke.objective.flat import FlatObjective
from hooke.objective.models.lenet import lenet
from hooke.objective.samples import Samples, Subset
from hooke.spec.specification import Part


def make_lenet() -> FlatObjective:
    """Return LeNet on MNIST, or on noise of the same shape without MNIST; the time of a step is the same."""
    if os.environ.get("HOOKE_DATA"):
        objective = workload("mnist-lenet")().build()
        assert isinstance(objective, FlatObjective)
        return objective
    return FlatObjective(lenet, noise(60_000), noise(10_000), nonlinearity="linear")


def noise(count: int) -> Samples:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8, generator=generator)
    return Samples(images, torch.randint(0, 10, (count,), generator=generator), 1 / 256)


def make_digits() -> FlatObjective:
    objective = workload("digits-mlp")().build()
    assert isinstance(objective, FlatObjective)
    return objective


def items_of(objective: FlatObjective) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the inputs and labels of the training part, in memory."""
    part = objective.train
    items: Any = slice(None)
    if isinstance(part, Subset):
        part, items = part.source, part.items
    return part.inputs[items], part.labels[items]


class Timed(Objective):
    """An objective that records the processor time of its thread at the start of every gradient.

    Processor time, unlike wall time, hardly depends on other load of the machine.
    """

    def __init__(self, real: Objective) -> None:
        self._real = real
        self.layout = real.layout
        self.train_size, self.validation_size, self.test_size = (
            real.train_size,
            real.validation_size,
            real.test_size,
        )
        self.began: list[float] = []

    def seconds_per_step(self) -> float:
        """Return the mean seconds between the starts of consecutive gradients, without the first few (warm-up)."""
        warm = len(self.began) // 10
        return (self.began[-1] - self.began[warm]) / (len(self.began) - 1 - warm)

    def allocate(self) -> Any:
        return self._real.allocate()

    def initial(self, seed: int) -> Any:
        return self._real.initial(seed)

    def bind(self, weights: Any, gradient: Any) -> None:
        self._real.bind(weights, gradient)

    def pick(self, indices: Any) -> Any:
        return self._real.pick(indices)

    def gradient(self, batch: Any) -> float:
        self.began.append(time.thread_time())
        return self._real.gradient(batch)

    def evaluate(self, weights: Any, start: int, stop: int, part: Part = "validation") -> Score:
        return self._real.evaluate(weights, start, stop, part)


class Weightless(Timed):
    """The same with data and gradients of no cost, so that the measured time is that of the loop."""

    def bind(self, weights: Any, gradient: Any) -> None:
        del weights, gradient

    def pick(self, indices: Any) -> Any:
        return indices

    def gradient(self, batch: Any) -> float:
        del batch
        self.began.append(time.thread_time())
        return 0.0

    def evaluate(self, weights: Any, start: int, stop: int, part: Part = "validation") -> Score:
        del weights, part
        return Score(0.0, 0, stop - start)
