"""One worker without its run: an objective, its weights and row-wise Adagrad, step by step in this process.

A step is that of `hooke run` with SGD: pick a batch, compute the gradient, step along it. Journal, checks
and decisions of the loop are left out, and many networks are measured in one process.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from hooke.catalogue.workload import Place
from hooke.comm.touched import Touched
from hooke.hashing.schedule import RebuildSchedule
from hooke.methods.rowwise import RowStep
from hooke.objective.bags import Bags
from hooke.objective.batches import Batches
from hooke.objective.slide import Rebuilt
from hooke.objective.wide import WideObjective
from hooke.spec.specification import Compute
from hooke.workloads.xmlc_mlp import XmlcMlp

from benchmarks.slide.region import HORIZON

BLOCKS = 5
"""Times that a rate is the median of."""
MOST = 400
"""Steps of a block, at most."""
LONG = 1.0
"""Seconds of a step from which few of them are taken."""

Parts = tuple[Bags, Bags]


class Held(XmlcMlp):
    """The workload on parts that are made once for many networks."""

    def on(self, parts: Parts, place: Place) -> WideObjective:
        """Return its objective on these parts."""
        object.__setattr__(self, "_held", parts)
        return self.build(place)

    def _parts(self) -> tuple[Bags, Bags, Bags | None]:
        held: Parts = self.__dict__["_held"]
        return *held, None


@dataclass(frozen=True)
class Where:
    """A device and its settings; `device`: cpu or cuda."""

    device: str
    threads: int
    precision: str = "fp32"

    def place(self, seed: int = 0) -> Place:
        """Return the place of the only worker there."""
        asked = {"device": self.device, "threads": self.threads, "precision": self.precision}
        return Place(Compute.model_validate(asked), seed)


class Learner:
    """An objective with weights and optimizer; stands for the rank that `RowStep` expects."""

    def __init__(
        self, objective: WideObjective, lr: float, batch: int, seed: int = 0, initial: torch.Tensor | None = None
    ) -> None:
        """`initial`: weights that are known, on the CPU; else they are drawn from the seed."""
        self.objective, self.layout, self.batch, self.t = objective, objective.layout, batch, 0
        self.spec = SimpleNamespace(seed=seed, communication=SimpleNamespace(rows="all"))
        self.params = objective.initial(seed) if initial is None else initial.to(objective.device, copy=True)
        self._gradient = objective.allocate()
        objective.bind(self.params, self._gradient)
        objective.apart = True  # as for the method `sgd`
        self._batches = Batches(objective.train_size, batch, seed, 0, 1, "iid")
        rank: Any = self
        self._step = RowStep(rank, lr)

    def state(self, name: str) -> torch.Tensor:
        """Return a vector of zeros that the optimizer keeps."""
        del name
        return self.objective.allocate()

    def touched(self, gradient: Any) -> Touched | None:
        """Return the rows of the latest gradient."""
        del gradient
        return self.objective.touched

    def stepped(self, elements: int) -> None:
        """Take note of nothing."""

    def step(self) -> None:
        """Take a step; the device may go on with it."""
        self.objective.gradient(self.objective.pick(self._batches.next()))
        self._step.apply(self._gradient)
        self.t += 1

    def seconds(self, steps: int) -> float:
        """Take steps and return how long they took, until the device had completed them."""
        self.objective.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.objective.synchronize()
        return time.perf_counter() - began


def rate(learner: Learner, seconds: float) -> dict[str, Any]:
    """Return the samples per second of steps after the first ones, measured for about so many seconds.

    Builds of hash tables are taken out of the steps and spread over HORIZON of them, as in the map.
    """
    learner.seconds(1)  # compiles, and builds the tables
    once = learner.seconds(1)
    if once < LONG:
        learner.seconds(2)
        once = learner.seconds(1)
    steps = max(1, min(MOST, int(seconds / BLOCKS / once)))
    times = []
    for _ in range(BLOCKS if once < LONG else 2):
        before = _tables(learner)[1]
        took = learner.seconds(steps)
        times.append((took - (_tables(learner)[1] - before)) / steps)
    step, build = statistics.median(times), 0.0
    if isinstance(layer := learner.objective.layer, Rebuilt):
        spent = _tables(learner)[1]  # the first build may have compiled
        layer.rebuild(learner.objective.rows)
        build = (_tables(learner)[1] - spent) * (1 + RebuildSchedule().until(HORIZON)) / HORIZON
    return {
        "step_seconds": step,
        "build_seconds_per_step": build,
        "steps": steps * len(times),
        "least_step_seconds": min(times),
        "most_step_seconds": max(times),
        "samples_per_second": round(learner.batch / (step + build), 1),
    }


def curve(learner: Learner, samples: int, every: int, limit: float) -> list[dict[str, float]]:
    """Train for so many samples, or `limit` seconds on the clock; return the precisions of the validation part.

    They are scored every `every` samples, off the clock, and at the end.
    """
    clock, points = 0.0, list[dict[str, float]]()
    while (done := points[-1]["samples"] if points else 0) < samples and clock < limit:
        steps = max(1, min(every, samples - int(done)) // learner.batch)
        clock += learner.seconds(steps)
        objective = learner.objective
        score = objective.evaluate(learner.params, 0, objective.validation_size)
        further = objective.further(score, objective.training_sums())
        points.append({
            "samples": done + steps * learner.batch, "seconds": clock, "p_at_1": score.correct / score.count,
            "loss": score.loss_sum / score.count, **further,
        })  # fmt: skip
    return points


def _tables(learner: Learner) -> tuple[float, float]:
    """Return builds of the hash tables so far, and their seconds."""
    builds, seconds = learner.objective.training_sums()[-3:-1]
    return builds, seconds


def until(learner: Learner, target: float, every: int, most: int, limit: float) -> dict[str, Any]:
    """Train to a precision at 1 on the validation part, scored every `every` samples off the clock.

    Ends without it after `most` samples, or `limit` seconds on the clock. A time is that of whole evaluations.
    """
    clock, samples, before = 0.0, 0, 0.0
    found: dict[str, Any] = {"time_to_target": None, "samples_to_target": None}
    while samples < most and clock < limit:
        steps, before = max(1, every // learner.batch), clock
        clock += learner.seconds(steps)
        samples += steps * learner.batch
        score = learner.objective.evaluate(learner.params, 0, learner.objective.validation_size)
        found |= {"samples": samples, "train_seconds": clock, "validation_accuracy": score.correct / score.count}
        if found["validation_accuracy"] >= target:
            return found | {"time_to_target": clock, "samples_to_target": samples, "not_before": before}
    return found
