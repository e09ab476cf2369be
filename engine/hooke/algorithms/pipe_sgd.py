"""Pipe-SGD: synchronous SGD along gradients that are some steps late, so that their all-reduce is hidden."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.descent import Descent
from hooke.spec.spaces import Space


class PipeSGD(Descent):
    """Pipe-SGD.

    x_{t+1} = x_t - (lr / P) sum_i g_i(x_{t-d})          the same x on all P workers; x_{t+1} = x_t where t < d

    The all-reduce of the gradients of step t overlaps the next d steps; their mean is applied d steps late. With
    momentum v' = mu v - (lr / P) sum_i g_i(x_{t-d}), x' = x + v'. Cost per step max(0, 2 log2(P) A + 2 (P - 1)/P
    |W| B - step), because all-reduces follow one another: d > 1 hides unequal steps only. With `accumulation` k a
    step has k gradients to hide it.

    The largest stable learning rate falls with d: on a quadratic of curvature h without momentum it is
    2 sin(pi / (4 d + 2)) / h: 2 / h, 1 / h, 0.62 / h. With d = 1 heavy-ball momentum lowers it to (1 - mu) / h,
    Nesterov's to about sqrt(1 - mu) / h. With `predict` gradients are taken where momentum alone leads in the d
    steps until they are applied, at x + (mu + ... + mu^d) v, with Nesterov's kind one step further: its bound with
    d = 1 is then above 0.25 / h for every mu (without it 0.09 / h at mu = 0.99), but lower for mu < 0.78.

    Readings: d is the K of the paper minus 1. The last d gradients are not applied. Momentum and weight decay act
    on the present velocity and weights (the paper has neither); the prediction is that of SpecTrain (arXiv
    1809.02839), with a velocity that decays. The evaluated weights lack what is under way.

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
    tested_together = [{"delay": 3, "momentum": 0.6, "predict": "momentum"}]
    accesses = 3
    search = {"accumulation": Space(choices=[1, 2, 4, 8])}

    delay: int = Field(1, ge=0, le=64, title="Delay", description="Steps by which gradients are late (d).")
    predict: Literal["none", "momentum"] = Field(
        "none", title="Prediction", description="Of the weights at which a gradient is applied: SGD with momentum."
    )

    def velocity_accesses(self) -> int:
        """Return the vector accesses that momentum adds to a step: with a prediction those of Nesterov's."""
        own = super().velocity_accesses()
        return 10 if own and self.predict == "momentum" else own

    def warnings(self, workers: int) -> list[str]:
        """Return also that a prediction needs the momentum of SGD."""
        lost = self.predict != "none" and not self.velocity_accesses()
        return super().warnings(workers) + ["predict has no effect without the momentum of SGD"] * lost

    def run(self, r: Rank) -> None:
        """Begin to sum the gradients of this step, and step along the sum of d steps ago."""
        step, comm = self.local_step(r).after(self.delay), r.comm.sending("updates")
        if self.predict == "momentum":
            step.look_ahead(self.delay)
        sums = [r.state(f"sum {k}") for k in range(self.delay + 1)]
        under_way: dict[int, Pending] = {}
        for t in r.steps(flush=under_way.values):
            newest, due = t % len(sums), (t + 1) % len(sums)
            under_way[newest] = comm.iallreduce(step.gradient(), into=sums[newest])
            if due in under_way:  # else its sum arrived before a restart
                under_way.pop(due).wait()
            if t >= self.delay:
                step.apply(sums[due], r.workers)
