"""Hogbatch: asynchronous updates by workers with batches of their own size, which may follow their speeds."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit
from hooke.catalogue.rank import Rank
from hooke.methods.replicas import Replicas
from hooke.methods.sizes import Sized, Sizes
from hooke.spec.spaces import Space


class Hogbatch(Sized):
    """Hogbatch.

    worker i   x = c;  u = sum of g_i(x) over b_i batches;  push u
    server     c' = c - lr b_i^(p - 1) u            whoever comes first;   n_i' = n_i + m_i
               b_i' = max(smallest_i, b_i / alpha)  if n_i' < n_j for all others j
               b_i' = min(largest_i, b_i alpha)     if n_i' > n_j for all others j

    Slow workers get small batches and fast ones large batches, until all update equally often. The rate of an
    update is lr b_i^p (`rate_exponent`), by default proportional to its batch. With alpha = 1 sizes stay as they
    are. Cost per update 2 (A + |W| B).

    Readings: sizes are multiples of the run's batch, b_i / alpha rounded down and b_i alpha up, from those in
    `sizes`. The change u is added to a center that others have updated meanwhile (delta merge). As in the released
    code of the paper, `merging: overwrite` puts x in the place of c; what that undoes is in `lost_mass`. An update
    counts once, m_i = 1; that of a worker of kind `hogwild-cpu` beta T_i times, whatever b_i is, where T_i are its
    sub-batches, one per thread, and beta is `surviving`. All batches of an update begin at the pulled weights.

    Reference: Ma and Rusu 2020 (arXiv 2004.08771), CPU+GPU Hogbatch (alpha = 1) and Adaptive Hogbatch.
    """

    family = "Stochastic gradient descent"
    reference = "hogbatch.adaptive"
    limits = [
        Limit("sgd", {}, {"momentum": 0.0}, workers=(1,), exact=True, shows="P1"),
        Limit("async-sgd", {"alpha": 1.0}, {"momentum": 0.0}, exact=True),
    ]
    tested_with = {"largest": 4}
    tested_together = [{"sizes": (2,), "smallest_of": (1, 2), "largest_of": (2, 4), "rate_exponent": 0.5}]
    servers, coordination, pushes = 1, "parameter-server", "updates"
    may_drop = True
    deterministic = False
    accesses = 4
    search = {"lr": Space(low=0.003, high=1.0, scale="log")}

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Of an update by one batch.")

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        (self.serve if r.is_server else self.work)(r)

    def serve(self, r: Rank) -> None:
        """Apply each update, reply with the center and the worker's next number of batches."""
        c, u, replicas = r.params, r.buffer(r.params), Replicas(r, self.lr, self.overwriting(r))
        sizes = Sizes(self, r.workers, counts=self.counts(r)).kept(r.state("sizes"))
        for i in r.requests(u, order="arrival", period=self.exchange_period(), last_words=True):
            if r.brought:
                replicas.merge(c, u, i)
                sizes.updated(i, r.dropped)
            r.reply(i, replicas.given(c, i), sizes.now[i])

    def work(self, r: Rank) -> None:
        """Pull, sum the gradients of the batches granted, push."""
        x, u = r.params, r.state("unsent")
        filled, left = float(r.buffer(u).addcmul_(u, u).sum()) > 0, 0  # from before a restart
        for _ in r.steps():
            if not left:
                r.request(u if filled else None, into=x).wait()
                u.zero_()
                left = r.granted
            u.add_(r.gradient(joined=left < r.granted, of=left), alpha=self.weight(r.granted))
            filled, left = True, left - 1
        r.deliver(u)
        u.zero_()
