"""Synchronous steps whose batches are split among the workers: by sizes that are given, or by measured speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from hooke.catalogue.algorithm import Algorithm
from hooke.methods.sizes import Size


class Split(Algorithm):
    """A method in whose steps every worker has a fixed number of batches of its own."""

    sizes: tuple[Size, ...] = Field(
        (1,),
        min_length=1,
        max_length=4096,
        title="Sizes",
        description="Batches of worker 0, 1, ... in a step; from the beginning again for further workers. Without "
        "effect with a split that is measured.",
    )
    split: Literal["given", "measured"] = Field(
        "given",
        title="Split",
        description="`given`: as `sizes` says. `measured`: the workers time gradients before the run, and "
        "their sizes follow their speeds, so that the slowest takes the least time.",
    )
    mean: int = Field(
        4, ge=1, le=10_000, title="Mean size", description="Batches of a worker's step, on average: if measured."
    )

    def gradients_per_step(self) -> int:
        """Return the mean number of batches of a worker's step."""
        return self.mean if self.split == "measured" else max(1, sum(self.sizes) // len(self.sizes))

    def batches_of(self, worker: int, workers: int) -> int:
        """Return a worker's own number of batches; before they are measured the mean."""
        del workers
        return self.mean if self.split == "measured" else self.sizes[worker % len(self.sizes)]

    def joined(self, worker: int, workers: int) -> tuple[int, int]:
        """Return a worker's size; if it is yet to be measured what it may become."""
        given = self.sizes[worker % len(self.sizes)]
        return (1, workers * (self.mean - 1) + 1) if self.split == "measured" else (given, given)

    def unmeasured(self) -> int:
        """Return the mean number of batches of a worker's step if the split is yet to be measured, else 0."""
        return self.mean if self.split == "measured" else 0

    def measured(self, sizes: Sequence[int]) -> Self:
        """Return the method with these sizes."""
        return self.model_copy(update={"split": "given", "sizes": tuple(sizes)})

    def faults(self, workers: int) -> list[str]:
        """Return what prevents that all budgets count alike."""
        if self.split == "measured":
            return []
        found = []
        if workers % len(self.sizes):
            found.append(f"{workers} workers are no multiple of the {len(self.sizes)} sizes given")
        if sum(self.sizes) % len(self.sizes):
            found.append(f"the mean of the sizes, {sum(self.sizes)} / {len(self.sizes)}, is no whole number")
        return found


def by_speed(speeds: Sequence[float], mean: int, most: Sequence[int] = ()) -> list[int]:
    """Return whole sizes with this mean, one at least, with which the slowest worker takes the least time.

    That is in proportion to speeds, but for rounding: a step lasts as long as its slowest worker.
    `most`: bounds of the sizes, whose sum is at least that of the sizes; the others share what is above a bound.
    """
    sizes, free, total = [0] * len(speeds), list(range(len(speeds))), len(speeds) * mean
    while free:
        for i, size in zip(free, _shared([speeds[i] for i in free], total), strict=True):
            sizes[i] = size
        full = [i for i in free if most and sizes[i] > most[i]]
        if not full:
            break
        for i in full:
            sizes[i] = most[i]
        total -= sum(most[i] for i in full)
        free = [i for i in free if i not in full]
    return sizes


def _shared(speeds: Sequence[float], total: int) -> list[int]:
    """Return the sizes, one at least, whose slowest worker takes the least time: each batch to who ends first."""
    sizes, free, left = [1] * len(speeds), list(range(len(speeds))), total
    while slow := [i for i in free if left * speeds[i] < sum(speeds[j] for j in free)]:
        free, left = [i for i in free if i not in slow], left - len(slow)
    whole = sum(speeds[i] for i in free)
    for i in free:  # all of them end these within the time of a perfect split
        sizes[i] = max(1, int(left * speeds[i] / whole - 1e-9))
    for _ in range(total - sum(sizes)):
        sizes[min(range(len(sizes)), key=lambda i: (sizes[i] + 1) / speeds[i])] += 1
    return sizes
