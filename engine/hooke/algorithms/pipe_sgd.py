"""Pipe-SGD: synchronous SGD along gradients that are some steps late, so that their all-reduce is hidden."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.descent import Descent
from hooke.spec.spaces import Space


class PipeSGD(Descent):
    """Pipe-SGD.

    x_{t+1} = x_t - (lr / P) sum_i g_i(x_{t-d})          the same x on all P workers; 0 in place of t < d

    The all-reduce of the gradients of step t overlaps the next d steps; their mean is applied d steps late. All
    workers apply the same means and stay bitwise equal. With momentum v' = mu v - (lr / P) sum_i g_i(x_{t-d}),
    x' = x + v'. Cost per step max(0, 2 log2(P) A + 2 (P - 1)/P |W| B - step), because all-reduces follow one
    another: d > 1 hides unequal steps only. With `accumulation` k a step has k gradients to hide it.

    The largest stable learning rate falls with d: on a quadratic of curvature h without momentum it is
    2 sin(pi / (4 d + 2)) / h: 2 / h, 1 / h, 0.62 / h. With d = 1 heavy-ball momentum lowers it to (1 - mu) / h,
    Nesterov's to about sqrt(1 - mu) / h, because its look-ahead point is one step ahead.

    Readings: d is the K of the paper minus 1. The gradients of the last d steps are not applied. Momentum and
    weight decay act on the present velocity and weights (the paper has neither), and the look-ahead point is one
    step ahead, as without delay. The evaluated weights do not include what is under way.

    Reference: Li, Yu, Li, Avestimehr, Kim, Schwing, "Pipe-SGD", NeurIPS 2018 (arXiv 1811.03619), Algorithm 1.
    """

    family = "Stochastic gradient descent"
    reference = "pipe_sgd.pipe_sgd"
    exchange = after_steps(all_reduce, behind=lambda method: method.delay or "nothing")
    limits = [
        Limit("sgd", {"delay": 0}, workers=(1,), exact=True, shows="P1"),
        Limit("sync-sgd", {"delay": 0}, workers=ANY, exact=True),
        identical_workers("pipe-sgd"),
    ]
    tested_together = [{"delay": 3}]
    accesses = 3
    search = {"accumulation": Space(choices=[1, 2, 4, 8])}

    delay: int = Field(1, ge=0, le=64, title="Delay", description="Steps by which gradients are late (d).")

    def run(self, r: Rank) -> None:
        """Begin to sum the gradients of this step, and step along the sum of d steps ago."""
        step, comm, count = self.local_step(r), r.comm.sending("updates"), self.delay + 1
        sums = [r.state(f"sum {k}") for k in range(count)]
        under_way: dict[int, Pending] = {}
        for t in r.steps(flush=under_way.values):
            newest, due = t % count, (t + 1) % count
            under_way[newest] = comm.iallreduce(step.gradient(), into=sums[newest])
            if due in under_way:  # else there was no such step, or its sum arrived before a restart
                under_way.pop(due).wait()
            step.apply(sums[due], r.workers)
