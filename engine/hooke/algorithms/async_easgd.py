"""Async EASGD: exchanges in order of arrival, overlapped with the gradient."""

from __future__ import annotations

from hooke.catalogue.claims import before_steps, swap
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Periodic
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring


class AsyncEASGD(Periodic, Elastic):
    """Async EASGD.

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (x_i - c)                  whoever comes first, one at a time

    A worker sends x_i and computes g_i, while the server replies with c and then applies (2). The gradient is
    never stale; only the pull uses a slightly old center. Cost per exchange 2 (A + |W| B), hidden if P exchanges
    take no longer than one gradient; otherwise the server is the bottleneck. With `period` tau a worker takes
    tau - 1 plain steps between exchanges; its first exchange is at its step 0.

    Readings: the reply contains the center before (2), as in an atomic swap, so that both sides use the same
    difference x_i - c and the exchange conserves sum_i x_i + c. Momentum, if any, is local to each worker. Where
    only touched rows travel, (1) and (2) pull those that this worker has moved since its exchange before.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983); Zhang, Choromanska, LeCun 2015, Algorithm 1.
    """

    reference = "elastic.in_order_of_arrival"
    exchange = before_steps(swap, "gradient")
    limits = [ONE_WORKER]
    conserves = "weights and center"
    servers = 1
    coordination = "parameter-server"
    may_drop = True
    deterministic = False
    accesses = 3, 6
    server_accesses = 6

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        if r.is_server:
            self.serve(r)
        else:
            self.work(r)

    def serve(self, r: Rank) -> None:
        """Handle requests in order of arrival: reply c, then apply (2)."""
        c, x, spring = r.params, r.buffer(r.params), Spring(r, self.rate(r.workers))
        for i in r.requests(x, order="arrival", period=self.period):
            r.reply(i, c)
            spring.pull(c, x, rows=r.rows)

    def work(self, r: Rank) -> None:
        """Request the center, compute the gradient meanwhile, apply (1)."""
        x, c, spring = r.params, r.buffer(r.params), Spring(r, self.rate(r.workers))
        step = self.following_step(r)
        for t in r.steps():
            rows = step.moved() if r.due(t, self.period) else None
            swap = r.request(x, into=c, rows=rows) if r.due(t, self.period) else None
            g = step.gradient()
            if swap:
                swap.wait()
                spring.pull(x, c, rows=rows)
            step.apply(g)
