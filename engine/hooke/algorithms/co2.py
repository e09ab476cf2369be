"""CO2: Local SGD with an outer momentum that is one round late, so that its all-reduce is hidden."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.descent import Periodic
from hooke.spec.spaces import Space


class CO2(Periodic):
    """CO2.

    x_i = c;  tau times x_i' = x_i - lr g_i(x_i);  D = c - mean_i x_i of this round;  then, for all,
    m' = clip(beta m + D_before / gap, -phi, phi),   c' = c - outer_lr m'      D_before: D of the round before

    While workers take the tau steps of a round, the all-reduce of the round before runs; the next round begins at
    the center that includes it. Momentum from a late D is damped by the staleness gap penalty (gap) and limited by
    clipping its elements to phi. On gradients that do not depend on the weights it is SlowMo, one round later.
    Cost per tau steps: max(0, 2 log2(P) A + 2 (P - 1)/P |W| B - tau steps).

    Readings: the first round ends without an average, so that the second begins at the initial weights, too. The
    paper computes its penalty from the distance of weights in every round; here it is a constant, as in the
    authors' program (1 by default). That adds nothing: gap, outer_lr, phi are as 1, outer_lr / gap, phi gap; so
    gap is not searched. The clipped momentum is kept; in that program the result of clipping is dropped. Workers
    send x_i - c, whose mean is -D. The evaluated center includes all averages begun so far. Momentum of local
    steps, if any, is local to each worker and kept over rounds.

    Reference: Sun et al., "CO2: Efficient Distributed Training with Full Communication-Computation Overlap", ICLR
    2024 (arXiv 2401.16265).
    """

    family = "Local steps"
    reference = "co2.co2"
    exchange = after_steps(all_reduce, behind="period")
    limits = [
        Limit("co2", {"gap": 2.0, "outer_lr": 1.0, "clip": 0.05}, {"gap": 1.0, "outer_lr": 0.5, "clip": 0.1}),
        Limit("co2", {"clip": 1e6}, {"clip": None}, exact=True),
        identical_workers("co2"),
    ]
    tested_together = [{"gap": 1.5, "clip": 0.05, "outer_lr": 0.8}]
    accesses = 3, 15
    search = {"outer_lr": Space(low=0.3, high=1.5), "outer_momentum": Space(low=0.0, high=0.9)}
    search |= {"clip": Space(choices=[None, 0.1, 0.01, 0.001])}

    period: int = Field(12, ge=1, le=10_000, title="Period", description="Local steps per round (tau).")
    outer_lr: float = Field(1.0, gt=0, le=10, title="Outer learning rate", description="Length of an outer step.")
    outer_momentum: float = Field(0.5, ge=0, lt=1, title="Outer momentum", description="Factor of m (beta).")
    gap: float = Field(
        1.0, ge=1, le=1000, title="Staleness gap", description="Divisor of a late change; 1: no penalty."
    )
    clip: float | None = Field(
        None, gt=0, title="Clipping", description="Largest absolute element of m (phi); none: no clipping."
    )

    def run(self, r: Rank) -> None:
        """Take local steps from the center, start the average of their change, update with the one before."""
        x, c, begin = r.params, r.state("center", like=r.params), r.state("begin", like=r.params)
        m, total, step, comm = r.state("outer"), r.buffer(x), self.local_step(r), r.comm.sending("updates")
        under_way: list[Pending] = []

        def flush() -> None:
            """Complete the pending average and update momentum and center with it."""
            if under_way:
                under_way.pop().wait()
                m.mul_(self.outer_momentum).add_(total, alpha=-1 / (self.gap * r.workers))
                if self.clip is not None:
                    m.clamp_(-self.clip, self.clip)
                c.add_(m, alpha=-self.outer_lr)

        for t in r.steps(evaluated=c, flush=flush):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                flush()
                under_way.append(comm.iallreduce(x.sub_(begin), into=total))
                begin.copy_(x.copy_(c))
