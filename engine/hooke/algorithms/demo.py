"""DeMo: momentum of every worker's own, of which only the largest cosine coefficients are exchanged."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.gathered import Bits, Gathered, largest_of_chunks
from hooke.methods.settings import SCHEDULED, StepSettings
from hooke.spec.spaces import Space


class Demo(StepSettings):
    """DeMo (decoupled momentum).

    y_i = b m_i + T g_i(x),   q_i = top-k(y_i),   m_i' = y_i - q_i,   x' = x - lr sign(T^-1 sum_i q_i)

    Every worker accumulates its own gradients. Each step sends what has become large, and takes it out of the
    momentum; the rest waits. T is the orthonormal discrete cosine transform of every chunk, so that a few
    coefficients stand for a slow component of many elements. With k = chunk nothing waits: it steps along the
    signs of the mean gradient, as 1-bit Adam with b1 = b2 = 0 in its warm-up. Cost per step: one all-gather,
    log2(P) A + 1.5 (P - 1) k / chunk |W| B, not hidden.

    Readings: a chunk is 64 successive elements of the flat vector, where the authors' program transforms 64 x 64
    pieces of matrices. The momentum is held as coefficients, which is the same because T is linear. Sums are over
    all workers, in the order of ranks, with 0 for what one has not sent; T^-1 of them is formed in float64, so
    that its signs are the same on hosts of several kinds; the sign of 0 is 0. Weight decay shrinks x before the
    step, as in the authors' program; clipping is each worker's own. Default b = 0.999 as there; k = 4 sends 1/16
    of the coefficients.

    Reference: Peng, Quesnelle, Kingma 2024 (arXiv 2411.19870), Algorithm 1.
    """

    family = "Stochastic gradient descent"
    reference = "sparse.demo"
    exchange = largest_of_chunks
    limits = [
        Limit("onebit-adam", {"chunk": 8, "kept": 8}, {"lr": 0.02, "b1": 0.0, "b2": 0.0, "switch": 10**9}),
        identical_workers("demo"),
    ]
    compressible, encodes_itself, takes_threads = False, True, False
    tested_with = {"lr": 0.02, "chunk": 8, "kept": 4}
    accesses = 12
    search = {
        "lr": Space(low=0.00003, high=0.01, scale="log"),
        "decay": Space(low=0.9, high=0.9995, scale="reverse-log"),
        "kept": Space(low=1, high=32, scale="log", integer=True),
        **SCHEDULED,
    }

    lr: float = Field(0.001, gt=0, le=10, title="Learning rate", description="Step length of every weight.")
    decay: float = Field(0.999, ge=0, lt=1, title="Decay", description="Factor of the momentum (b).")
    kept: int = Field(4, ge=1, le=65536, title="Kept", description="Coefficients sent of every chunk (k).")
    chunk: int = Field(64, ge=1, le=4096, title="Chunk", description="Elements of a chunk.")
    bits: Bits = Field(32, title="Bits", description="Of a sent value: 2 (a sign and a level), or 32 (as it is).")

    def run(self, r: Rank) -> None:
        """Accumulate, gather the largest coefficients, and step along their sign."""
        from hooke.methods.chunked import Cosines, LargestOfChunks

        x, m, y, step = r.params, r.state("momentum"), r.buffer(r.params), self.own_step(r)
        cosines = Cosines(x.numel(), self.chunk)
        gathered = Gathered(r, LargestOfChunks(self.chunk, self.kept, self.bits))
        for _ in r.steps():
            step.average(g := r.gradient())
            cosines.forward(g, y)
            m.mul_(self.decay).add_(y)
            gathered.exchange(m, y)
            cosines.inverse(y, g)
            step.shrink()
            x.add_(g.sign_(), alpha=-step.lr)
