"""Post-local SGD: first Sync SGD, then Local SGD."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.local_sgd import LocalSGD
from hooke.catalogue.claims import Limit, Step, Transfers, all_reduce, identical_workers, one_worker
from hooke.catalogue.rank import Rank
from hooke.spec.spaces import Space


def together_then_alone(method: PostLocalSGD, step: Step) -> Transfers:
    """Return an all-reduce at every step before the switch, and after every H-th step from then on."""
    alone = step.t - method.switch
    return () if alone >= 0 and (alone + 1) % method.period else all_reduce(step)


class PostLocalSGD(LocalSGD):
    """Post-local SGD.

    t <  t0:   x' = x - (lr / P) sum_i g_i(x)                             Sync SGD
    t >= t0:   x_i' = x_i - lr g_i(x_i),  every H steps x_i = mean_j x_j  Local SGD

    The early phase, in which the weights change fast, is synchronous; afterwards workers average every H steps.
    Cost per step 2 log2(P) A + 2 (P - 1)/P |W| B, then the same per H steps, not hidden.

    Readings: periods count from t0, so the first average follows step t0 + H - 1. Before t0 the velocity is the
    same on all workers; from t0 on it is local to each. t0 = 0 is Local SGD; t0 beyond the end is Sync SGD.

    Reference: Lin, Stich, Patel, Jaggi 2020 (arXiv 1808.07217).
    """

    reference = "descent.post_local"
    exchange = together_then_alone
    limits = [
        one_worker(period=1),
        Limit("sync-sgd", {"switch": 10**6}, exact=True),
        Limit("local-sgd", {"switch": 0}, exact=True),
        identical_workers("post-local-sgd"),
    ]
    tested_with = {"switch": 4}
    search = {"switch": Space(low=1, high=1000, scale="log", integer=True)}

    switch: int = Field(100, ge=0, le=10**9, title="Switch", description="First step of Local SGD (t0).")

    def exchange_period(self) -> int:
        """Return 1 if the run begins with Sync SGD, else the period."""
        return 1 if self.switch else self.period

    def vector_accesses(self, server: bool) -> float:
        """Return the vector reads and writes of a step after the switch."""
        return super(PostLocalSGD, self.model_copy(update={"switch": 0})).vector_accesses(server)

    def run(self, r: Rank) -> None:
        """Take steps together; from the switch on, take local steps and average."""
        x, center = r.params, r.state("center", like=r.params)
        step = self.local_step(r)
        together, averages = r.comm.sending("updates"), r.comm.split(0, r.rank).sending("averages")
        for t in r.steps(evaluated=center):
            g = step.gradient()
            if t < self.switch:
                together.allreduce(g)
                step.apply(g, r.workers)
                center.copy_(x)
                continue
            step.apply(g)
            if (t + 1 - self.switch) % self.period == 0:
                averages.allreduce(x)
                x.mul_(1 / r.workers)
                center.copy_(x)
