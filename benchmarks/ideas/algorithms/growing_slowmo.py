"""SlowMo with a period that grows as the loss falls."""

from __future__ import annotations

from hooke.algorithms.slowmo import Slowmo
from hooke.catalogue.rank import Rank

from benchmarks.ideas.parts import Growing


class GrowingSlowmo(Slowmo):
    """SlowMo whose rounds become longer: see `Growing`. `period` is the first one."""

    def run(self, r: Rank) -> None:
        """Take local steps, then a slow step together."""
        x, c = r.params, r.state("center", like=r.params)
        u, moved, step, comm = r.state("slow"), r.buffer(x), self.local_step(r), r.comm.sending("updates")
        rounds = Growing(r, self.period)
        for _ in r.steps(evaluated=c):
            step.apply(step.gradient())
            if rounds.due():
                comm.allreduce(moved.copy_(c).sub_(x))
                u.mul_(self.slow_momentum).add_(moved, alpha=1 / (r.workers * step.lr))
                x.copy_(c.add_(u, alpha=-self.slow_lr * step.lr))
                rounds.exchanged()
