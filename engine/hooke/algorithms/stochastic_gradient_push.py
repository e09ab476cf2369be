"""Stochastic Gradient Push: workers push half of their weights to the next one of a directed graph."""

from __future__ import annotations

from pydantic import Field

from hooke.catalogue.claims import Limit, identical_workers, one_worker
from hooke.catalogue.rank import Rank
from hooke.comm.base import Pending, Vector
from hooke.methods.descent import Descent
from hooke.methods.peers import hop, push, push_weight
from hooke.spec.spaces import Space


class StochasticGradientPush(Descent):
    """Stochastic Gradient Push.

    y_i = x_i - lr g_i(z_i),   x_i' = (y_i + y_j) / 2,   w_i' = (w_i + w_j) / 2,   z_i' = x_i' / w_i'

    At every step worker i sends y_i / 2 to worker i + h and receives that of j = i - h, modulo P; h takes the
    powers of two below P in turn, 1, 2, 4, ... (directed exponential graph). z_i are the weights of worker i, of
    which x_i holds the share w_i (push-sum). With delay 1 messages are added one step later (overlap SGP): y_j and
    w_j are those of the step before, and the next gradient hides the message. Cost per step: A + |W| B; with delay
    1 max(0, A + |W| B - gradient).

    Readings: every worker sends and receives one message per step, so that w is the same on all workers and is
    computed, not sent: 1, or with delay 1 2/3 + (-1/2)^t / 3. The graph is the paper's. The mean of all z_i is
    evaluated, off the train clock, without the messages under way. Momentum is local and applied to x_i.

    Reference: Assran, Loizou, Ballas, Rabbat 2019 (arXiv 1811.10792).
    """

    family = "Gossip"
    reference = "push.stochastic_gradient_push"
    exchange = push
    limits = [
        *(one_worker(), identical_workers("stochastic-gradient-push")),
        Limit("local-sgd", {"delay": 0}, {"period": 1}, workers=(1, 2)),
    ]
    tested_together = [{"delay": 1}, {"delay": 1, "momentum": 0.6, "momentum_kind": "nesterov"}]
    accesses = 10
    search = {"delay": Space(choices=[0, 1])}

    delay: int = Field(0, ge=0, le=1, title="Delay", description="Steps by which messages are added late.")

    def vector_accesses(self, server: bool) -> float:
        """Return those of a step; a delay adds a copy and a scaling."""
        return super().vector_accesses(server) + 4 * self.delay

    def run(self, r: Rank) -> None:
        """Take a step, push half of the weights, add what was pushed here."""
        x, z, half, mean = r.params, *(r.buffer(r.params) for _ in range(3))
        arriving, step, late = r.state("arriving"), self.local_step(r), self.delay if r.workers > 1 else 0
        under_way: list[Pending] = []

        def flush() -> None:
            """Wait for the messages of the latest step; what has arrived is added later."""
            for pending in under_way:
                pending.wait()

        def unbiased() -> Vector:
            """Return the mean of all z_i."""
            r.mean(x, into=mean).mul_(1 / push_weight(r.t, late))
            return mean

        for t in r.steps(evaluated=unbiased, flush=flush):
            scale = 1 / push_weight(t, late)
            step.apply(step.gradient(z.copy_(step.point()).mul_(scale) if late else None))
            if r.workers == 1:
                continue
            flush()
            half.copy_(x.mul_(0.5))
            if late:
                x.add_(arriving)
            to, source = ((r.rank + h) % r.workers for h in (hop(t, r.workers), -hop(t, r.workers)))
            under_way[:] = [r.comm.isend(half, to), r.comm.irecv(arriving, source)]
            if not late:
                flush()
                x.add_(arriving)
