"""Batches of a size of their own for every worker, which may follow the workers' speeds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self

from pydantic import Field

from hooke.catalogue.algorithm import Algorithm
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank

Size = Annotated[int, Field(ge=1, le=10_000)]


class Sized(Algorithm):
    """A method whose server tells every worker how many batches its next update has."""

    search = {"largest": Space(low=1, high=64, scale="log", integer=True)}

    sizes: tuple[Size, ...] = Field(
        (1,),
        min_length=1,
        max_length=4096,
        title="Sizes",
        description="Batches of worker 0, 1, ... at first; from the beginning again for further workers.",
    )
    smallest: int = Field(1, ge=1, le=10_000, title="Smallest", description="Least number of batches (b_min).")
    largest: int = Field(16, ge=1, le=10_000, title="Largest", description="Largest number of batches (b_max).")
    alpha: float = Field(2.0, ge=1, le=100, title="Factor", description="Of a change of size; 1: none (static).")

    surviving: float = Field(
        1.0,
        gt=0,
        le=1,
        title="Surviving",
        description="Share of the updates by threads of a worker (kind hogwild-cpu) that count (beta).",
    )

    def counts(self, r: Rank) -> list[float]:
        """Return by how much an update of each worker counts: 1, or beta T with T sub-batches for its threads."""
        groups = [r.spec.group(i) for i in range(r.workers)]
        return [self.surviving * g.parts if g is not None and g.shares_weights else 1.0 for g in groups]

    def exchange_period(self) -> int:
        """Return the largest number of batches of an update."""
        return self.largest

    def faults(self, workers: int) -> list[str]:
        """Return what is wrong with bounds and sizes."""
        if self.smallest > self.largest:
            return [f"smallest = {self.smallest} exceeds largest = {self.largest}"]
        for size in self.sizes[:workers]:
            if not self.smallest <= size <= self.largest:
                return [f"sizes are between smallest and largest, {self.smallest} to {self.largest}: not {size}"]
        return []


class Bounded(Protocol):
    """What the rule needs to know: see the fields of `Sized`."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes at first, of worker 0, 1, ..."""

    @property
    def smallest(self) -> int:
        """Return the lower bound."""

    @property
    def largest(self) -> int:
        """Return the upper bound."""

    @property
    def alpha(self) -> float:
        """Return the factor of a change."""


class Bounds(NamedTuple):
    """Sizes of a method that is not `Sized`."""

    sizes: tuple[int, ...]
    smallest: int
    largest: int
    alpha: float


class Sizes:
    """The sizes of all workers, by their numbers of updates n: the rule of Adaptive Hogbatch (arXiv 2004.08771).

    b_i / alpha, rounded down, if n_i is less than that of all others; b_i alpha, rounded up, if it is more than
    that of all others; within the bounds of the method. `margin`: less or more by more than this. `counts`: by how
    much n_i grows with an update of worker i; empty: by 1.
    """

    def __init__(
        self, method: Bounded, workers: int, margin: int = 0, counts: Sequence[float] | None = None
    ) -> None:
        self._method, self._margin = method, margin
        self._counts = [1.0] * workers if counts is None else list(counts)
        self._state: Any = None
        self.updates = [0] * workers
        """Of each worker; n_i is `counts` times as much."""
        self.now = [method.sizes[i % len(method.sizes)] for i in range(workers)]

    def kept(self, state: Any) -> Self:
        """Go on from a state of the rank, if it is from a checkpoint, and keep updates and sizes there.

        In front of the vector; not kept in one that has no room for two numbers per worker.
        """
        workers = len(self.now)
        if len(state) >= 2 * workers:
            self._state = state[: 2 * workers]
            if any(restored := [round(value) for value in self._state.tolist()]):
                self.updates, self.now = restored[:workers], restored[workers:]
            for worker in range(workers):
                self._keep(worker)
        return self

    def _keep(self, worker: int) -> None:
        if self._state is not None:
            self._state[worker], self._state[len(self.now) + worker] = self.updates[worker], self.now[worker]

    def share(self, worker: int, dropped: Collection[int] = ()) -> float:
        """Return the size of a worker over the mean size of all that are not dropped."""
        sizes = [size for i, size in enumerate(self.now) if i not in dropped]
        return len(sizes) * self.now[worker] / sum(sizes)

    def updated(self, worker: int, dropped: Collection[int] = ()) -> None:
        """Count an update of a worker, and choose its next size; dropped workers do not count.

        The count of a dropped worker stands still: no other one would have fewer updates, and none shrink.
        """
        method, size = self._method, self.now[worker]
        self.updates[worker] += 1
        n = [number * count for number, count in zip(self.updates, self._counts, strict=True)]
        mine, others = n[worker], [each for i, each in enumerate(n) if i != worker and i not in dropped]
        if others and mine < min(others) - self._margin:
            self.now[worker] = max(method.smallest, math.floor(size / method.alpha))
        elif others and mine > max(others) + self._margin:
            self.now[worker] = min(method.largest, math.ceil(size * method.alpha))
        self._keep(worker)
