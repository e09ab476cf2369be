"""What a workload is (data set + model + loss), and the catalogue of all of them.

A workload is a frozen, torch-free value found by walking `hooke/workloads/`. `build()` imports torch inside
and returns an `Objective`: what one rank trains. Tests hand their own Objective (a quadratic with a known
solution, say) to the same loop.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from hooke.catalogue.parametrized import Parametrized
from hooke.comm.base import Slice, Vector
from hooke.errors import NotFound
from hooke.spec.specification import Compute, Part


@dataclass(frozen=True)
class Score:
    """Sums over items of a held-out part, so that shares add up: mean loss is `loss_sum / count`."""

    loss_sum: float
    correct: int
    count: int


@dataclass(frozen=True)
class Place:
    """Who computes and how: (seed, rank) name the streams that a worker's dropout and augmentation draw from."""

    compute: Compute = field(default_factory=Compute)
    seed: int = 0
    rank: int = 0


ALONE = Place()
"""Rank 0 of seed 0 with the options that a run has by default."""


class Objective(Protocol):
    """A model bound to data, seen as functions of one flat float32 vector.

    A class derived from this one computes at once, in main memory, and keeps nothing from step to step, unless it
    says otherwise.
    """

    layout: tuple[Slice, ...]
    train_size: int
    validation_size: int
    test_size: int
    notes: dict[str, str] = {}
    """What was chosen for computing, in words for the journal: device, precision, threads."""
    reads_ahead: bool = False
    """Whether `prefetch` gains anything: data from disk, or on the way to a device."""
    device: Any = "cpu"
    """Where its vectors lie and it computes; as text `cpu` or `cuda:0`."""

    def allocate(self) -> Vector:
        """Return a new zero vector of all parameters (contiguous, 64-byte aligned)."""

    def initial(self, seed: int) -> Vector:
        """Return the initial weights, a function of the seed alone."""

    def bind(self, weights: Vector, gradient: Vector) -> None:
        """From now on read weights from the one vector and leave gradients in the other."""

    def pick(self, indices: Any) -> Any:
        """Return the batch with these training indices (phase data)."""

    def prefetch(self, indices: Any) -> None:
        """Begin to read the batch that the next `pick` will ask for."""

    def gradient(self, batch: Any) -> float:
        """Forward and backward at the bound weights; fill the bound gradient; return the mean loss."""

    def synchronize(self) -> None:
        """Return when the device has done what was asked of it; nothing where it computes at once."""

    def evaluate(self, weights: Vector, start: int, stop: int, part: Part = "validation") -> Score:
        """Score `weights` on items start..stop of a part; touches neither bound weights nor gradient.

        A run scores the validation part, and after its end, once, the test part. A function of the weights alone:
        statistics that a model keeps (batch normalisation) are computed anew.
        """

    def local_state(self) -> dict[str, Any]:
        """Return what outlives a step beside the vectors, as NumPy arrays: own buffers and generators."""
        return {}

    def restore_local(self, state: dict[str, Any]) -> None:
        """Go on where `local_state` was taken; raises CheckpointError for that of another model."""


class Workload(Parametrized):
    """One workload with its parameters; subclasses add fields and `build`."""

    target: ClassVar[float | None] = None
    """A validation accuracy (0..1) that counts as solved: the form's default, meant for small budgets.

    The docstring of a workload says so where it is an expectation that nobody has measured.
    """

    classes: ClassVar[int | None] = None
    """How many classes it tells apart, each as often as another: then guessing has accuracy 1 / classes and loss
    ln(classes). None: it is no such task."""

    def build(self, place: Place = ALONE) -> Objective:
        """Load the data and make the model for one rank; imports torch.

        Data and initial weights depend on no `place`. Raises DataMissing, saying what to put where.
        """
        del place
        raise NotImplementedError(f"{type(self).__name__} does not say how it is built")


@functools.cache
def catalogue() -> dict[str, type[Workload]]:
    """Return every workload that can be run here, by id, in alphabetical order: see `discovery.py`."""
    from hooke.catalogue.discovery import found

    return {name: item.cls for name, item in found("workload").items.items()}


def workload(name: str) -> type[Workload]:
    """Return the workload called `name`, or raise NotFound that lists the known ones."""
    known = catalogue()
    if name not in known:
        raise NotFound(f"no workload is called {name!r}; there are: {', '.join(known)}")
    return known[name]
