"""A PyTorch model as functions of one flat float32 vector: the compute path of the engine.

Every parameter is a view of the one weight vector, every `.grad` a view of the one gradient vector, so that an
algorithm's arithmetic and a message are single operations over contiguous memory. Nothing is allocated for
them in the loop: gradients are zeroed and accumulated in place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from hooke.comm.base import Vector
from hooke.workload import Score, Slice

EVALUATION_BATCH = 256
"""Test items per forward pass: the activations of a small convolutional net still fit in a core's cache."""


@dataclass(frozen=True)
class Samples:
    """A part of a data set, shared by every Problem of the process and never written.

    `inputs` (n, ...) are small integers as the files hold them, uint8: a quarter of the memory of float32; the
    model sees `inputs * scale`. `labels` (n,) are classes, int64.
    """

    inputs: Tensor
    labels: Tensor
    scale: float

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Batch:
    """Inputs (b, ...) float32 and labels (b,) int64, in buffers that the next `pick` overwrites."""

    inputs: Tensor
    labels: Tensor


class _Buffers:
    """Room for one batch of b items. Images lie in channels-last order: convolutions take half the time."""

    def __init__(self, items: int, like: Samples) -> None:
        shape = (items, *like.inputs.shape[1:])
        self.raw = torch.empty(shape, dtype=like.inputs.dtype)
        self.batch = Batch(_empty_input(shape), torch.empty(items, dtype=torch.int64))


def _empty_input(shape: tuple[int, ...]) -> Tensor:
    if len(shape) != 4:
        return torch.empty(shape)
    n, channels, height, width = shape
    # Said by strides: for one channel `to(memory_format=channels_last)` leaves strides that read as either order.
    strides = (channels * height * width, 1, width * channels, channels)
    return torch.empty_strided((n, channels, height, width), strides)


class FlatProblem:
    """A classifier trained by mean cross-entropy, bound to a training and a test set (implements `Problem`).

    `make` returns the model; the weights it starts with are not used. `initial` draws weights of two and more
    dimensions from Kaiming's uniform distribution over the fan-in for `nonlinearity`; vectors (biases) start at
    zero. The model must be deterministic: what it draws would come from the global generator, which ranks share.

    Buffers of a model (running statistics) stay with the rank: only parameters are in the vector, and `evaluate`
    uses a copy of the rank's own buffers.
    """

    def __init__(
        self,
        make: Callable[[], nn.Module],
        train: Samples,
        test: Samples,
        nonlinearity: Literal["relu", "linear"] = "relu",
    ) -> None:
        torch.set_num_threads(1)  # a rank is one core; and sums over several threads differ from run to run
        self.train_size, self.test_size = len(train), len(test)
        self._train, self._test, self._nonlinearity = train, test, nonlinearity
        with torch.random.fork_rng(devices=[]):  # a constructor draws weights that nobody uses
            self._model = make()
        self._scorer = copy.deepcopy(self._model).eval()
        self._parameters = list(self._model.parameters())
        self._scored = list(self._scorer.parameters())
        self.layout = _layout(self._model)
        self._size = self.layout[-1].stop
        self._buffers = _Buffers(1, train)
        self.bind(self.allocate(), self.allocate())

    def allocate(self) -> Tensor:
        """Return a new zero vector of all parameters; PyTorch aligns CPU memory to 64 bytes."""
        return torch.zeros(self._size, dtype=torch.float32)

    def views(self, vector: Vector) -> dict[str, Tensor]:
        """Return the parameters inside a vector, by name, in the model's shapes: a `state_dict`, not a copy."""
        flat = self._checked(vector)
        return {part.name: flat[part.start : part.stop].view(part.shape) for part in self.layout}

    def initial(self, seed: int) -> Tensor:
        """Return the initial weights, a function of the seed alone."""
        vector = self.allocate()
        generator = torch.Generator().manual_seed(seed)
        for view in self.views(vector).values():
            if view.dim() >= 2:
                nn.init.kaiming_uniform_(view, nonlinearity=self._nonlinearity, generator=generator)
        return vector

    def bind(self, weights: Vector, gradient: Vector) -> None:
        """From now on read weights from the one vector and leave gradients in the other."""
        self._gradient = self._checked(gradient)
        self._point(self._parameters, weights)
        for parameter, view in zip(self._parameters, self.views(gradient).values(), strict=True):
            parameter.grad = view

    def pick(self, indices: Any) -> Batch:
        """Return the batch with these training indices (array or sequence), valid until the next `pick`."""
        at = torch.as_tensor(indices, dtype=torch.int64)
        if len(at) != len(self._buffers.raw):
            self._buffers = _Buffers(len(at), self._train)
        raw, batch = self._buffers.raw, self._buffers.batch
        torch.index_select(self._train.inputs, 0, at, out=raw)
        torch.index_select(self._train.labels, 0, at, out=batch.labels)
        torch.mul(raw, self._train.scale, out=batch.inputs)
        return batch

    def gradient(self, batch: Batch) -> float:
        """Forward and backward at the bound weights; fill the bound gradient; return the mean loss."""
        self._gradient.zero_()
        loss = functional.cross_entropy(self._model(batch.inputs), batch.labels)
        torch.autograd.backward(loss)
        return loss.item()

    def evaluate(self, weights: Vector, start: int, stop: int) -> Score:
        """Score `weights` on test items start..stop, on a second model: what is bound stays untouched."""
        self._point(self._scored, weights)
        for own, scored in zip(self._model.buffers(), self._scorer.buffers(), strict=True):
            scored.copy_(own)
        loss_sum, correct = 0.0, 0
        with torch.no_grad():
            for at in range(start, stop, EVALUATION_BATCH):
                part = slice(at, min(at + EVALUATION_BATCH, stop))
                raw, labels = self._test.inputs[part], self._test.labels[part]
                answers = self._scorer(torch.mul(raw, self._test.scale, out=_empty_input(tuple(raw.shape))))
                loss_sum += functional.cross_entropy(answers, labels, reduction="none").double().sum().item()
                correct += int((answers.argmax(1) == labels).sum())
        return Score(loss_sum, correct, stop - start)

    def _point(self, parameters: list[nn.Parameter], vector: Vector) -> None:
        for parameter, view in zip(parameters, self.views(vector).values(), strict=True):
            parameter.data = view

    def _checked(self, vector: Vector) -> Tensor:
        if not isinstance(vector, Tensor):
            raise TypeError(f"a vector of this problem is a torch.Tensor, not {type(vector).__name__}")
        if vector.shape != (self._size,) or vector.dtype != torch.float32 or not vector.is_contiguous():
            raise ValueError(
                f"a vector of this problem is contiguous float32 of shape ({self._size},), "
                f"not {vector.dtype} of shape {tuple(vector.shape)}"
            )
        return vector


def _layout(model: nn.Module) -> tuple[Slice, ...]:
    parts: list[Slice] = []
    start = 0
    for name, parameter in model.named_parameters():
        parts.append(Slice(name, start, start + parameter.numel(), tuple(parameter.shape)))
        start = parts[-1].stop
    return tuple(parts)
