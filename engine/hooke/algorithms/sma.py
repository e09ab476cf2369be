"""SMA: synchronous model averaging with center momentum."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, all_reduce, before_steps
from hooke.catalogue.rank import Rank
from hooke.comm.touched import packed
from hooke.methods.descent import Periodic
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring
from hooke.methods.elastic_rows import WeightSums
from hooke.spec.spaces import Space


class SMA(Periodic, Elastic):
    """SMA (synchronous model averaging).

    worker   x_i' = x_i - lr g_i(x_i) - a (x_i - c)
    center   c'   = c + a sum_i (x_i - c) + mu (c - c_before)

    Sync EASGD with momentum of the center. Every worker has the same replica of the center; one all-reduce of the
    x_i per exchange, 2 log2(P) A + 2 (P - 1)/P |W| B, not hidden. mu = 0 is Sync EASGD.

    Readings: all right-hand sides are old values. `center_momentum` is mu; `momentum` is that of the local steps.
    By default a = 1 / P (`beta` = 1): without momentum the center becomes the mean of the workers, for any P. This
    is the paper's correction factor as remembered; its text was not available. The authors' benchmarks
    (lsds/Crossbow) set `alpha` to 0.1 for LeNet and ResNets and to 0.2 for VGG; the default of their program is
    0.5. Where only touched rows travel, workers and center pull those that some worker has moved since the
    exchange before; the center's momentum moves the others on, on every worker alike.

    Reference: Koliousis et al., "CrossBow", VLDB 2019 (arXiv 1901.02244).
    """

    reference = "elastic.with_center_momentum"
    exchange = before_steps(all_reduce)
    limits = [ONE_WORKER.at(center_momentum=0.0), Limit("sync-easgd", {"center_momentum": 0.0}, exact=True)]
    accesses = 3, 24
    search = {"center_momentum": Space(low=0.0, high=0.95)}

    beta: float | None = Field(
        1.0, ge=0, le=4, title="Beta", description="a = beta / P, or beta / (P tau); overrides rho."
    )
    center_momentum: float = Field(
        0.9, ge=0, lt=1, title="Center momentum", description="Share of the center's previous change (mu)."
    )

    def bound(self, workers: int) -> float:
        """Return 2 (1 + mu) / (P + 1 + mu), the stability limit of worker mean and center without gradients."""
        return 2 * (1 + self.center_momentum) / (workers + 1 + self.center_momentum)

    def run(self, r: Rank) -> None:
        """Compute the gradient, exchange, update worker and center."""
        x, c, last = r.params, r.state("center", like=r.params), r.state("last move")
        sums, old = WeightSums(r), r.buffer(x)
        spring, step = Spring(r, self.rate(r.workers)), self.following_step(r)
        for t in r.steps(evaluated=c):
            exchange = r.due(t, self.period)
            g = step.gradient()
            if exchange:
                total = sums.begin(x, step.moved(), behind=False)
                spring.pull(x, packed(c, total.rows), rows=total.rows)
                old.copy_(c)
                spring.pull(c, total.wait(), r.workers, rows=total.rows)
                c.add_(last, alpha=self.center_momentum)
                last.copy_(c).sub_(old)
                sums.end(total)
            step.apply(g)
