"""Sync EASGD1: the center on the host."""

from __future__ import annotations

from hooke.catalogue.claims import Limit, Step, Transfer, Transfers, before_steps
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Periodic
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring
from hooke.methods.elastic_rows import HostExchange


def through_worker_0(step: Step) -> Transfers:
    """Return the transfers of an exchange: to worker 0 and from there to the others, and back."""
    down, up = Transfer("broadcast", step.elements, step.workers), Transfer("reduce", step.elements, step.workers)
    return Transfer("message", step.elements), down, up, Transfer("message", step.elements)


class SyncEASGD1(Periodic, Elastic):
    """Sync EASGD1 (center on the host, tree).

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (sum_i x_i - P c)          on the host, once for all workers

    The equations of Sync EASGD with the placement of Algorithm 2: the center is on the host, a rank that computes
    no gradient. It sends c to worker 0, which broadcasts it to the others; their x_i are reduced to worker 0,
    which sends the sum to the host. These are two trees of log2(P) + 1 successive messages, 2 P |W| in total,
    without overlap: 2 (log2(P) + 1) (A + |W| B) per exchange.

    Readings: among the devices the root of the tree is worker 0, and the host is one level above it. Otherwise as
    Sync EASGD; the weights of both are bitwise equal.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithm 2.
    """

    reference = "elastic.simultaneous"
    exchange = before_steps(through_worker_0)
    limits = [ONE_WORKER, Limit("sync-easgd2", workers=(1, 3, 4, 7), exact=True, shows="P7")]
    conserves = "weights and center"
    servers = 1
    accesses = 3, 8
    server_accesses = 6

    def bound(self, workers: int) -> float:
        """Return 2 / (P + 1), as for Sync EASGD."""
        return 2 / (workers + 1)

    def run(self, r: Rank) -> None:
        """Run the host's or the worker's part."""
        x, spring, exchange = r.params, Spring(r, self.rate(r.workers)), HostExchange(r)
        group = r.comm.split(int(r.is_server), r.rank)
        if r.is_server:
            for t in r.steps(evaluated=x):  # on the host, x is c
                if r.due(t, self.period):
                    total, rows = exchange.serve(x)
                    spring.pull(x, total, r.workers, rows=rows)
            return
        step = self.following_step(r)
        for t in r.steps():
            g = step.gradient()
            if r.due(t, self.period):
                c, rows = exchange.work(group, x, step.moved())
                spring.pull(x, c, rows=rows)
            step.apply(g)
