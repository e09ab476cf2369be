"""SlowMo: momentum over the rounds of Local SGD."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Periodic
from hooke.spec.spaces import Space


class Slowmo(Periodic):
    """SlowMo.

    x_i = c;  H times x_i' = x_i - lr g_i(x_i);  then, for all,
    u' = beta u + (c - mean_i x_i) / lr,   c' = c - slow_lr lr u'

    A round of Local SGD gives one slow step: the change of the average is a gradient for momentum SGD, which is
    the same on every worker. beta = 0, slow_lr = 1 is Local SGD. Cost per H steps: one all-reduce,
    2 log2(P) A + 2 (P - 1)/P |W| B, not hidden.

    Readings: momentum of the local steps, if any, is local to each worker and kept over rounds. Where a schedule
    changes lr, the slow step divides and multiplies by that of the round's last step. Default H = 12, beta = 0.5.

    Reference: Wang, Tantia, Ballas, Rabbat 2020 (arXiv 1910.00643).
    """

    family = "Local steps"
    reference = "descent.slowmo"
    exchange = after_steps(all_reduce)
    limits = [
        Limit("local-sgd", {"slow_momentum": 0.0, "slow_lr": 1.0}, workers=ANY),
        identical_workers("slowmo"),
    ]
    accesses = 3, 17
    search = {"slow_momentum": Space(low=0.0, high=0.9), "slow_lr": Space(low=0.5, high=1.5)}

    period: int = Field(12, ge=1, le=10_000, title="Period", description="Local steps per slow step (H).")
    slow_momentum: float = Field(0.5, ge=0, lt=1, title="Slow momentum", description="Factor of u (beta).")
    slow_lr: float = Field(1.0, gt=0, le=10, title="Slow learning rate", description="Length of a slow step.")

    def run(self, r: Rank) -> None:
        """Take local steps, then a slow step together."""
        x, c = r.params, r.state("center", like=r.params)
        u, moved, step, comm = r.state("slow"), r.buffer(x), self.local_step(r), r.comm.sending("updates")
        for t in r.steps(evaluated=c):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                comm.allreduce(moved.copy_(c).sub_(x))
                u.mul_(self.slow_momentum).add_(moved, alpha=1 / (r.workers * step.lr))
                x.copy_(c.add_(u, alpha=-self.slow_lr * step.lr))
