"""Local SGD: average the weights every few steps."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, after_steps, all_reduce, identical_workers, one_worker
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Periodic


class LocalSGD(Periodic):
    """Local SGD.

    x_i' = x_i - lr g_i(x_i)                      H times, then   x_i = mean_j x_j   for all

    Workers take local steps and average their weights after every H-th step (federated averaging with all
    clients). Cost per H steps: one all-reduce, 2 log2(P) A + 2 (P - 1)/P |W| B, not hidden. The latest
    average is evaluated; it does not include the up to H - 1 steps after it.

    Readings: the average follows the step, at t + 1 = H, 2 H..., so that H = 1 is Sync SGD. Momentum, if any, is
    local to each worker: it is neither averaged nor reset. Default H = 4.

    Reference: Stich 2019 (arXiv 1805.09767); McMahan et al. 2017 (arXiv 1602.05629).
    """

    family = "Local steps"
    reference = "descent.weight_averaging"
    exchange = after_steps(all_reduce)
    limits = [
        one_worker(),
        Limit("sync-sgd", {"period": 1, "momentum": 0.0}),
        identical_workers("local-sgd"),
    ]
    accesses = 3, 4

    period: int = Field(4, ge=1, le=10_000, title="Period", description="Local steps per average (H).")

    def run(self, r: Rank) -> None:
        """Take local steps, then average."""
        x, center = r.params, r.state("center", like=r.params)
        step, comm = self.local_step(r), r.comm.sending("averages")
        for t in r.steps(evaluated=center):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                comm.allreduce(x)
                x.mul_(1 / r.workers)
                center.copy_(x)
