"""SparseLoCo: DiLoCo with sparse, quantized pseudo-gradients and error feedback instead of outer momentum."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, identical_workers
from hooke.catalogue.rank import Rank
from hooke.methods.gathered import Bits, Gathered, largest_of_chunks
from hooke.methods.outer import Inner
from hooke.spec.spaces import Space


class Sparseloco(Inner):
    """SparseLoCo.

    x_i = c;  H inner steps (AdamW) on x_i;  then   y_i = b e_i + (c - x_i),   q_i = Q(top-k(y_i)),
    e_i' = y_i - q_i,   c' = c - outer_lr mean_i q_i

    Of every chunk of the change the k elements of largest magnitude are sent, with 2 bits each. The rest stays in
    e_i, where it shrinks by b per round: it takes the place of DiLoCo's outer momentum. With k = chunk and 32 bits
    it is DiLoCo without outer momentum, and with SGD and outer rate 1 in addition Local SGD. Cost per H steps: one
    all-gather, log2(P) A + (P - 1) (2.25 k + 8) / (4 chunk) |W| B, not hidden.

    Readings: a chunk is successive elements of the flat vector, 4096 by default, where the paper takes 64 x 64
    pieces of matrices. The paper sends 2 bits per value, and does not say which four values they stand for: here a
    sign, and one of two levels, the means of the magnitudes above and not above the chunk's mean magnitude of kept
    elements. Indices take 2 bytes. The mean over workers is of all sent values, zeros included. Inner optimizer as
    in DiLoCo.

    Reference: Sarfi et al. 2025 (arXiv 2508.15706), Algorithm 1.
    """

    family = "Local steps"
    reference = "sparse.sparseloco"
    exchange = largest_of_chunks
    limits = [
        Limit("local-sgd", {"optimizer": "sgd", "lr": 0.05, "outer_lr": 1.0, "kept": 4096, "bits": 32}),
        Limit("diloco", {"lr": 0.005, "kept": 4096, "bits": 32}, {"lr": 0.005, "outer_momentum": 0.0}),
        identical_workers("sparseloco"),
    ]
    compressible, encodes_itself = False, True
    tested_with = {"lr": 0.05, "chunk": 8, "kept": 4}
    tested_together = [{"bits": 32}, {"optimizer": "sgd", "momentum": 0.6}]
    accesses = 3, 15
    search = {
        "kept": Space(low=16, high=512, scale="log", integer=True),
        "feedback": Space(low=0.5, high=0.99, scale="reverse-log"),
    }

    kept: int = Field(64, ge=1, le=65536, title="Kept", description="Elements sent of every chunk (k).")
    chunk: int = Field(4096, ge=1, le=65536, title="Chunk", description="Elements of a chunk.")
    bits: Bits = Field(2, title="Bits", description="Of a sent value: 2 (a sign and a level), or 32 (as it is).")
    feedback: float = Field(0.95, ge=0, le=1, title="Error feedback", description="Share of e_i that is kept (b).")

    def run(self, r: Rank) -> None:
        """Take local steps, then gather the largest changes."""
        from hooke.methods.chunked import LargestOfChunks

        x, c, e, sent = r.params, r.state("center", like=r.params), r.state("error"), r.buffer(r.params)
        step, gathered = self.local_step(r), Gathered(r, LargestOfChunks(self.chunk, self.kept, self.bits))
        for t in r.steps(evaluated=c):
            step.apply(step.gradient())
            if (t + 1) % self.period == 0:
                e.mul_(self.feedback).add_(c).sub_(x)
                gathered.exchange(e, sent)
                c.add_(sent, alpha=-self.outer_lr / r.workers)
                x.copy_(c)
