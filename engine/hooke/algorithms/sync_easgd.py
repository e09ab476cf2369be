"""Sync EASGD: one all-reduce of weights per exchange, optionally overlapped with the gradient."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import all_reduce, before_steps
from hooke.catalogue.rank import Rank
from hooke.comm.touched import packed
from hooke.methods.descent import Periodic
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring, overlap_of
from hooke.methods.elastic_rows import WeightSum, WeightSums
from hooke.spec.spaces import Space


class SyncEASGD(Periodic, Elastic):
    """Sync EASGD.

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (sum_i x_i - P c) = c + b (mean_i x_i - c),   b = P lr rho

    Every worker has a replica of the center; all add the same sums and stay bitwise equal. One all-reduce of the
    x_i before the step replaces the paper's broadcast of c and reduction of x_i; with `overlap` a copy of x_i
    travels during forward and backward (EASGD3). Cost per exchange 2 log2(P) A + 2 (P - 1)/P |W| B; with overlap a
    step is max(compute, transfer). With `pipelined` the sum is added at the next exchange: it overlaps tau steps.

    Readings: (2) is computed as c + a (sum_i x_i - P c), in the documented order of summation. Exchanges are at
    steps 0, tau, 2 tau... Momentum is local to each worker: (5), (6). `overlap` and `pipelined` change no bit.
    Where only touched rows travel, (1) and (2) pull those that some worker has moved since the exchange before.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithms 2 and 3; Zhang, Choromanska, LeCun 2015.
    """

    reference = "elastic.simultaneous"
    exchange = before_steps(all_reduce, lambda m: "period" if m.pipelined else overlap_of(m))
    limits = [ONE_WORKER]
    conserves = "weights and center"
    tested_together = [{"pipelined": True, "period": 3}]
    accesses = 3, 14
    search = {"overlap": Space(choices=[False, True], when={"pipelined": [False]})}

    overlap: bool = Field(False, title="Overlap", description="Exchange while the gradient is computed.")
    pipelined: bool = Field(False, title="Pipelined", description="Exchange behind all tau steps; same weights.")

    def bound(self, workers: int) -> float:
        """Return 2 / (P + 1): above it, the distance of center and workers grows at each exchange."""
        return 2 / (workers + 1)

    def run(self, r: Rank) -> None:
        """Exchange, compute, apply (1) and (2)."""
        x, c = r.params, r.state("center", like=r.params)
        sums = WeightSums(r, 1 + self.pipelined)
        spring, step = Spring(r, self.rate(r.workers)), self.following_step(r)
        behind = self.overlap or self.pipelined
        under_way: list[WeightSum] = []

        def flush(but: int = 0) -> None:
            """Apply (2) with the pending sums, except the latest `but`."""
            while len(under_way) > but:
                done = under_way.pop(0)
                spring.pull(c, done.wait(), r.workers, rows=done.rows)
                sums.end(done)

        for t in r.steps(evaluated=c, flush=flush):
            exchange = r.due(t, self.period)
            if exchange and behind:
                under_way.append(sums.begin(x, step.moved(), behind))
            g = step.gradient()
            if exchange:
                if not behind:
                    under_way.append(sums.begin(x, step.moved(), behind))
                flush(but=1)
                rows = under_way[-1].rows
                spring.pull(x, packed(c, rows), rows=rows)  # the old one
            step.apply(g)
            if exchange and not self.pipelined:
                flush()
