"""Synchronous data-parallel SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hooke.algorithm import Algorithm

if TYPE_CHECKING:
    from hooke.rank import Rank


class SyncSGD(Algorithm):
    """Sync SGD.

    x' = x - (lr / P) sum_i g_i(x)          the same x on all P workers

    Every step, one all-reduce of the gradients; all workers then take the same update, so they stay bitwise
    equal. Cost per step: 2 log2(P) (A + |W| B) with the tree, 2 log2(P) A + 2 (P - 1)/P |W| B with halving.
    `reduction = sum` leaves out the division by P (the same method with lr P in place of lr).

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), where it is the synchronous baseline.
    """

    passes: ClassVar[int] = 3

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length of every update.")
    reduction: Literal["mean", "sum"] = Field(
        "mean", title="Reduction", description="Average the workers' gradients, or add them up."
    )

    def run(self, r: Rank) -> None:
        """Add up gradients and step, all alike."""
        x = r.params
        lr = self.lr / r.workers if self.reduction == "mean" else self.lr
        for _ in r.steps():
            g = r.gradient()
            r.comm.allreduce(g)
            x.add_(g, alpha=-lr)
