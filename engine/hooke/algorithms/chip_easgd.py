"""Communication-efficient EASGD for many-core chips: Sync SGD inside, Sync EASGD between."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.catalogue.claims import Limit
from hooke.catalogue.rank import Rank
from hooke.comm.touched import packed
from hooke.methods.chips import inside_and_between_chips
from hooke.methods.descent import Periodic
from hooke.methods.elastic import ONE_WORKER, Elastic, Spring
from hooke.methods.elastic_rows import agreed_rows, is_empty


class ChipEASGD(Periodic, Elastic):
    """Communication-efficient EASGD (many-core chips).

    (1) chip k   x_k' = x_k - lr (mean_j g_kj(x_k) + rho (x_k - c))       j over the G parts of a chip, or sum_j
    (2) center   c'   = c + lr rho (sum_k x_k - (P/G) c)                  k over the P/G chips

    A chip has G parts, each with a copy of weights and data in its near memory. Parts sum their gradients: Sync
    SGD inside. Between chips, Sync EASGD: the first part all-reduces x_k and broadcasts the sum inside. Cost per
    step: 2 log2(G) a + 2 (G - 1)/G |W| b; per exchange the same of P/G, hidden if `overlap`, and a broadcast.

    Readings: with `inside = sum` a step is G times that of one worker with the batches of all parts. A worker is
    a part, and the batch is per worker. Per chip, a = beta G / P. Touched rows travel as in Sync EASGD.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithm 4 and the partition of a chip.
    """

    reference = "elastic.chips"
    exchange = inside_and_between_chips
    limits = [ONE_WORKER.at(parts=1), Limit("sync-easgd", {"parts": 1}, exact=True)]
    conserves = "weights and center"
    tested_together = [{"parts": 1}]
    accesses = 3, 14

    parts: int = Field(2, ge=1, le=1024, title="Parts", description="Workers per chip (G); P is a multiple.")
    inside: Literal["mean", "sum"] = Field(
        "mean", title="Inside a chip", description="A step follows the mean or the sum of the parts' gradients."
    )
    overlap: bool = Field(True, title="Overlap", description="Exchange while the gradient is computed.")

    def faults(self, workers: int) -> list[str]:
        """Refuse numbers of workers that are not a multiple of the parts."""
        return [] if workers % self.parts == 0 else [f"{workers} workers are not a multiple of {self.parts} parts"]

    def rate(self, workers: int) -> float:
        """Return the moving rate of a chip, with P/G chips in place of P workers."""
        return super().rate(max(1, workers // self.parts))

    def bound(self, workers: int) -> float:
        """Return 2 / (P/G + 1)."""
        return 2 / (workers // self.parts + 1)

    def run(self, r: Rank) -> None:
        """Exchange between chips, sum gradients inside, apply (1) and (2)."""
        x, c, total = r.params, r.state("center", like=r.params), r.buffer(r.params)
        spring, step, chips = Spring(r, self.rate(r.workers)), self.following_step(r), r.workers // self.parts
        chip = r.comm.split(r.rank // self.parts, r.rank)
        first, inside, between = chip.rank == 0, chip.sending("updates"), r.comm.split(int(chip.rank == 0), r.rank)
        for t in r.steps(evaluated=c):
            exchange = r.due(t, self.period)
            if exchange:
                rows = agreed_rows(r, r.comm, step.moved())
                exchange, mine = not is_empty(rows), packed(x, rows, into=total)
                pending = between.iallreduce(mine) if exchange and first and self.overlap else None
            g = step.gradient()
            inside.allreduce(g)
            if exchange:
                if first:
                    pending.wait() if pending else between.allreduce(mine)
                chip.broadcast(mine, 0)
                spring.pull(x, packed(c, rows), rows=rows)
                spring.pull(c, mine, chips, rows=rows)
            step.apply(g, self.parts if self.inside == "mean" else 1)
