"""Several batches of one update in one pass of a device, whose time hardly depends on their number."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from hooke.catalogue.workload import Objective


class Numbered(Protocol):
    """What hands out batches (`hooke.objective.batches`, `hooke.objective.dispatched`)."""

    def next(self) -> Any:
        """Return the indices of the next batch: int64 of shape (batch,)."""

    def peek(self) -> Any:
        """Return the next batch without taking it, or None if it is not known yet."""


class Passes:
    """The batches of a worker whose gradients a method sums at the same weights.

    On a CUDA device a small batch takes as long as a large one, because it is the launches that take the time. So
    the first gradient of such a sum is computed of all its batches at once, and is that of all of them; the ones
    that follow are 0, and take no time. The sum is the same but for rounding, except that dropout and augmentation
    draw once for a pass, and that batch normalisation sees all of it. Elsewhere, and in simulated runs on any
    device, every batch is computed by itself, bit for bit as if it were the only one.
    """

    def __init__(self, device: Any) -> None:
        self.whole = str(device).startswith("cuda")
        """Whether batches are computed together."""
        self.ahead = 0
        """Batches of the latest pass whose gradients the method has not asked for yet."""

    def covers(self, joined: bool) -> bool:
        """Return whether the next gradient has been computed with one before, and count it."""
        if not (joined and self.ahead):
            return False
        self.ahead -= 1
        return True

    def take(self, objective: Objective, batches: Numbered, of: int) -> tuple[Any, int]:
        """Pick the items of the next pass; return them, and of how many batches they are.

        `of`: batches that the method will sum, the next one included.
        """
        count = of if self.whole else 1
        self.ahead = count - 1
        indices = batches.next() if count == 1 else np.concatenate([batches.next() for _ in range(count)])
        picked = objective.pick(indices)
        if count == 1 and objective.reads_ahead:  # how large the pass after a larger one is, is told later
            following = batches.peek()
            if following is not None:
                objective.prefetch(following)
        return picked, count
