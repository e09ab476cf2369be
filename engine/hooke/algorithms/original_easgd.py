"""Original EASGD: the round-robin baseline of SC17."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.catalogue.claims import before_steps, swap
from hooke.catalogue.rank import Rank
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring


class OriginalEASGD(Elastic):
    """Original EASGD (round robin).

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (x_i - c)                  one worker at a time, in rank order

    The server has the center and exchanges with one worker at a time; worker i + 1 never exchanges before worker
    i. All right-hand sides are old values. Cost of P exchanges: P (A + |W| B) in each direction, without overlap.

    Readings: with `ordered` all workers compute at the same time and only the exchanges are in rank order, which
    is the fairer baseline; `serial` is exactly Algorithm 1 of the paper: only the worker whose turn it is
    computes. Momentum, if any, is local to each worker: equations (5) and (6).

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithm 1, equations (1) and (2).
    """

    reference = "elastic.in_rank_order"
    exchange = before_steps(swap)
    limits = [ONE_WORKER]
    conserves = "weights and center"
    servers = 1
    coordination = "parameter-server"
    accesses = 3, 6
    server_accesses = 6

    mode: Literal["serial", "ordered"] = Field(
        "ordered", title="Mode", description="One worker at a time computes (serial), or only exchanges (ordered)."
    )

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        if r.is_server:
            self.serve(r)
        else:
            self.work(r)

    def serve(self, r: Rank) -> None:
        """Lines 10-14: send c to worker j, fetch x_j, apply (2)."""
        c, x, spring = r.params, r.buffer(r.params), Spring(r, self.rate(r.workers))
        for j in r.requests(None if self.mode == "serial" else x, order="rank"):
            r.reply(j, c)
            if self.mode == "serial":
                r.receive(x, j)
            spring.pull(c, x, rows=r.rows)

    def work(self, r: Rank) -> None:
        """Compute the gradient at x_i, exchange, apply (1)."""
        x, c, spring = r.params, r.buffer(r.params), Spring(r, self.rate(r.workers))
        step = self.following_step(r)
        for _ in r.steps():
            rows = step.moved()
            if self.mode == "serial":
                r.request(None, into=c, rows=rows).wait()
                g = step.gradient()
                r.deliver(x)
            else:
                g = step.gradient()
                r.request(x, into=c, rows=rows).wait()
            spring.pull(x, c, rows=rows)
            step.apply(g)
