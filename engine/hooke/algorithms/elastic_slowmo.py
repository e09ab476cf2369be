"""Elastic SlowMo: an elastic pull to a center with momentum, whose all-reduce is hidden behind local steps."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.descent import Periodic
from hooke.spec.spaces import Space


class ElasticSlowmo(Periodic):
    """Elastic SlowMo.

    H times x_i' = x_i - lr g_i(x_i);   then D_i = x_i - c is sent, and d local steps later, for all,
    u' = beta u + mean_i D_i,   c' = c + slow_lr u',   x_i' = x_i + a (slow_lr u' - D_i)

    The center moves to the mean of the workers with momentum beta; each worker is pulled to the new center by a
    share a of the distance that it had when it sent. The all-reduce overlaps d local steps, whose changes the
    workers keep. With a = 1 and d = 0 it is SlowMo; with a = 1, gradients that do not depend on the weights, and
    any d, too. Cost per H steps: one all-reduce, 2 log2(P) A + 2 (P - 1)/P |W| B, hidden behind d steps.

    Readings: EASGD pulls to the center before its move, this method to the one after it. Momentum of local steps
    is each worker's own. The evaluated center does not include what is under way.

    Reference: docs/decisions/0036-elastic-slowmo.md; its parts are in arXiv 1412.6651, 1910.00643, 2006.00441.
    """

    family = "Elastic averaging"
    reference = "elastic_slowmo.elastic_slowmo"
    exchange = after_steps(all_reduce, behind=lambda method: method.delay or "nothing")
    limits = [
        Limit("slowmo", {"pull": 1.0, "delay": 0, "slow_momentum": 0.4}, {"slow_momentum": 0.4}, workers=ANY),
        Limit("local-sgd", {"pull": 1.0, "delay": 0, "slow_momentum": 0.0}, workers=ANY),
        identical_workers("elastic-slowmo"),
    ]
    tested_together = [{"delay": 2, "pull": 0.7, "slow_lr": 0.9}]
    accesses = 3, 19
    search = {
        "pull": Space(low=0.2, high=1.0),
        "delay": Space(choices=[0, 1, 2, 4]),
        "slow_momentum": Space(low=0.0, high=0.9),
        "slow_lr": Space(low=0.5, high=1.5),
    }

    period: int = Field(12, ge=1, le=10_000, title="Period", description="Local steps per exchange (H).")
    pull: float = Field(0.8, ge=0, le=1, title="Pull", description="Share of the way to the new center (a).")
    delay: int = Field(1, ge=0, le=9999, title="Delay", description="Steps from sending to the pull (d).")
    slow_momentum: float = Field(0.5, ge=0, lt=1, title="Slow momentum", description="Factor of u (beta).")
    slow_lr: float = Field(1.0, gt=0, le=10, title="Slow learning rate", description="Length of a slow step.")

    def faults(self, workers: int) -> list[str]:
        """Require that an average arrives before the next one begins."""
        late = self.delay >= self.period
        told = [f"delay {self.delay} is not less than period {self.period}"] if late else []
        return [*super().faults(workers), *told]

    def run(self, r: Rank) -> None:
        """Take local steps, send the change, move center and workers by the mean some steps later."""
        x, c, u = r.params, r.state("center", like=r.params), r.state("slow")
        change, total, step = r.state("change"), r.state("total"), self.local_step(r)
        comm, under_way = r.comm.sending("updates"), list[Pending]()

        def flush() -> None:
            """Wait for the average under way, which is added later."""
            for pending in under_way:
                pending.wait()

        for t in r.steps(evaluated=c, flush=flush):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                under_way[:] = [comm.iallreduce(change.copy_(x).sub_(c), into=total)]
            if t + 1 > self.delay and (t + 1 - self.delay) % self.period == 0:
                flush()
                u.mul_(self.slow_momentum).add_(total, alpha=1 / r.workers)
                c.add_(u, alpha=self.slow_lr)
                x.add_(change, alpha=-self.pull).add_(u, alpha=self.pull * self.slow_lr)
