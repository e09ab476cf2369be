"""The first batch of a comparison: what a user gives is tried before anything is measured or run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooke.catalogue.workload import Place
from hooke.catalogue.workload import workload as find_workload
from hooke.errors import ArgumentError, HookeError
from hooke.objective.given_workload import GivenWorkload
from hooke.spec.specification import Part, RunSpec

if TYPE_CHECKING:
    from torch import Tensor

    from hooke.comm.base import Vector
    from hooke.objective.flat import FlatObjective
    from hooke.objective.samples import Source

HELD_OUT: tuple[Part, ...] = ("validation", "test")


def train_size(spec: RunSpec) -> int:
    """Return the number of training items, after model, data, loss and score have been tried on one batch.

    So have the items that are most likely not to fit: `not_finite` and `extremes`. Raises ArgumentError or
    DataInvalid for what does not fit together.
    """
    from hooke.objective.flat import FlatObjective

    chosen = find_workload(spec.workload.name).model_validate(spec.workload_parameters)
    with _failing("the model could not be made, or the data could not be read"):
        objective = chosen.build(Place(spec.compute, spec.seed, 0))
        weights = objective.initial(spec.seed)  # makes a second model
    batch = min(spec.batch, objective.train_size)
    objective.bind(weights, objective.allocate())
    with _failing("the first gradient failed, so that `model`, `train` and `loss` do not fit together"):
        loss = objective.gradient(objective.pick(range(batch)))
    if isinstance(chosen, GivenWorkload) and isinstance(objective, FlatObjective):
        _check_accuracy(spec, chosen, str(objective.train.label_dtype).removeprefix("torch."))
        sizes = objective.validation_size, objective.test_size
        for part, size in zip(HELD_OUT, sizes, strict=True):
            with _failing(
                f"the first score of the {part} part failed: it, `model`, `loss` and `score` do not fit"
            ):
                objective.evaluate(weights, 0, min(spec.batch, size), part)
        _Items(objective, weights, batch, chosen.given.validation is None).check(loss)
    return objective.train_size


def not_finite(source: Source) -> Iterator[tuple[int, str]]:
    """Yield index and description of the first item of a part in memory with NaN or Inf, if there is one."""
    import torch

    for name, values, chosen in _in_memory(source):
        if values.is_floating_point() and not math.isfinite(values.sum()):  # a sum may overflow, too
            wrong = ~torch.isfinite(values.reshape(len(values), -1)).all(1)
            found = torch.nonzero(wrong if chosen is None else wrong[chosen]).flatten()[:1]
            yield from ((index, f"NaN or infinite numbers in its {name}") for index in found.tolist())


def extremes(source: Source) -> Iterator[tuple[int, str]]:
    """Yield index and description of the items of a part in memory with the least and the largest whole number.

    It may be a class that the model has no output for, or a character beyond a table.
    """
    import torch

    for name, values, chosen in _in_memory(source):
        if values.dtype == torch.int64 and values.numel():
            ends = torch.aminmax(values.reshape(len(values), -1), dim=1)
            least, largest = ends if chosen is None else (each[chosen] for each in ends)
            yield int(least.argmin()), f"{name} {int(least.min())}"
            yield int(largest.argmax()), f"{name} {int(largest.max())}"


def _in_memory(source: Source) -> Iterator[tuple[str, Tensor, Tensor | None]]:
    """Yield name and numbers of inputs and labels, and the items that are those of the part; None: all."""
    from hooke.objective.samples import Samples, Subset

    whole, chosen = (source.source, source.items) if isinstance(source, Subset) else (source, None)
    if isinstance(whole, Samples):
        yield from (("input", whole.inputs, chosen), ("label", whole.labels, chosen))


@dataclass(frozen=True)
class _Items:
    """Tries single items of a user's data at the initial weights."""

    objective: FlatObjective
    weights: Vector
    batch: int
    split: bool
    """Whether the validation part was cut off the training items."""

    def check(self, loss: float) -> None:
        """Raise ArgumentError for an item that does not fit; `loss`: that of the first batch."""
        for item, found in self._tried(not_finite):
            if not math.isfinite(found):
                raise ArgumentError(f"{item} has a loss of {found}: correct it, or leave it out")
        if not math.isfinite(loss):
            raise ArgumentError(f"the first loss, at the initial weights, is {loss}: every run would diverge")
        for _ in self._tried(self._not_yet_tried):
            pass

    def _not_yet_tried(self, source: Source) -> Iterator[tuple[int, str]]:
        """Yield the extremes outside of the first batch, which has been tried: a score may cost a pass."""
        yield from ((index, what) for index, what in extremes(source) if index >= min(self.batch, len(source)))

    def _tried(self, which: Callable[[Source], Iterable[tuple[int, str]]]) -> Iterator[tuple[str, float]]:
        """Yield each item, in words, and the loss of a batch with it. Raises ArgumentError if there is none."""
        own = self.objective
        for part, source in (("train", own.train), ("validation", own.validation), ("test", own.test)):
            for index, what in which(source):
                item = f"{self._name(part, source, index)}, with {what},"
                with _failing(f"{item} does not fit `model` and `loss`"):
                    loss = self._loss(part, index, len(source))
                yield item, loss

    def _loss(self, part: str, index: int, size: int) -> float:
        """Return the loss of a batch that contains an item: layers and losses may need several items."""
        own, count = self.objective, min(self.batch, size)
        start = min(index, size - count)
        if part == "train":
            return own.gradient(own.pick(range(start, start + count)))
        held = HELD_OUT[0] if part == "validation" else HELD_OUT[1]
        return own.evaluate(self.weights, start, start + count, held).loss_sum

    def _name(self, part: str, source: Source, index: int) -> str:
        """Return the name of an item as the user knows it: that of the argument, and its place there."""
        from hooke.objective.samples import Subset

        if self.split and isinstance(source, Subset):
            return f"`train`: item {int(source.items[index])}"
        return f"`{part}`: item {index}"


def _check_accuracy(spec: RunSpec, workload: GivenWorkload, labels: str) -> None:
    """Raise ArgumentError for a target that no run can reach, since nothing counts as right."""
    wanted = spec.target is not None and spec.target.metric == "validation_accuracy"
    if wanted and workload.given.score is None and labels != "int64":
        raise ArgumentError(
            f"`score`: labels of type {labels} are not classes, so that no output counts as "
            'right: give `score`, or integer labels, or a `target` of the loss, metric="loss"'
        )


@contextmanager
def _failing(said: str) -> Iterator[None]:
    """Raise ArgumentError for an error of the user's functions, with what was done."""
    try:
        yield
    except HookeError:
        raise
    except Exception as error:
        raise ArgumentError(f"{said}: {type(error).__name__}: {error}") from error
