"""Overlap Local SGD: local steps with an anchor whose all-reduce overlaps the next round."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.descent import Periodic
from hooke.spec.spaces import Space


class OverlapLocalSGD(Periodic):
    """Overlap Local SGD.

    tau times   x_i' = x_i - lr g_i(x_i);   then, for all,   x_i' = x_i - a (x_i - z)
    meanwhile   v' = beta v + mean_i x_i - z,   z' = z + v'                of the x_i after their pull

    Once per tau steps each worker is pulled to the anchor z, which is the same on all workers. The all-reduce of
    the average for the next anchor overlaps the next tau steps; it is completed before the next pull. Cost per tau
    steps: max(0, 2 log2(P) A + 2 (P - 1)/P |W| B - tau steps). beta is the anchor momentum. With a = 1 workers
    return to the anchor, whose next value is their average: it never moves.

    Readings: the exchange follows the tau-th step, and the first pull is to the initial weights. The evaluated
    anchor includes all averages begun so far. The authors' program adds the momentum to each worker's update
    before the average; its mean is v. The defaults (tau 2, a 0.6, beta 0.7) are those of this implementation.
    Momentum of the local steps, if any, is local to each worker.

    Reference: Wang, Liang, Joshi, "Overlap Local-SGD", ICASSP 2020 (arXiv 2002.09539).
    """

    family = "Local steps"
    reference = "overlap.overlap_local_sgd"
    exchange = after_steps(all_reduce, behind="period")
    limits = [
        Limit("sgd", {"pull": 0.0}, workers=(1,), exact=True, shows="P1", of_workers=True),
        identical_workers("overlap-local-sgd"),
    ]
    accesses = 3, 14
    search = {"pull": Space(low=0.2, high=0.9), "anchor_momentum": Space(low=0.0, high=0.9)}

    period: int = Field(2, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
    pull: float = Field(0.6, ge=0, le=1, title="Pull-back", description="Share of the way to the anchor (a).")
    anchor_momentum: float = Field(
        0.7, ge=0, lt=1, title="Anchor momentum", description="Share of the anchor's last move (beta)."
    )

    def warnings(self, workers: int) -> list[str]:
        """Say that nothing is learned where workers go all the way back."""
        told = (
            "with a pull-back of 1 every worker returns to the anchor, which is then their average: it never moves"
        )
        return [*super().warnings(workers), *([told] if self.pull == 1 else [])]

    def run(self, r: Rank) -> None:
        """Take local steps, pull to the anchor, start the average for the next anchor."""
        x, z, v, total = r.params, r.state("anchor", like=r.params), r.state("anchor move"), r.buffer(r.params)
        step = self.local_step(r)
        under_way: list[Pending] = []

        def flush() -> None:
            """Complete the pending average and compute the anchor from it."""
            if under_way:
                under_way.pop().wait()
                v.mul_(self.anchor_momentum).add_(total, alpha=1 / r.workers).sub_(z)
                z.add_(v)

        for t in r.steps(evaluated=z, flush=flush):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                flush()
                x.lerp_(z, self.pull)
                under_way.append(r.comm.iallreduce(x, into=total))
