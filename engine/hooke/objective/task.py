"""Tasks: the loss that is minimised, and the score on held-out parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from hooke.catalogue.workload import Score
from hooke.errors import DataInvalid

ROUNDING = 1e-5
"""By how much a share in float32 may leave 0 to 1."""


@dataclass(frozen=True)
class Task:
    """`loss(output, labels)`: mean over a batch, a scalar; `score(output, labels)`: sums over it, in float64."""

    loss: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor, Tensor], Score]
    independent: bool = True
    """Whether ranks that are threads of one process may call `loss` at the same time."""
    scores_apart: bool = True
    """The same of `score`."""
    repeats: bool = True
    """Whether `loss`, and the model whose output it gets, do the same in every step; not known of users' code."""


def cross_entropy(output: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy: output (b, classes) for labels (b,), or (b, t, classes) for (b, t)."""
    return functional.cross_entropy(output.flatten(0, -2), labels.flatten())


def _sums(output: Tensor, labels: Tensor) -> Score:
    output, labels = output.flatten(0, -2), labels.flatten()
    losses = functional.cross_entropy(output, labels, reduction="none")
    return Score(losses.double().sum().item(), int((output.argmax(1) == labels).sum()), len(labels))


CLASSES = Task(cross_entropy, _sums)
"""Mean cross-entropy of classes: output (b, classes) for labels (b,), or (b, t, classes) for (b, t)."""


def custom(
    loss: Callable[[Tensor, Tensor], Tensor], score: Callable[[Tensor, Tensor], Tensor | float] | None
) -> Task:
    """Return the task of a user's functions: `loss`, the mean over a batch; `score`, the fraction correct (0..1).

    Without `score`, labels that are classes are compared with the largest output; other labels never count as
    correct. Scoring raises DataInvalid if `score` returns something else, and for cross-entropy of labels (b, 1),
    which would never be right.
    """

    def right(output: Tensor, labels: Tensor) -> float:
        if score is not None:
            return _share(float(score(output, labels)))
        if labels.dtype != torch.int64 or output.dim() != labels.dim() + 1:
            if loss is cross_entropy and output.dim() == labels.dim():
                raise DataInvalid(
                    f"an item has labels of shape {tuple(labels.shape[1:])}, but one output per class, of shape "
                    f"{tuple(output.shape[1:])}: give one class per item, such as labels[:, 0]"
                )
            return 0.0
        return float((output.argmax(-1) == labels).double().mean())

    def sums(output: Tensor, labels: Tensor) -> Score:
        count = len(labels)
        return Score(float(loss(output, labels)) * count, round(right(output, labels) * count), count)

    apart = _stateless(loss)
    return Task(loss, sums, apart, apart and (score is None or _stateless(score)), repeats=False)


def _share(value: float) -> float:
    if not -ROUNDING <= value <= 1 + ROUNDING:
        raise DataInvalid(
            f"`score` returns the share of a batch that is right, 0 to 1, not {value:g}: divide a count by the "
            "number of labels, a percentage by 100"
        )
    return value


def _stateless(function: Callable[..., object]) -> bool:
    """Return whether a loss or score is a function without variables of its own, which ranks would share."""
    return inspect.isfunction(function) and function.__closure__ is None and not vars(function)
