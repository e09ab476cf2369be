"""Parameters and steps of methods that merge unequal amounts of work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from pydantic import Field, PrivateAttr

from hooke.catalogue.algorithm import Algorithm
from hooke.methods.merging import Shares
from hooke.spec.spaces import Space

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Vector

ALONE = {"largest": 1, "center_momentum": 0.0}
"""Settings at which one worker does the same as without merges."""
LONGEST = 16
"""Updates that a reply grants at most: more would save hardly any message, and a limit of time be met later."""
FEW = 3
"""Updates that the first reply after a merge grants at least; all but one of a worker's part if that is less."""
ROUNDING = 1e-9
"""By how much a whole number of updates may be exceeded before it is rounded up."""


class SizedMerges(Algorithm):
    """A method whose server hands out the batches between two merges, in sizes that follow counts of updates."""

    grants_updates = True
    search = {
        "lr": Space(low=0.003, high=1.0, scale="log"),
        "largest": Space(low=1, high=64, scale="log", integer=True),
        "mega_batch": Space(low=16, high=1024, scale="log", integer=True),
        "center_momentum": Space(low=0.0, high=0.95),
    }

    smallest: int = Field(1, ge=1, le=10_000, title="Smallest", description="Least batches of an update (b_min).")
    largest: int = Field(8, ge=1, le=10_000, title="Largest", description="Most batches of an update (b_max).")
    scaling: float = Field(
        0.5,
        ge=0,
        le=1000,
        title="Scaling",
        description="Change of a size per update above the mean (beta); 0: none.",
    )
    mega_batch: int = Field(
        256, ge=1, le=10**6, title="Mega-batch", description="Batches of all workers between two merges (M)."
    )
    at_once: float = Field(
        0.5,
        ge=0,
        le=1,
        title="At once",
        description="Share that a worker is granted at once of the updates that it would take until the merge, "
        "just after one at least 3 or all but one; 0: one update.",
    )
    center_momentum: float = Field(
        0.9, ge=0, lt=1, title="Center momentum", description="Share of the merged model's previous change (mu)."
    )
    perturbation: float = Field(
        0.0,
        ge=0,
        lt=1,
        title="Perturbation",
        description="Of the largest and the smallest weight (delta); 0: none.",
    )
    threshold: float = Field(
        0.1, gt=0, title="Threshold", description="Of |x_i| / |W|, below which weights are perturbed."
    )

    _most: tuple[int, ...] = PrivateAttr(())
    """What fits in the memory of worker 0, 1, ...; empty: `largest` does."""

    def joined(self, worker: int, workers: int) -> tuple[int, int]:
        """Return the bounds of the sizes."""
        del worker, workers
        return self.smallest, self.largest

    def fitting(self, most: Sequence[int]) -> Self:
        """Return the method with the largest sizes bounded."""
        method = self.model_copy()
        method._most = tuple(most)
        return method

    def exchange_period(self) -> int:
        """Return the largest number of batches of a worker between two merges."""
        return self.mega_batch

    def faults(self, workers: int) -> list[str]:
        """Return what is wrong with the bounds."""
        if self.smallest > self.largest:
            return [f"smallest = {self.smallest} exceeds largest = {self.largest}"]
        if self.mega_batch < workers:
            return [f"mega_batch = {self.mega_batch} is not a batch for each of {workers} workers"]
        return []

    def shares(self, workers: int) -> Shares:
        """Return sizes and counts as they are before the first batch."""
        return Shares(workers, self.smallest, self.largest, self.scaling, self.mega_batch, self._most)

    def most(self, workers: int) -> int:
        """Return the most batches that a reply grants."""
        several = min(self.mega_batch // workers, LONGEST * self.largest) if self.at_once else 0
        return max(self.largest, several)

    def hand_out(self, r: Rank, i: int, shares: Shares, most: int, vector: Vector | None = None) -> None:
        """Reply to a worker with the batches of its next updates, at most so many, and with their size.

        Ranges become shorter towards the merge, and towards the end of the budget; just after a merge FEW.
        """
        size, most = shares.batches(i), min(most, self.most(r.workers))
        updates = math.ceil(self.at_once * shares.expected(i, min(shares.left, r.ungranted)) - ROUNDING)
        if self.at_once and not shares.updates[i]:
            part = shares.part(i, min(self.mega_batch, r.ungranted))
            updates = max(updates, min(FEW, math.ceil(part - ROUNDING) - 1))
        updates = max(1, min(updates, most // size, LONGEST))
        granted = r.reply(i, vector, min(updates * size, most), word=size)
        shares.handed(i, granted, math.ceil(granted / size))

    def merge(self, c: Vector, before: Vector, xs: Sequence[Vector], shares: Shares) -> None:
        """Merge the workers' weights into the center, and choose the sizes; nothing if there were no updates."""
        if not any(shares.updates):
            return
        weights = shares.weights()
        taken = [i for i, count in enumerate(shares.updates) if count]
        if self.perturbation and all(_norm(xs[i]) / c.numel() < self.threshold for i in taken):
            weights = shares.perturbed(weights, self.perturbation)
        before.sub_(c).mul_(-self.center_momentum)  # mu (c - c_before)
        for i in taken:
            before.add_(xs[i], alpha=weights[i])
        shares.rescale()
        _exchange(c, before)


def _norm(x: Vector) -> float:
    squares: float = x.clone().zero_().addcmul_(x, x).sum().item()
    return math.sqrt(squares)


def _exchange(one: Vector, other: Vector) -> None:
    """Exchange the elements of two vectors."""
    kept = one.clone()
    one.copy_(other)
    other.copy_(kept)
