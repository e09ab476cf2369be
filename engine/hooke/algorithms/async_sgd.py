"""Async SGD: a parameter server, first come, first served."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hooke.catalogue.algorithm import Coordination
from hooke.methods.descent import Descent, LocalStep

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank


class AsyncSGD(Descent):
    """Async SGD.

    worker   pull x = c;  u = g_i(x)              tau > 1: tau steps x' = x - lr g_i(x), u their gradients' sum
    master   c' = c - lr u                        whoever comes first, one at a time

    A worker pushes the sum u of its raw gradients and pulls the center with the same request; its first request
    brings nothing, and a last push follows its last step. The gradient is stale by what the master applied
    meanwhile: P - 1 updates between workers of equal speed. Cost per exchange 2 (A + |W| B), not hidden.

    Readings: with momentum, v lives at the master, one for all (`momentum_at = master`: v' = mu v - lr u,
    c' = c + v'); `worker` gives every worker its own and pushes the sum of its moves. With Nesterov at the
    master, workers pull the look-ahead point c + mu v.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), the asynchronous baseline; Dean et al. 2012.
    """

    servers: ClassVar[int] = 1
    coordination: ClassVar[Coordination] = "parameter-server"
    may_drop: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False
    accesses: ClassVar[int] = 6

    period: int = Field(1, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
    momentum_at: Literal["master", "worker"] = Field(
        "master", title="Momentum at", description="One velocity at the master, or each worker's own."
    )

    def vector_accesses(self, server: bool) -> int:
        """Return the vector reads and writes: a velocity costs where it lives."""
        here = server == (self.momentum_at == "master")
        return (self.server_accesses if server else self.accesses) + here * self.velocity_accesses()

    def run(self, r: Rank) -> None:
        """Hold the center, or work."""
        own = self.momentum_at == "worker" and self.momentum > 0
        step = self.local_step(r) if own != r.is_server else LocalStep(r, self.lr)
        (self.serve if r.is_server else self.work)(r, step, own)

    def serve(self, r: Rank, step: LocalStep, moves: bool) -> None:
        """Apply what comes, answer with the center."""
        c, u = r.params, r.buffer(r.params)
        for i in r.requests(u, order="arrival", period=self.period, last_words=True):
            if r.brought:
                c.add_(u) if moves else step.apply(u)
            r.reply(i, step.point())

    def work(self, r: Rank, step: LocalStep, moves: bool) -> None:
        """Push and pull, then take local steps from there."""
        x, u = r.params, r.state("unsent")
        filled = float(r.buffer(u).addcmul_(u, u).sum()) > 0  # of an attempt that was interrupted
        for t in r.steps():
            if r.due(t, self.period):
                r.request(u if filled else None, into=x).wait()
                u.zero_()
            g = step.gradient()
            by, factor = step.move(g)
            u.add_(by if moves else g)
            if self.period > 1:
                x.add_(by, alpha=factor)
            filled = True
        r.deliver(u)
        u.zero_()
