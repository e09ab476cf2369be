"""Sequential SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from hooke.methods.descent import Descent

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank


class SGD(Descent):
    """Sequential SGD.

    x' = x - lr g(x)                               with momentum: v' = mu v - lr g,  x' = x + v'

    One worker, no communication: the yardstick of every parallel method, on one core and one stream of data.

    Reference: Robbins and Monro, "A stochastic approximation method", 1951; momentum: Polyak 1964.
    """

    max_workers: ClassVar[int | None] = 1

    def run(self, r: Rank) -> None:
        """Take steps until told to stop."""
        step = self.local_step(r)
        for _ in r.steps():
            step.apply(step.gradient())
