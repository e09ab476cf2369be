"""Weighted Sync SGD: synchronous steps in which every worker has a batch of its own, fixed size."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, all_reduce, before_steps
from hooke.catalogue.rank import Rank
from hooke.methods.split import Split
from hooke.spec.spaces import Space


class WeightedSyncSGD(Split):
    """Weighted Sync SGD.

    x' = x - (lr / sum_j b_j) sum_i sum of g_i(x) over b_i batches          the same x on all P workers

    Sync SGD whose batches are split by the workers' speeds: with b_i proportional to them no worker waits. The
    step is along the mean gradient of all examples, so that one of a large batch counts as much as one of a small
    one. Cost per step as Sync SGD, 2 log2(P) A + 2 (P - 1)/P |W| B.

    Readings: sizes are multiples of the run's batch and do not change. They are given; or the workers time
    gradients before the clock starts, and b_i is P `mean` times their share of the speed, by the largest
    remainders, one at least. So that budgets count alike, the mean size is whole, and P a multiple of those given.

    Reference: none; the usual static split among unequal devices, a baseline.
    """

    family = "Stochastic gradient descent"
    reference = "descent.weighted_gradient_averaging"
    exchange = before_steps(all_reduce)
    limits = [
        Limit("sgd", {}, {"momentum": 0.0}, workers=(1,), exact=True, shows="P1"),
        Limit("sync-sgd", {}, {"momentum": 0.0}),
    ]
    accesses = 5
    search = {"lr": Space(low=0.003, high=1.0, scale="log")}

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length eta.")

    def run(self, r: Rank) -> None:
        """Sum the gradients of all batches and take the same step on all workers."""
        x, u, comm = r.params, r.buffer(r.params), r.comm.sending("updates")
        own = self.batches_of(r.rank, r.workers)
        rate = self.lr / sum(self.batches_of(i, r.workers) for i in range(r.workers))
        for _ in r.steps():
            u.zero_()
            for k in range(own):
                u.add_(r.gradient(joined=k > 0, batches=1, of=own))
            comm.allreduce(u)
            x.add_(u, alpha=-rate)
