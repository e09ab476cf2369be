"""Hogwild EASGD: a shared center without a lock."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import before_steps, read_and_add
from hooke.catalogue.rank import Rank
from hooke.comm.base import Updates
from hooke.comm.touched import add_rows
from hooke.methods.descent import Periodic
from hooke.methods.elastic import ONE_WORKER, Elastic, concurrent_bound, overlap_of


class HogwildEASGD(Periodic, Elastic):
    """Hogwild EASGD.

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (x_i - c)                  element by element, no lock

    Async EASGD without the lock around (2): the center is in a shared window. While a worker computes g_i, it
    reads c, adds a (x_i - c) to the center and then subtracts the same from x_i. Several workers may do so at the
    same time: an update that another one overwrites is lost, and the lost share is measured. Cost per exchange:
    one read and one addition of |W|, 2 (A + |W| B) between hosts, without waiting for a server; hidden if P
    exchanges take no longer than one gradient.

    Readings: the exchange overlaps the gradient, as in Async EASGD; with `overlap = false` it precedes the
    gradient, with the same x_i. `updates = plain` uses plain stores, as published, and is refused if ranks share
    no memory; `atomic` uses element-wise additions and loses nothing; `auto` is plain if memory is shared, else
    atomic. Where only touched rows travel, (1) and (2) pull those that this worker has moved since its exchange
    before.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983); Niu, Recht, Re, Wright 2011 for the name.
    """

    reference = "elastic.lock_free"
    exchange = before_steps(read_and_add, overlap_of)
    limits = [ONE_WORKER]
    conserves = "weights and center"
    coordination = "lock-free"
    updates_field = "updates"
    may_drop = True
    deterministic = False
    accesses = 11

    updates: Updates = Field(
        "auto", title="Updates", description="Plain stores, atomic additions, or plain where memory is shared."
    )
    overlap: bool = Field(True, title="Overlap", description="Exchange while the gradient is computed.")

    def bound(self, workers: int) -> float:
        """Return the bound for concurrent readers: 2 / (P + 1) up to 3 workers, about pi / (2 P) for many."""
        return concurrent_bound(workers)

    def run(self, r: Rank) -> None:
        """Exchange, compute the gradient meanwhile, apply (1)."""
        x, d = r.params, r.buffer(r.params)
        a, step = self.rate(r.workers), self.following_step(r)
        center = r.shared("center", like=x, updates=self.updates)
        for t in r.steps(evaluated=center.snapshot):
            rows = step.moved() if r.due(t, self.period) else None
            exchange = center.exchange(x, d, a, self.overlap, rows) if r.due(t, self.period) else None
            g = step.gradient()
            if exchange:
                exchange.wait()
                add_rows(x, d, -a, rows)
            step.apply(g)
