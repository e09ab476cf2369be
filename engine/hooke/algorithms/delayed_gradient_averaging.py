"""Delayed Gradient Averaging: each worker steps at once, and its step is replaced by the mean some steps later."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import ANY, Limit, after_steps, all_reduce, identical_workers
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending
from hooke.methods.descent import Descent
from hooke.spec.spaces import Space


class DelayedGradientAveraging(Descent):
    """Delayed Gradient Averaging.

    u_i = -lr g_i(x_i),  v_i' = mu v_i + s u_i,  x_i' = x_i + v_i';   d steps later, with e = mean_j u_j - s u_i,
    v_i'' = v_i' + mu^d e,   x_i'' = x_i' + (1 + mu + ... + mu^d) e

    The all-reduce of the u of a step overlaps the next d steps. When it is complete, each worker is where it would
    be if it had stepped along the mean instead of its own gradient: workers differ by their last d steps alone.
    With s = 1 their mean moves as in Sync SGD, along gradients at the x_i. The differences bound the learning
    rate: on a quadratic of curvature h with d = 1 by 1 / h, whatever mu is, with Nesterov's by 1 / (1 + mu) / h.
    With s < 1 these bounds are 1 / s times as large, but the mean is late: without momentum 1 / (1 - s) / h bounds
    it, so that s = 1/2 allows 2 / h, as without a delay; with heavy ball and a large mu any s < 1 allows less than
    s = 1. s = 0 is Pipe-SGD, with momentum and d = 1 that with a prediction. Cost per step max(0, 2 log2(P) A +
    2 (P - 1)/P |W| B - step): d > 1 hides unequal steps only. With `accumulation` k it has k gradients to hide it.

    Readings: the paper has no momentum and s = 1; here a step is replaced in velocity and weights. With another
    optimizer than SGD u is its step, and mu = 0. The mean of all x_i is evaluated, while the train clock stands.

    Reference: Zhu, Lin, Lu, Lin, Han, "Delayed Gradient Averaging", NeurIPS 2021.
    """

    family = "Stochastic gradient descent"
    reference = "pipe_sgd.delayed_gradient_averaging"
    exchange = after_steps(all_reduce, behind=lambda method: method.delay or "nothing")
    limits = [
        Limit("sgd", workers=(1,), exact=True, shows="P1"),
        Limit("sync-sgd", {"delay": 0}, workers=ANY),
        Limit("pipe-sgd", {"share": 0.0, "momentum": 0.0}, {"momentum": 0.0}, workers=(2, 3)),
        identical_workers("delayed-gradient-averaging"),
    ]
    conserves = "weights"
    tested_together = [{"delay": 3}, {"delay": 2, "momentum": 0.6, "share": 0.7}]
    accesses = 13
    search = {"accumulation": Space(choices=[1, 2, 4, 8])}

    delay: int = Field(1, ge=0, le=64, title="Delay", description="Steps by which means are late (d).")
    share: float = Field(1.0, ge=0, le=1, title="Share", description="Of its own step, taken at once (s).")

    def vector_accesses(self, server: bool) -> float:
        """Return those of a step; momentum adds the correction of the velocity, a share that of the step."""
        return super().vector_accesses(server) + (3 if self.velocity_accesses() else 0) + 2 * (self.share < 1)

    def run(self, r: Rank) -> None:
        """Step at once, begin to sum the steps of all workers, and replace the step of d steps ago by its mean."""
        mu, count = self.momentum if self.optimizer == "sgd" else 0.0, self.delay + 1
        step = (self.model_copy(update={"momentum": 0.0}) if mu else self).local_step(r)
        x, mean, comm = r.params, r.buffer(r.params), r.comm.sending("updates")
        v = r.state("velocity") if mu else None
        ahead = r.buffer(x) if mu and self.momentum_kind == "nesterov" else None
        own, sums = ([r.state(f"{what} {k}") for k in range(count)] for what in ("step", "sum"))
        under_way: dict[int, Pending] = {}
        for t in r.steps(evaluated=lambda: r.mean(x, into=mean), flush=under_way.values):
            newest, due = t % count, (t + 1) % count
            u, factor = step.move(step.gradient(ahead.copy_(x).add_(v, alpha=mu) if ahead is not None else None))
            under_way[newest] = comm.iallreduce(own[newest].copy_(u).mul_(factor), into=sums[newest])
            if v is None:
                x.add_(u, alpha=self.share * factor)
            else:
                x.add_(v.mul_(mu).add_(u, alpha=self.share * factor))
            if due in under_way:  # else there was no such step, or its sum arrived before a restart
                under_way.pop(due).wait()
            e = own[due] if self.share == 1 else own[due].mul_(self.share)
            e.add_(sums[due], alpha=-1 / r.workers)
            x.add_(e, alpha=-sum(mu**k for k in range(count)))
            if v is not None:
                v.add_(e, alpha=-(mu**self.delay))
