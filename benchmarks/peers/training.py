"""One rank of a peer: the loop around a method. Run as `python -m benchmarks.peers.training FOLDER`.

Data order, initial weights, budget, evaluation and phases use the classes of a Hooke run. A peer has no journals,
checks for NaN or collective decisions.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hooke.catalogue.workload import Place, workload
from hooke.cluster.guard import rank_of
from hooke.loop.decisions import RunSchedule
from hooke.objective.batches import Batches
from hooke.objective.task import cross_entropy
from hooke.spec.specification import Part
from hooke.trace.phases import Ledger, Phase
from torch import Tensor, nn

from benchmarks.peers import methods
from benchmarks.peers.settings import Settings


@dataclass
class Outcome:
    """The outcome of one rank; `evaluations` are tuples (samples, clock, loss, accuracy, seconds).

    clock: this rank's train clock when it stopped, s; seconds: how long it stood, on rank 0. Losses and accuracies
    are of all ranks, on the validation part. `test` is (loss, accuracy, seconds) of the test part, scored once
    after training; None if it diverged.
    """

    rank: int
    reason: str
    samples: int
    steps: int
    clock: float
    wall: float
    cpu: float
    phases: dict[str, float]
    host: str
    evaluations: list[tuple[int, float, float, float, float]] = field(default_factory=list)
    test: tuple[float, float, float] | None = None
    weights: Any = None
    """The evaluated weights: float32 array."""


class Worker:
    """The loop of one rank: counts steps, stops for evaluations, ends."""

    def __init__(self, settings: Settings, folder: Path, rank: int) -> None:
        self._settings, self._rank, self._folder = settings, rank, folder
        spec = self._spec = settings.spec()
        self._schedule = RunSchedule(spec)
        self.objective = workload(settings.workload)(**settings.model).build(Place(spec.compute, spec.seed, rank))
        self._batches = Batches(
            self.objective.train_size, spec.batch, spec.seed, rank, spec.workers, spec.sharding
        )
        model = self.objective.make()
        nn.utils.vector_to_parameters(self.objective.initial(spec.seed).clone(), model.parameters())
        model = model.to(memory_format=torch.channels_last)  # as the images; 5% faster
        self._ledger = Ledger(time.perf_counter)
        self._method = methods.make(settings, model, self._ledger, folder, rank)
        self._samples = self._steps = 0
        self._evaluations: list[tuple[int, float, float, float, float]] = []

    def train(self) -> Outcome:
        """Train to the end of the budget, or to the target."""
        schedule, ledger, spec = self._schedule, self._ledger, self._spec
        self._method.sums([0.0])
        (self._folder / f"started.{self._rank}").touch()
        (began,) = self._of_the_first(time.perf_counter())
        ledger.begin(None, began)
        cpu = time.process_time()
        self._evaluate()
        while schedule.reason is None:
            ledger.enter(Phase.DATA)
            batch = self.objective.pick(self._batches.next())
            ledger.enter(Phase.UPDATE)
            self._method.step(lambda model, batch=batch: self._loss(model, batch.inputs, batch.labels))
            ledger.enter(Phase.IDLE)
            self._steps += 1
            self._samples += spec.batch * spec.workers
            if self._steps % self._settings.accumulation:
                continue  # in the middle of a step: the weights are those of the one before
            if self._samples >= schedule.total_steps * spec.batch:
                schedule.reason = "budget"
            if schedule.evaluation_due(self._samples):
                self._evaluate()
        if self._evaluations[-1][0] != self._samples:
            self._evaluate()
        diverged = not math.isfinite(self._evaluations[-1][2])
        cpu = time.process_time() - cpu
        test = None if diverged else self._scored("test")
        clock = ledger.train()
        phases = {str(phase): seconds for phase, seconds in ledger.seconds.items()}
        weights = self._method.answer().numpy()
        self._method.close()
        wall, host = ledger.since - ledger.began, os.uname().nodename
        reason = "diverged" if diverged else str(schedule.reason)
        return Outcome(
            self._rank,
            reason,
            self._samples,
            self._steps,
            clock,
            wall,
            cpu,
            phases,
            host,
            self._evaluations,
            test,
            weights,
        )

    def _loss(self, model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
        low = self._settings.precision == "bf16"
        with torch.autocast("cpu", torch.bfloat16) if low else contextlib.nullcontext():
            output = model(inputs)
        return cross_entropy(output.float(), labels)

    def _evaluate(self) -> None:
        """Score the weights on the validation part while all ranks stop; end if they diverged."""
        # Waiting for the last rank to stop is on the clock; then the clock stands.
        ledger = self._ledger
        before = ledger.enter(Phase.IDLE)
        self._method.sums([0.0])
        ledger.enter(Phase.EVALUATE)
        stopped, clock = ledger.since, ledger.train()
        loss, accuracy, _ = self._scored("validation")
        (seconds,) = self._of_the_first(time.perf_counter() - stopped)
        ledger.leave_stop(stopped, seconds)
        ledger.enter(before)
        self._schedule.note_evaluation(self._samples, loss, accuracy)
        self._evaluations.append((self._samples, clock, loss, accuracy, seconds))
        if not math.isfinite(loss):
            self._schedule.reason = "budget"

    def _of_the_first(self, seconds: float) -> list[float]:
        """Return the seconds of rank 0, read before the others continue; all ranks share the machine's clock."""
        return self._method.sums([seconds if self._rank == 0 else 0.0])

    def _scored(self, part: Part) -> tuple[float, float, float]:
        """Return loss and accuracy of the weights on a part, divided among the ranks, and the seconds it took."""
        began, before = time.perf_counter(), self._ledger.enter(Phase.EVALUATE)
        objective, shares = self.objective, self._spec.workers
        size = objective.validation_size if part == "validation" else objective.test_size
        start, stop = size * self._rank // shares, size * (self._rank + 1) // shares
        share = objective.evaluate(self._method.answer(), start, stop, part)
        loss, correct, count = self._method.sums([share.loss_sum, float(share.correct), float(share.count)])
        self._ledger.enter(before)
        return loss / count, correct / count, time.perf_counter() - began


def main() -> None:
    """Train with the settings in the folder; write this rank's outcome to it."""
    folder = Path(sys.argv[1])
    rank = rank_of(dict(os.environ))
    settings = Settings.read(folder)
    outcome = Worker(settings, folder, rank).train()
    np.save(folder / f"weights.{rank}.npy", outcome.weights)
    (folder / f"outcome.{rank}.json").write_text(json.dumps(asdict(outcome) | {"weights": None}))
    if settings.method != "mpi4py":  # MPI must be finalized
        # Exit directly, because threads of PyTorch's process groups sometimes abort the interpreter at its end.
        os._exit(0)


if __name__ == "__main__":
    main()
