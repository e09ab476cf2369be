"""Streaming DiLoCo: DiLoCo on fragments of the weights, one after the other and in the background."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.fragments import due, fragment_sums, fragments
from hooke.methods.outer import Outer
from hooke.spec.spaces import Space

SGD = {"optimizer": "sgd", "lr": 0.05}


class StreamingDiloco(Outer):
    """Streaming DiLoCo.

    Inner steps (AdamW) on x_i;  fragment k of F is sent after k H / F steps, and then every H steps:
    D = c - mean_i x_i;   and d steps later
    m' = mu m + D,   c' = c - outer_lr (D + mu m'),   x_i' = c' + a (x_i - c')

    The vectors here are those of the fragment, which is a DiLoCo of its own; its all-reduce overlaps the next d
    steps, whose changes a share a of the worker's weights keeps. With one fragment, d = 0 and a = 0 it is DiLoCo.
    Cost per H steps and fragment of n elements: max(0, 2 log2(P) A + 2 (P - 1)/P n B - d steps).

    Readings: c of a fragment is the result of its last outer step, the same on all workers, and D is relative to
    it. A fragment is a contiguous piece of the weights (the paper's sequential pattern), cut between layer
    parameters nearest to k |W| / F; it may be empty. The evaluated center does not include what is under way. The
    published H is about 100 steps.

    Reference: Douillard et al. 2025 (arXiv 2501.18512).
    """

    family = "Local steps"
    reference = "fragments.streaming_diloco"
    exchange = fragment_sums
    limits = [
        Limit("diloco", {"fragments": 1, "delay": 0, "mixing": 0.0, **SGD}, SGD, workers=ANY),
        identical_workers("streaming-diloco"),
    ]
    tested_with = {"lr": 0.02}
    tested_together = [{"optimizer": "sgd", "momentum": 0.6}, {"fragments": 2, "delay": 2, "mixing": 0.2}]
    accesses = 3, 21
    search = {"fragments": Space(choices=[1, 2, 4]), "delay": Space(low=0, high=4, integer=True)}

    fragments: int = Field(4, ge=1, le=1000, title="Fragments", description="Pieces of the weights (F).")
    delay: int = Field(1, ge=0, le=9999, title="Delay", description="Steps from sending to the outer step (d).")
    mixing: float = Field(0.5, ge=0, lt=1, title="Mixing", description="Share of a worker's own weights (a).")

    def faults(self, workers: int) -> list[str]:
        """Require that a fragment arrives before it is sent again."""
        late = self.delay >= self.period
        told = [f"delay {self.delay} is not less than period {self.period}"] if late else []
        return [*super().faults(workers), *told]

    def run(self, r: Rank) -> None:
        """Take inner steps; send fragments, and take their outer steps when they arrive."""
        x, c, m, delta = r.params, r.state("center", like=r.params), r.state("outer"), r.state("delta")
        step, comm, parts = self.local_step(r), r.comm.sending("updates"), fragments(r.layout, self.fragments)
        under_way: dict[int, Pending] = {}
        for t in r.steps(evaluated=c, flush=under_way.values):
            step.apply(step.gradient())
            for k in due(t + 1, parts, self.period):
                under_way[k] = comm.iallreduce(delta[parts[k]].copy_(c[parts[k]]).sub_(x[parts[k]]))
            for k in due(t + 1 - self.delay, parts, self.period):
                if k in under_way:  # else it arrived before a restart
                    under_way.pop(k).wait()
                x_k, c_k, m_k, delta_k = (vector[parts[k]] for vector in (x, c, m, delta))
                m_k.mul_(self.outer_momentum).add_(delta_k, alpha=1 / r.workers)
                delta_k.mul_(1 / r.workers).add_(m_k, alpha=self.outer_momentum)
                x_k.lerp_(c_k.add_(delta_k, alpha=-self.outer_lr), 1 - self.mixing)
