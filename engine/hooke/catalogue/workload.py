"""The base class of workloads (data set + model + loss), and the catalogue of all workloads.

A workload is a frozen value in a module of `hooke/workloads/` that does not import torch. `build()` imports torch
and returns an `Objective`, which one rank trains. Tests pass objectives of their own (for example a quadratic with
a known solution) to the same loop.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from hooke.catalogue.parametrized import Parametrized
from hooke.comm.base import Slice, Vector
from hooke.comm.touched import Touched
from hooke.errors import NotFound
from hooke.spec.further import FurtherMetric
from hooke.spec.spaces import Space
from hooke.spec.specification import Compute, Part

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


@dataclass(frozen=True)
class Score:
    """Sums over items of a held-out part; scores of shares can be added. The mean loss is `loss_sum / count`."""

    loss_sum: float
    correct: int
    count: int
    further: tuple[float, ...] = ()
    """Sums from which the objective computes its further metrics, always as many."""


@dataclass(frozen=True)
class Sizes:
    """What a workload takes in the memory of a process; see `hooke.catalogue.footprint`."""

    weights: int
    """Number of parameters, |W|."""
    data: int
    """Bytes of all parts of the data that a process holds; 0: they are streamed."""
    activations: int
    """Numbers that a sample's forward pass keeps for the backward pass, about."""
    assumed: str = ""
    """What was assumed about the data, which nobody has read yet; empty: nothing."""
    kept: int = 0
    """Bytes that each worker keeps beside vectors and data, such as hash tables."""


@dataclass(frozen=True)
class Place:
    """Compute options of a rank; (seed, rank, thread) select the random streams of dropout and augmentation."""

    compute: Compute = field(default_factory=Compute)
    seed: int = 0
    rank: int = 0
    thread: int = 0
    """Number of a thread of a worker whose threads compute gradients of their own; 0: the first, or all others."""
    scoring: Literal["fp32", "bf16"] | None = None
    """Precision of scores, the same on all ranks; None: that of the gradients."""


ALONE = Place()
"""Rank 0 of seed 0 with the default options of a run."""


class Objective(Protocol):
    """Loss and gradient of a model on its data, as functions of one flat float32 vector.

    By default a derived class computes synchronously, in main memory, and keeps no state from step to step.
    """

    layout: tuple[Slice, ...]
    train_size: int
    validation_size: int
    test_size: int
    notes: dict[str, str] = {}
    """Notes for the journal on how it computes: device, precision, threads."""
    reads_ahead: bool = False
    """Whether `prefetch` is useful: data are read from disk or copied to a device."""
    device: Any = "cpu"
    """The device of its vectors and computations; as text `cpu` or `cuda:0`."""

    touched: Touched | None = None
    """The rows that the latest gradient consists of; all other elements of the bound vector are zero. None: not
    known, or all."""

    @property
    def further_metrics(self) -> tuple[FurtherMetric, ...]:
        """What its evaluations report beside loss and accuracy; the same on every rank."""
        return ()

    @property
    def independent(self) -> bool:
        """Whether `gradient` uses nothing that other ranks use: it may then run while they run."""
        return False

    def allocate(self) -> Vector:
        """Return a new zero vector of all parameters (contiguous, 64-byte aligned)."""

    def initial(self, seed: int) -> Vector:
        """Return the initial weights, a function of the seed alone."""

    def bind(self, weights: Vector, gradient: Vector) -> None:
        """From now on read weights from `weights` and write gradients to `gradient`."""

    def pick(self, indices: Any) -> Any:
        """Return the batch with these training indices (phase data)."""

    def prefetch(self, indices: Any) -> None:
        """Begin to read the batch for the next call of `pick`."""

    def gradient(self, batch: Any) -> float:
        """Compute the mean loss at the bound weights and return it; write its gradient to the bound vector."""

    def synchronize(self) -> None:
        """Wait until the device has finished all operations; does nothing if it computes synchronously."""

    def evaluate(self, weights: Vector, start: int, stop: int, part: Part = "validation") -> Score:
        """Score `weights` on items start..stop - 1 of a part; bound weights and gradient stay unchanged.

        A run scores the validation part and, once, after its end, the test part. The result depends on the weights
        alone: running statistics of a model (batch normalisation) are computed anew.
        """

    def training_sums(self) -> tuple[float, ...]:
        """Return figures of this rank's training, always as many; they are added over ranks.

        Called when an evaluation of the validation part begins, while the clock stands; not on workers of
        methods whose server evaluates alone.
        """
        return ()

    def further(self, score: Score, training: tuple[float, ...] = ()) -> dict[str, float]:
        """Return further metrics by name, from the sums over all ranks; what has no value is left out or NaN.

        `training`: the added `training_sums`; () where there are none.
        """
        del score, training
        return {}

    def local_state(self) -> dict[str, Any]:
        """Return all state that outlives a step, except the vectors, as NumPy arrays: buffers and generators."""
        return {}

    def restore_local(self, state: dict[str, Any]) -> None:
        """Restore the state that `local_state` returned; raises CheckpointError for that of another model."""


class Workload(Parametrized):
    """One workload with its parameters; subclasses add fields and `build`."""

    target: ClassVar[float | None] = None
    """Default target of the form: a validation accuracy (0..1) for small budgets.

    If the value is an expectation that was not measured, the docstring of the workload says so.
    """

    classes: ClassVar[int | None] = None
    """Number of classes, if it is a classification with equally frequent classes, so that guessing has accuracy
    1 / classes and loss ln(classes); otherwise None."""

    search: ClassVar[Mapping[str, Space | tuple[Space, ...]]] = {}
    """Values that a search may try of parameters that a variant may set: a space, or several with conditions of
    which one holds at most. A variant names its own spaces: these are in the schema, for the form to propose."""

    @classmethod
    def spaces_at(cls, values: Mapping[str, Any]) -> dict[str, Space]:
        """Return the space of each parameter whose conditions hold for these values."""
        several = _several(cls.search)
        return {name: space for name, some in several.items() for space in some if space.applies(values)}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON schema, in which a parameter has its spaces, with their conditions, as `search`."""
        schema = handler(core_schema)
        fields = handler.resolve_ref_schema(schema).get("properties", {})
        for name, some in _several(cls.search).items():
            if name in fields:
                fields[name]["search"] = [each.model_dump(mode="json", exclude_defaults=True) for each in some]
        return schema

    data_fields: ClassVar[tuple[str, ...]] = ()
    """Parameters that select which files it reads."""

    def find_data(self) -> None:
        """Find its files without reading them, and without torch. Raises DataMissing as `build` does.

        By default a workload has no files, or they are found only when it is built.
        """

    def memory_sizes(self) -> Sizes | None:
        """Return what it takes in memory, without reading data or importing torch; None: that is not known."""
        return None

    def build(self, place: Place = ALONE) -> Objective:
        """Load the data and make the model for one rank; imports torch.

        Data and initial weights do not depend on `place`. Raises DataMissing, with the missing files and folder.
        """
        del place
        raise NotImplementedError(f"{type(self).__name__} does not define `build`")


def _several(search: Mapping[str, Space | tuple[Space, ...]]) -> dict[str, tuple[Space, ...]]:
    """Return the spaces of each parameter."""
    return {name: (each if isinstance(each, tuple) else (each,)) for name, each in search.items()}


@functools.cache
def catalogue() -> dict[str, type[Workload]]:
    """Return all workloads that can be run here, by id, in alphabetical order: see `discovery.py`."""
    from hooke.catalogue.discovery import found

    return {name: item.cls for name, item in found("workload").items.items()}


def workload(name: str) -> type[Workload]:
    """Return the workload called `name`. Raises NotFound, with the known names."""
    known = catalogue()
    if name not in known:
        raise NotFound(f"no workload is called {name!r}; there are: {', '.join(known)}")
    return known[name]


@contextmanager
def offered(cls: type[Workload]) -> Iterator[None]:
    """Offer a workload that exists in this process only, until the end of the block.

    Raises NotFound if its name is that of another workload.
    """
    known = catalogue()
    if cls.id() in known:
        raise NotFound(
            f"the name {cls.id()!r} is that of another workload, or of a comparison that is running: give another "
            "`name`"
        )
    known[cls.id()] = cls
    try:
        yield
    finally:
        del known[cls.id()]
