"""Sync EASGD with a pull towards an extrapolated center: an example of a user's own algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooke.methods.descent import Descent
from pydantic import Field

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank


class LookaheadEASGD(Descent):
    """Sync EASGD with a predicted center.

    (1) worker   x_i' = x_i - lr g_i(x_i) - a (x_i - p),        p = c + k (c - c_before)
    (2) center   c'   = c + b (mean_i x_i - c)

    The center lags behind its workers; p is the center plus k times its last change. k = 0 is Sync EASGD with
    a = lr rho and b = P a. Every worker has a replica of the center; one all-reduce of the x_i per step, cost
    2 log2(P) A + 2 (P - 1)/P |W| B by halving.
    """

    moving: float = Field(
        0.1, ge=0, le=1, title="Moving rate", description="Share of the distance by which a worker is pulled (a)."
    )
    ahead: float = Field(
        1.0, ge=0, le=5, title="Look-ahead", description="Factor of the center's last change (k)."
    )

    def run(self, r: Rank) -> None:
        """Exchange, compute the gradient, apply (1) and (2)."""
        x, c, before = r.params, r.state("center", like=r.params), r.state("before", like=r.params)
        total, predicted = r.buffer(x), r.buffer(x)
        step = self.local_step(r)
        for _ in r.steps(evaluated=c):
            total.copy_(x)
            g = step.gradient()
            r.comm.allreduce(total)
            predicted.copy_(before).lerp_(c, 1 + self.ahead)  # before + (1 + k) (c - before)
            before.copy_(c)
            c.lerp_(total.mul_(1 / r.workers), self.moving * r.workers)
            x.lerp_(predicted, self.moving)
            step.apply(g)
