"""Batches of a size of their own for every worker, which may follow the workers' speeds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Protocol, Self

from pydantic import Field

from hooke.catalogue.algorithm import Algorithm
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank

Size = Annotated[int, Field(ge=1, le=10_000)]
OVERWRITING = 11
"""Vector reads and writes of an overwriting merge beyond those of a delta merge: two copies, two sums, a norm."""


class Sized(Algorithm):
    """A method whose server tells every worker how many batches its next update has."""

    search = {"largest": Space(low=1, high=64, scale="log", integer=True, unless={"alpha": [1.0]})}

    sizes: tuple[Size, ...] = Field(
        (1,),
        min_length=1,
        max_length=4096,
        title="Sizes",
        description="Batches of worker 0, 1, ... at first; from the beginning again for further workers.",
    )
    smallest: int = Field(1, ge=1, le=10_000, title="Smallest", description="Least number of batches (b_min).")
    largest: int = Field(16, ge=1, le=10_000, title="Largest", description="Largest number of batches (b_max).")
    smallest_of: tuple[Size, ...] = Field(
        (),
        max_length=4096,
        title="Smallest, by worker",
        description="Of worker 0, 1, ..., from the beginning again for further workers; empty: `smallest`.",
    )
    largest_of: tuple[Size, ...] = Field(
        (),
        max_length=4096,
        title="Largest, by worker",
        description="Of worker 0, 1, ..., from the beginning again for further workers; empty: `largest`.",
    )
    alpha: float = Field(2.0, ge=1, le=100, title="Factor", description="Of a change of size; 1: none (static).")

    rate_exponent: float = Field(
        1.0,
        ge=0,
        le=1,
        title="Rate exponent",
        description="Of the number of batches of an update in its rate: 1 proportional, 0.5 by the square root, "
        "0 the same for every size.",
    )
    surviving: float = Field(
        1.0,
        gt=0,
        le=1,
        title="Surviving",
        description="Share of the updates by threads of a worker (kind hogwild-cpu) that count (beta).",
    )
    merging: Literal["delta", "overwrite"] = Field(
        "delta",
        title="Merge",
        description="`delta`: an update is added to the center. `overwrite`: the worker's weights replace it, "
        "which undoes what others added meanwhile; those of kind hogwild-cpu add.",
    )

    def weight(self, batches: int) -> float:
        """Return the weight of each gradient of an update by so many batches: 1 with rates by their number."""
        return math.pow(batches, self.rate_exponent - 1)

    def overwrites(self) -> bool:
        """Return whether updates may be undone at the server."""
        return self.merging == "overwrite"

    def overwriting(self, r: Rank) -> list[int]:
        """Return the workers whose weights replace the center: those with a copy of their own."""
        groups = ((i, r.spec.group(i)) for i in range(r.workers) if self.overwrites())
        return [i for i, group in groups if group is None or group.kind != "hogwild-cpu"]

    def vector_accesses(self, server: bool) -> float:
        """Return those of one step; a server that overwrites copies twice, and adds up what it undoes."""
        return super().vector_accesses(server) + (OVERWRITING if server and self.overwrites() else 0)

    def counts(self, r: Rank) -> list[float]:
        """Return by how much an update of each worker counts: 1, or beta T with T sub-batches for its threads."""
        groups = [r.spec.group(i) for i in range(r.workers)]
        return [self.surviving * g.parts if g is not None and g.shares_weights else 1.0 for g in groups]

    def exchange_period(self) -> int:
        """Return the largest number of batches of an update."""
        return max(self.largest_of or (self.largest,))

    def within(self, worker: int) -> tuple[int, int]:
        """Return the bounds of a worker's sizes."""
        low, high = self.smallest_of or (self.smallest,), self.largest_of or (self.largest,)
        return low[worker % len(low)], high[worker % len(high)]

    def joined(self, worker: int, workers: int) -> tuple[int, int]:
        """Return a worker's first size, at least `smallest`, and its largest one."""
        del workers
        (low, high), first = self.within(worker), self.sizes[worker % len(self.sizes)]
        return max(low, first), high if self.alpha > 1 else first

    def fitting(self, most: Sequence[int]) -> Self:
        """Return the method with the largest sizes bounded."""
        bounds = tuple(min(self.within(i)[1], each) for i, each in enumerate(most))
        return self.model_copy(update={"largest_of": bounds})

    def faults(self, workers: int) -> list[str]:
        """Return what is wrong with bounds and sizes, of the first worker of which something is."""
        for worker in range(workers):
            (low, high), size = self.within(worker), self.sizes[worker % len(self.sizes)]
            if low > high:
                return [f"smallest = {low} exceeds largest = {high} (worker {worker})"]
            if not low <= size <= high:
                return [f"sizes are between smallest and largest, {low} to {high}: not {size} (worker {worker})"]
        return []


class Bounded(Protocol):
    """What the rule needs to know: see the fields of `Sized`."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes at first, of worker 0, 1, ..."""

    @property
    def alpha(self) -> float:
        """Return the factor of a change."""

    def within(self, worker: int) -> tuple[int, int]:
        """Return the bounds of a worker's sizes."""


class Bounds(NamedTuple):
    """Sizes of a method that is not `Sized`."""

    sizes: tuple[int, ...]
    smallest: int
    largest: int
    alpha: float

    def within(self, worker: int) -> tuple[int, int]:
        """Return the bounds of a worker's sizes, here the same for all."""
        del worker
        return self.smallest, self.largest


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
        self._alike = set(self._counts) == {1.0}
        self._state: Any = None
        self.updates = [0] * workers
        """Of each worker; n_i is `counts` times as much."""
        self.now = [method.sizes[i % len(method.sizes)] for i in range(workers)]

    def kept(self, state: Any) -> Self:
        """Go on from a state of the rank, if it is from a checkpoint, and keep updates and sizes there.

        In front of the vector; not kept in one that has no room for two numbers per worker.
        """
        from hooke.comm.elements import numbers  # not at the top: a method's parameters are read without NumPy

        workers = len(self.now)
        if len(state) >= 2 * workers:
            self._state = numbers(state)[: 2 * workers]
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
        sizes = [size for i, size in enumerate(self.now) if i not in dropped] if dropped else self.now
        return len(sizes) * self.now[worker] / sum(sizes)

    def updated(self, worker: int, dropped: Collection[int] = ()) -> None:
        """Count an update of a worker, and choose its next size; dropped workers do not count.

        The count of a dropped worker stands still: no other one would have fewer updates, and none shrink.
        """
        method, size = self._method, self.now[worker]
        smallest, largest = method.within(worker)
        self.updates[worker] += 1
        n: Sequence[float] = self.updates
        if not self._alike:
            n = [number * count for number, count in zip(self.updates, self._counts, strict=True)]
        mine, others = n[worker], [*n[:worker], *n[worker + 1 :]]
        if dropped:
            others = [each for i, each in enumerate(n) if i != worker and i not in dropped]
        if others and mine < min(others) - self._margin:
            self.now[worker] = max(smallest, math.floor(size / method.alpha))
        elif others and mine > max(others) + self._margin:
            self.now[worker] = min(largest, math.ceil(size * method.alpha))
        self._keep(worker)
