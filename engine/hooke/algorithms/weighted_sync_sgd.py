"""Weighted Sync SGD: synchronous steps in which every worker has a batch of its own, fixed size."""

from __future__ import annotations

from pydantic import field_validator

from hooke.catalogue.claims import Limit, all_reduce, before_steps, one_worker
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Descent
from hooke.methods.split import Split


class WeightedSyncSGD(Split, Descent):
    """Weighted Sync SGD.

    x' = x - (lr / sum_j b_j) sum_i sum of g_i(x) over b_i batches          the same x on all P workers

    Sync SGD whose batches are split by the workers' speeds: with b_i proportional to them no worker waits. The
    step is along the mean gradient of all examples, so that one of a large batch counts as much as one of a small
    one. Cost per step as Sync SGD, 2 log2(P) A + 2 (P - 1)/P |W| B.

    Readings: sizes are multiples of the run's batch and do not change. They are given; or the workers time
    gradients before the clock starts, and share P `mean` batches, one at least, so that the slowest takes the
    least time. So that budgets count alike, the mean size is whole, and P a multiple of those given.
    Momentum, or another optimizer, is that of the mean, the same on all workers, as in Sync SGD. There is no
    `accumulation` beside the sizes, which are batches that a step adds up.

    Reference: none; the usual static split among unequal devices, a baseline.
    """

    family = "Stochastic gradient descent"
    reference = "descent.weighted_gradient_averaging"
    exchange = before_steps(all_reduce)
    limits = [one_worker(), Limit("sync-sgd")]
    accesses = 5

    @field_validator("accumulation")
    @classmethod
    def _by_sizes(cls, value: int) -> int:
        if value != 1:
            raise ValueError("`sizes` are the batches that a step adds up: give larger ones instead")
        return value

    def run(self, r: Rank) -> None:
        """Sum the gradients of all batches and take the same step on all workers."""
        step, u, comm = self.local_step(r), r.buffer(r.params), r.comm.sending("updates")
        sizes = [self.batches_of(i, r.workers) for i in range(r.workers)]
        own, parts = sizes[r.rank], sum(sizes)
        for _ in r.steps():
            u.copy_(step.gradient(batches=1, of=own))
            for _ in range(1, own):
                u.add_(step.gradient(joined=True, batches=1, of=own))
            comm.allreduce(u)
            step.apply(u, parts)
