"""DiLoCo: inner steps with AdamW, outer steps with Nesterov momentum."""

from __future__ import annotations

from hooke.catalogue.claims import ANY, Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.outer import Outer


class Diloco(Outer):
    """DiLoCo.

    x_i = c;  H inner steps (AdamW) on x_i;  then, for all,   D = c - mean_i x_i,
    m' = mu m + D,   c' = c - outer_lr (D + mu m')                        Nesterov

    The mean change of the workers' weights is the gradient of an outer optimizer, which is the same on every
    worker. With `optimizer = sgd`, outer rate 1 and outer momentum 0 it is Local SGD. Cost per H steps: one
    all-reduce, 2 log2(P) A + 2 (P - 1)/P |W| B, not hidden.

    Readings: D points from the average to the center, so that the outer step is a descent along D. Both moments of
    AdamW are local to each worker and kept over rounds; weight decay 0.1, as published. The published H is about
    500 steps; the default here is 20. `optimizer = sgd` uses lr and momentum as in the other methods.

    Reference: Douillard et al. 2023 (arXiv 2311.08105).
    """

    family = "Local steps"
    reference = "descent.diloco"
    exchange = after_steps(all_reduce)
    limits = [
        Limit("local-sgd", {"optimizer": "sgd", "lr": 0.05, "outer_lr": 1.0, "outer_momentum": 0.0}, workers=ANY),
        identical_workers("diloco"),
    ]
    tested_with = {"lr": 0.005}
    tested_together = [{"optimizer": "sgd", "momentum": 0.6}]
    accesses = 3, 20

    def run(self, r: Rank) -> None:
        """Take local steps, then an outer step together."""
        x, c, m, delta = r.params, r.state("center", like=r.params), r.state("outer"), r.buffer(r.params)
        step, comm = self.local_step(r), r.comm.sending("updates")
        for t in r.steps(evaluated=c):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                comm.allreduce(delta.copy_(c).sub_(x))
                delta.mul_(1 / r.workers)
                m.mul_(self.outer_momentum).add_(delta)
                c.add_(delta.add_(m, alpha=self.outer_momentum), alpha=-self.outer_lr)
                x.copy_(c)
