"""PowerSGD: Sync SGD that sends gradients as low-rank matrices."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Descent
from hooke.methods.lowrank import LowRank, thin_matrices
from hooke.spec.spaces import Space


class Powersgd(Descent):
    """PowerSGD.

    M_i = G_i + e_i;   P = orth(mean_i M_i Q),   Q' = mean_i M_i^T P,   M^ = P Q'^T;   e_i' = M_i - M^
    x' = x - lr M^                                 the same x on all P workers; with momentum: along M^

    The gradient of every layer is a matrix. One step of the power method from the previous Q approximates it with
    rank r; the worker keeps the error e_i and adds it to its next gradient. Vectors (biases) are sent
    uncompressed. Cost per step: two all-reduces, r (n + m) in place of n m, 4 log2(P) A + 2 (P - 1)/P r (n + m) B.

    The messages are projections on a basis that changes with every step. The rounding error of one message is not
    useful for the next one, so error feedback of the wire type is never applied to them; that of e is the method.

    Readings: Q starts from a seeded normal draw and is kept; a tensor's first dimension is the rows of its
    matrix. r is at most the smaller dimension; at full rank this is Sync SGD. Momentum is heavy ball (or
    Nesterov) on M^, as in Sync SGD here.

    Reference: Vogels, Karimireddy, Jaggi 2019 (arXiv 1905.13727).
    """

    family = "Stochastic gradient descent"
    reference = "descent.low_rank"
    exchange = thin_matrices
    limits = [
        Limit("sync-sgd", {"rank": 1024}, workers=ANY),
        identical_workers("powersgd"),
    ]
    compressible = False
    tested_together = [{"rank": 4}]
    accesses = 17
    search = {"rank": Space(choices=[1, 2, 4])}

    rank: int = Field(2, ge=1, le=1024, title="Rank", description="Columns of the thin matrices (r).")

    def run(self, r: Rank) -> None:
        """Compress, average, decompress, and take the same step on all workers."""
        error, basis, thin = r.state("error"), r.state("basis"), r.buffer(r.params)
        low = LowRank(r.layout, self.rank, basis, thin, fresh=r.t == 0, seed=r.spec.seed)
        step, comm = self.local_step(r), r.comm.sending("updates").without_feedback()
        for _ in r.steps():
            m = error.add_(step.gradient())  # e + G
            left = low.project(m)
            comm.allreduce(left)
            right = low.return_(m, left)
            comm.allreduce(right)
            g = low.approximate(m, right, r.workers)  # leaves the new error in m
            step.apply(g)
