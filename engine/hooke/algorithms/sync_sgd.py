"""Synchronous data-parallel SGD."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.catalogue.claims import all_reduce, before_steps, identical_workers, one_worker
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Descent


class SyncSGD(Descent):
    """Sync SGD.

    x' = x - (lr / P) sum_i g_i(x)          the same x on all P workers

    Every step has one all-reduce of the gradients; then all workers apply the same update, so they stay bitwise
    equal. With momentum: v' = mu v - (lr / P) sum_i g_i, x' = x + v', with the same v on all workers.

    Cost per step: 2 log2(P) A + 2 (P - 1)/P |W| B by halving, the default; 2 log2(P) (A + |W| B) along a tree.

    Readings: the gradients are averaged (`reduction = mean`); `sum` omits the division by P, which is the same
    method with lr P in place of lr. The published text does not specify which one it uses.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), the synchronous baseline.
    """

    family = "Stochastic gradient descent"
    reference = "descent.gradient_averaging"
    exchange = before_steps(all_reduce)
    limits = [one_worker(), identical_workers("sync-sgd")]
    accesses = 3
    takes_bf16_weights = True

    reduction: Literal["mean", "sum"] = Field(
        "mean", title="Reduction", description="Mean or sum of the workers' gradients."
    )

    def run(self, r: Rank) -> None:
        """Sum the gradients and take the same step on all workers."""
        step, comm = self.local_step(r), r.comm.sending("updates")
        parts = r.workers if self.reduction == "mean" else 1
        for _ in r.steps():
            g = step.gradient()
            comm.allreduce(g)
            step.apply(g, parts)
