"""Sync EASGD: one all-reduce of weights per exchange, behind the gradient if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.elastic import Elastic

if TYPE_CHECKING:
    from hooke.rank import Rank


class SyncEASGD(Elastic):
    """Sync EASGD.

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (sum_i x_i - P c) = c + b (mean_i x_i - c),   b = P lr rho

    Every worker keeps a replica of the center. As all replicas start equal and see the same sum, they stay
    bitwise equal, and the paper's broadcast of c plus reduction of x_i is one all-reduce of the x_i: old
    values, taken before the step. `overlap` runs it behind forward and backward (EASGD3): legal because the
    gradient reads x_i and the transfer reads a copy. Cost per exchange 2 log2(P) (A + |W| B); with overlap
    a step takes max(compute, transfer). With `period` tau, workers take tau - 1 plain steps between exchanges.

    Readings: (2) is computed as c + a (sum_i x_i - P c), in the documented order of summation. Exchanges are
    at steps 0, tau, 2 tau... Momentum, where given, is the worker's own: equations (5) and (6).

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithms 2 and 3; Zhang, Choromanska, LeCun 2015.
    """

    passes: ClassVar[int] = 19

    period: int = Field(1, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
    overlap: bool = Field(False, title="Overlap", description="Exchange while the gradient is computed.")

    def bound(self, workers: int) -> float:
        """Return 2 / (P + 1): beyond it, all workers together throw the center further than they were."""
        return 2 / (workers + 1)

    def run(self, r: Rank) -> None:
        """Exchange, compute, apply (1) and (2)."""
        x, c = r.params, r.state("center", like=r.params)
        total, pull = r.buffer(x), r.buffer(x)
        a, step = self.rate(r.workers), self.local_step(r)
        for t in r.steps(answer=c):
            exchange = r.due(t, self.period)
            if exchange:
                total.copy_(x)
                pending = r.comm.iallreduce(total) if self.overlap else None
            g = step.gradient()
            if exchange:
                pending.wait() if pending else r.comm.allreduce(total)
                x.add_(pull.copy_(c).sub_(x), alpha=a)  # the old c
                c.add_(total.sub_(c, alpha=r.workers), alpha=a)
            step.apply(g)
