"""Async SGD: a parameter server with updates in order of arrival."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.catalogue.claims import before_steps, one_worker, swap
from hooke.catalogue.rank import Rank
from hooke.methods.descent import LocalStep, Periodic


class AsyncSGD(Periodic):
    """Async SGD.

    worker   pull x = c;  u = g_i(x)              tau > 1: tau steps x' = x - lr g_i(x), u their gradients' sum
    server   c' = c - lr u                        whoever comes first, one at a time

    A worker pushes the sum u of its gradients and pulls the center with one request; the first request pushes
    nothing, and a last push follows the last step. The staleness of a gradient is the number of updates that the
    server applied meanwhile: P - 1 for equally fast workers. Cost per exchange 2 (A + |W| B), not hidden.

    Readings: with `momentum_at = master` the server has the velocity: v' = mu v - lr u, c' = c + v'; for Nesterov,
    workers pull c + mu v. With `worker` each worker has its own velocity and pushes the sum of its updates.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), the asynchronous baseline; Dean et al. 2012.
    """

    family = "Stochastic gradient descent"
    reference = "descent.parameter_server"
    exchange = before_steps(swap)
    limits = [one_worker(), one_worker(momentum_at="worker")]
    tested_together = [{"momentum": 0.6, "momentum_at": "worker", "period": 3}]
    servers = 1
    coordination = "parameter-server"
    may_drop = True
    deterministic = False
    accesses = 6

    momentum_at: Literal["master", "worker"] = Field(
        "master", title="Momentum at", description="One velocity at the server (master), or each worker's own."
    )

    def vector_accesses(self, server: bool) -> int:
        """Return the vector reads and writes, including those of the velocity on the side that has it."""
        velocity = self.velocity_accesses() if server == (self.momentum_at == "master") else 0
        return velocity + (self.server_accesses if server else self.accesses)

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        own = self.momentum_at == "worker" and self.momentum > 0
        step = self.local_step(r) if own != r.is_server else LocalStep(r, self.lr)
        (self.serve if r.is_server else self.work)(r, step, own)

    def serve(self, r: Rank, step: LocalStep, moves: bool) -> None:
        """Apply each pushed update, reply with the center."""
        c, u = r.params, r.buffer(r.params)
        for i in r.requests(u, order="arrival", period=self.period, last_words=True):
            if r.brought:
                c.add_(u) if moves else step.apply(u)
            r.reply(i, step.point())

    def work(self, r: Rank, step: LocalStep, moves: bool) -> None:
        """Push and pull, then take local steps from the pulled center."""
        x, u = r.params, r.state("unsent")
        filled = float(r.buffer(u).addcmul_(u, u).sum()) > 0  # from before a restart
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
