"""Heterogeneous EASGD: every worker exchanges at a period of its own, with a pull by its share of the work."""

from __future__ import annotations

from hooke.catalogue.claims import Limit
from hooke.catalogue.rank import Rank
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring
from hooke.methods.paced import Paced
from hooke.methods.sizes import Sizes


class HeterogeneousEASGD(Paced, Elastic):
    """Heterogeneous EASGD.

    worker i   b_i local steps, then   x_i' = x_i - lr g_i(x_i) - a_i (x_i - c)
    center     c' = c + a_i (x_i - c)                      whoever comes first;   n_i' = n_i + 1
    pull       a_i = a P b_i / sum_j b_j
    periods    b_i' = max(1, b_i / f)        if n_i' < n_j - 1 for all others j
               b_i' = min(longest, b_i f)    if n_i' > n_j + 1 for all others j

    Async EASGD whose slow workers take fewer steps between exchanges, until all exchange equally often; a worker
    that brings more steps has a stiffer spring. Cost per exchange 2 (A + |W| B), hidden behind a gradient.

    Readings: no paper has it; it joins elastic exchanges with Adaptive Hogbatch's rule of sizes, but counts that
    differ by one are equal, so that equal workers keep their period. Both sides use the same x_i - c and a_i, at
    most 1 (or a): an exchange conserves sum_i x_i + c.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Async EASGD; Ma and Rusu 2020 (arXiv 2004.08771).
    """

    reference = "heterogeneous.easgd"
    limits = [ONE_WORKER, Limit("async-easgd", {"factor": 1.0}, exact=True)]
    conserves = "weights and center"
    servers, coordination = 1, "parameter-server"
    may_drop = True
    deterministic = False
    accesses = 3, 6
    server_accesses = 6
    tested_with = {"longest": 4}

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        (self.serve if r.is_server else self.work)(r)

    def serve(self, r: Rank) -> None:
        """Handle requests in order of arrival: reply c, a_i and the worker's next period, then move the center."""
        c, x, a = r.params, r.buffer(r.params), self.rate(r.workers)
        spring, sizes = Spring(r, a), Sizes(self.bounds(), r.workers, margin=1).kept(r.state("sizes"))
        for i in r.requests(x, period=self.exchange_period()):
            pull = min(a * sizes.share(i, r.dropped), max(a, 1.0))
            sizes.updated(i, r.dropped)
            r.reply(i, c, sizes.now[i], pull)
            spring.pull(c, x, rate=pull)

    def work(self, r: Rank) -> None:
        """Request the center, compute the gradient meanwhile, pull, step."""
        x, c, spring, left = r.params, r.buffer(r.params), Spring(r, self.rate(r.workers)), 0
        step = self.local_step(r)
        for _ in r.steps():
            swap = None if left else r.request(x, into=c)
            g = step.gradient()
            if swap:
                swap.wait()
                spring.pull(x, c, rate=r.word)
                left = r.granted
            step.apply(g)
            left -= 1
