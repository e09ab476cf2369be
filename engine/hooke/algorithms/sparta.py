"""SPARTA: local steps, and the average of a random small part of the weights."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, identical_workers, one_worker
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Periodic
from hooke.methods.sparse import Sample, sparse_sum
from hooke.spec.spaces import Space


class Sparta(Periodic):
    """SPARTA.

    x_i' = x_i - lr g_i(x_i);   then, for the elements e of a random set S,   x_i[e]' = mean_j x_j[e]   for all

    After every H-th step workers average a fraction p of their weights, chosen anew each time and the same on all
    workers. An element is averaged once in H / p steps on average, so that workers stay near each other with a
    fraction p of the traffic. p = 1 is Local SGD. Cost per H steps: 2 log2(P) A + 2 (P - 1)/P p |W| B, not hidden.

    Readings: S has max(1, round(p |W|)) distinct elements of the flat vector, drawn on every rank from the run's
    seed and the step, so that no indices are sent; the authors' program draws a mask for each layer on rank 0. The
    mean of all workers is evaluated, and computed while the train clock stands. Error feedback of the wire type is
    not applied, because each message holds other elements. Momentum, if any, is local to each worker: it is
    neither averaged nor reset. Default p = 0.005, H = 1, as in the authors' program.

    Reference: Beton et al., "Improving the Efficiency of Distributed Training using Sparse Parameter Averaging",
    2025 (OpenReview stFPf3gzq1).
    """

    family = "Local steps"
    reference = "sparta.sparta"
    exchange = sparse_sum
    limits = [
        one_worker(),
        Limit("local-sgd", {"fraction": 1.0}, exact=True, of_workers=True),
        identical_workers("sparta"),
    ]
    conserves = "weights"
    compressible = False
    tested_with = {"fraction": 0.3}
    accesses = 3
    search = {"fraction": Space(low=0.002, high=0.5, scale="log")}

    fraction: float = Field(0.005, gt=0, le=1, title="Fraction", description="Part of the weights averaged (p).")

    def vector_accesses(self, server: bool) -> float:
        """Return those of the step, and those of copying and scaling the averaged part."""
        return super().vector_accesses(server) + 6 * self.fraction / self.period

    def run(self, r: Rank) -> None:
        """Take local steps, then average the chosen elements."""
        x, mean, sample = r.params, r.buffer(r.params), Sample(r, self.fraction)
        step, comm = self.local_step(r), r.comm.sending("averages").without_feedback()
        for t in r.steps(evaluated=lambda: r.mean(x, into=mean)):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                values = sample.take(x, t)
                comm.allreduce(values)
                values.mul_(1 / r.workers)
                sample.put(x)
