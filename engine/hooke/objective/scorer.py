"""Scores weights on held-out parts with a separate model, without changing a worker's state.

Batch normalisation. Only parameters are exchanged, so the center has no running statistics. They are computed for
the weights to be scored: one pass in training mode over STATISTICS_SAMPLES training items, spread evenly over the
set and not augmented, in batches of EVALUATION_BATCH; mean and variance are averages over those batches. The items
are the same on every rank and at every evaluation, so the result is a function of the weights only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from hooke.catalogue.workload import Score
from hooke.objective.loader import Loader
from hooke.objective.task import Task
from hooke.spec.specification import Part

EVALUATION_BATCH = 256
"""Items per forward pass; the activations of a small convolutional net fit into a core's cache."""
STATISTICS_SAMPLES = 1024
"""Number of training items for batch statistics; all of a smaller set."""


class Scorer:
    """A second model of the same structure, whose parameters are views of the vector to be scored."""

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        train: tuple[int, Loader],
        parts: Mapping[Part, Loader],
        autocast: Callable[[], AbstractContextManager[Any]],
        batch: int = EVALUATION_BATCH,
    ) -> None:
        shells: dict[int, Any] = {
            id(p): nn.Parameter(torch.empty(0), requires_grad=False) for p in model.parameters()
        }
        self._model = copy.deepcopy(model, shells).eval()  # without the weights, which are not used
        self.parameters = list(self._model.parameters())
        self._task, self._parts, self._autocast, self._batch = task, parts, autocast, batch
        self._count, self._train = train
        self._norms = [m for m in self._model.modules() if isinstance(m, _BatchNorm) and m.track_running_stats]

    @torch.no_grad()
    def score(self, part: Part, start: int, stop: int) -> Score:
        """Return the sums over items start..stop of a part at the present parameters."""
        if start < stop and self._norms:
            self._renew_statistics()
        loss_sum, correct, count = 0.0, 0, 0
        for at in range(start, stop, self._batch):
            batch = self._parts[part].load(torch.arange(at, min(at + self._batch, stop)))
            found = self._task.score(self.forward(batch.inputs), batch.labels)
            loss_sum, correct, count = loss_sum + found.loss_sum, correct + found.correct, count + found.count
        return Score(loss_sum, correct, count)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the model's output as float32."""
        with self._autocast():
            output: Tensor = as_float(self._model(inputs))
        return output

    def _renew_statistics(self) -> None:
        for norm in self._norms:
            norm.reset_running_stats()
            norm.momentum = None  # an average over batches instead of an exponential one
            norm.train()
        items = min(STATISTICS_SAMPLES, self._count)
        spread = torch.arange(items) * self._count // items
        for at in range(0, items, self._batch):
            if 0 < at == items - 1:
                break  # a batch of one has no variance, and some normalisations refuse it
            self.forward(self._train.load(spread[at : at + self._batch]).inputs)
        for norm in self._norms:
            norm.eval()


def as_float(output: Any) -> Any:
    """Return a half-precision tensor as float32, anything else unchanged."""
    return output.float() if isinstance(output, Tensor) else output
