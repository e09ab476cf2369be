"""Sync EASGD: one all-reduce of weights per exchange, behind the gradient if asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from hooke.algorithm import Algorithm

if TYPE_CHECKING:
    from hooke.rank import Rank


class SyncEASGD(Algorithm):
    """Sync EASGD.

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (sum_i x_i - P c) = c + b (mean_i x_i - c),   b = P lr rho

    Every worker keeps a replica of the center. As all replicas start equal and see the same sum, they stay
    bitwise equal, and the paper's broadcast of c plus reduction of x_i is one all-reduce of the x_i: old
    values, taken before the step. `overlap` runs it behind forward and backward (EASGD3): legal because the
    gradient reads x_i and the transfer reads a copy. Cost per exchange 2 log2(P) (A + |W| B); with overlap
    a step takes max(compute, transfer). With `period` tau, workers take tau - 1 plain steps between exchanges.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithms 2 and 3; Zhang, Choromanska, LeCun 2015.
    """

    passes: ClassVar[int] = 13

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length eta.")
    rho: float = Field(1.0, ge=0, le=100, title="Elasticity", description="Spring constant to the center.")
    period: int = Field(1, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
    overlap: bool = Field(False, title="Overlap", description="Exchange while the gradient is computed.")

    def run(self, r: Rank) -> None:
        """Exchange, compute, apply (1) and (2)."""
        x, c = r.params, r.state("center", like=r.params)
        total = r.buffer(x)
        a = self.lr * self.rho
        for t in r.steps(answer=c):
            exchange = r.due(t, self.period)
            if exchange:
                total.copy_(x)
                pending = r.comm.iallreduce(total) if self.overlap else None
            g = r.gradient()
            if exchange:
                pending.wait() if pending else r.comm.allreduce(total)
                x.lerp_(c, a)  # x + a (c - x), the old c
                c.lerp_(total.mul_(1 / r.workers), a * r.workers)
            x.add_(g, alpha=-self.lr)
