"""NoLoCo: DiLoCo without a collective: outer steps in random pairs of workers."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, after_steps, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.outer import Outer
from hooke.methods.peers import partner, send_update, sum_of_updates, two_vectors_each
from hooke.spec.spaces import Space


class Noloco(Outer):
    """NoLoCo.

    x_i = c_i;  H inner steps (AdamW) on x_i;  then, with the means over i and its partner of this round,
    D_i = c_i - x_i,   m_i' = mu m_i - outer_lr mean D - b (c_i - mean c),   c_i' = c_i + m_i'

    Every worker has outer weights c_i and an outer momentum of its own. After every H-th step random disjoint
    pairs exchange c_i and D_i; the pull b towards the mean of the pair keeps all c_i near each other. Cost per H
    steps: two messages each way for every pair, 2 (A + |W| B), for any number of workers.

    Readings: pairs are drawn on every rank from the run's seed and the step; of an odd number of workers one takes
    the step alone. The authors' program has b = outer_lr; both are parameters here, with its defaults (0.7, mu
    0.5, H 50). The exchange of c_i could begin before the inner steps; here it does not. The mean of all c_i is
    evaluated, and computed while the train clock stands. AdamW and its weight decay are as in DiLoCo. Where only
    touched rows travel, D_i does by rows; c_i is whole, for its momentum moves all of it.

    Reference: Kolehmainen et al. 2025 (arXiv 2506.10911).
    """

    family = "Gossip"
    reference = "noloco.noloco"
    exchange = after_steps(two_vectors_each)
    limits = [
        Limit(
            "slowmo",
            {"optimizer": "sgd", "lr": 0.05, "outer_lr": 0.7, "outer_momentum": 0.5},
            {"slow_lr": 0.7, "slow_momentum": 0.5, "lr": 0.05},
            workers=(1, 2),
        ),
        identical_workers("noloco"),
    ]
    tested_with = {"lr": 0.03}
    tested_together = [{"optimizer": "sgd", "momentum": 0.6}]
    accesses = 3, 24
    search = {"pull": Space(low=0.1, high=1.0)}

    period: int = Field(50, ge=1, le=10_000, title="Period", description="Inner steps per outer step (H).")
    outer_momentum: float = Field(0.5, ge=0, lt=1, title="Outer momentum", description="Of the outer steps (mu).")
    pull: float = Field(0.7, ge=0, le=2, title="Pull", description="Towards the mean of the pair (b).")

    def warnings(self, workers: int) -> list[str]:
        """Say that nothing ties the workers to each other without a pull."""
        apart = self.pull == 0 and workers > 2
        return [*super().warnings(workers), *(["with a pull of 0 workers drift apart"] if apart else [])]

    def run(self, r: Rank) -> None:
        """Take inner steps, then an outer step with the partner of this round."""
        x, c, m = r.params, r.state("center", like=r.params), r.state("outer")
        delta, theirs, mean, step = *(r.buffer(x) for _ in range(3)), self.local_step(r).follow(at_first=False)
        updates = r.comm.sending("updates")
        for t in r.steps(evaluated=lambda: r.mean(c, into=mean)):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                delta.copy_(c).sub_(x)
                peer = partner(r.rank, r.spec.seed, t, r.workers)
                if peer is None:
                    m.mul_(self.outer_momentum).add_(delta, alpha=-self.outer_lr)
                else:
                    sent = [r.comm.isend(c, peer), *send_update(r, updates, delta, step.moved(), peer)]
                    r.comm.recv(theirs, peer)
                    m.mul_(self.outer_momentum).add_(theirs.sub_(c), alpha=self.pull / 2)
                    m.add_(sum_of_updates(r, delta, theirs, mean, peer), alpha=-self.outer_lr / 2)
                    for each in sent:
                        each.wait()
                x.copy_(c.add_(m))
