"""Adaptive SGD: batches are handed out dynamically between merges, with sizes that follow the workers' speeds."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit
from hooke.catalogue.rank import Rank
from hooke.methods.sized_merges import ALONE, SizedMerges


class AdaptiveSGD(SizedMerges):
    """Adaptive SGD.

    worker i   x_i' = x_i - lr sum of g_i(x_i) over the next b_i batches;   u_i' = u_i + 1      until M are done
    merge      c' = sum_i a_i x_i + mu (c - c_before);   x_i = c'
               a_i = u_i / sum_j u_j;   b_i / sum_j b_j if all u_j are equal
    sizes      b_i' = b_i + beta (u_i - mean_j u_j), within the bounds;   u_i = 0

    Who is done takes the next b_i of M batches. Sizes change until all update equally often; the rate of an update
    is proportional to its batch. Cost per merge 2 P (A + |W| B), at the server.

    Readings, its text not at hand: sizes are multiples of the run's batch, b_max at first; M counts batches of the
    run. A change beyond a bound ends at it. Perturbed (off by default; published: 0.1) if |x_i| / |W| is below its
    threshold for all i that have updated, unless all u_i are equal. No warm-up. After the end or a stop all go on
    from their own weights, each with a batch of the first merge. A reply grants ceil(s e_i) updates, a share s
    (`at_once`; 0: one) of the e_i = L w_i / (b_i sum_j w_j) that i would take of the L batches left; w_i: i's
    since the merge before the latest. Just after a merge at least 3, or all but one if e_i is less (L = M).

    Reference: Ma, Rusu and Torres 2021 (arXiv 2110.07029).
    """

    family, reference = "Stochastic gradient descent", "merging.adaptive_sgd"
    limits = [Limit("sgd", ALONE, {"momentum": 0.0}, workers=(1,), exact=True, shows="P1")]
    tested_with = {"largest": 2, "mega_batch": 13, "center_momentum": 0.4}
    tested_together = [{"perturbation": 0.1, "threshold": 10.0, "at_once": 0.0}, {"largest": 1, "mega_batch": 26}]
    servers, coordination, deterministic, accesses = 1, "parameter-server", False, 4

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Of an update by one batch.")

    def run(self, r: Rank) -> None:
        """Run the server's or the worker's part."""
        (self.serve if r.is_server else self.work)(r)

    def serve(self, r: Rank) -> None:
        """Hand out batches; once those of a merge are spent, merge what all workers bring."""
        c, before, x = r.params, r.state("before", like=r.params), r.buffer(r.params)
        xs, shares = [r.buffer(c) for _ in range(r.workers)], self.shares(r.workers).kept(r.state("shares"))
        waiting, gone, unheard = [], 0, shares.without() if r.t else set()
        for i in r.requests(x, period=self.most(r.workers), last_words=True, holds=True):
            if r.brought:  # its last words
                xs[i].copy_(x)
                gone += 1
            elif shares.left > len(unheard := unheard - {i}):
                self.hand_out(r, i, shares, shares.left - len(unheard))
                continue
            else:
                r.take(xs[i], i)
                waiting.append(i)
            if len(waiting) + gone == r.workers:
                self.merge(c, before, xs, shares)
                shares.refill()
                while waiting:  # one batch at least remains for each
                    self.hand_out(r, waiting.pop(0), shares, shares.left - len(waiting), c)

    def work(self, r: Rank) -> None:
        """Ask for batches, sum their gradients, step."""
        x, u, left, size = r.params, r.state("not applied"), 0, 1
        for _ in r.steps():
            if left % size == 0:
                x.add_(u, alpha=-self.lr)
                if not left:
                    r.ask(x)
                    left, size = r.granted, int(r.word)
                u.zero_()
            u.add_(r.gradient(joined=left % size > 0 and left < r.granted, of=left % size or size))
            left -= 1
        r.deliver(x.add_(u, alpha=-self.lr))
        u.zero_()
