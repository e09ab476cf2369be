"""Sequential SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.algorithm import Algorithm

if TYPE_CHECKING:
    from hooke.rank import Rank


class SGD(Algorithm):
    """Sequential SGD.

    x' = x - lr g(x)

    One worker, no communication: the yardstick of every parallel method, on one core and one stream of data.

    Reference: Robbins and Monro, "A stochastic approximation method", 1951.
    """

    max_workers: ClassVar[int | None] = 1

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length of every update.")

    def run(self, r: Rank) -> None:
        """Take steps until told to stop."""
        x = r.params
        for _ in r.steps():
            g = r.gradient()
            x.add_(g, alpha=-self.lr)
