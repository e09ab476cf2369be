"""Original EASGD: the round-robin baseline of SC17."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from hooke.algorithm import Algorithm, Pace

if TYPE_CHECKING:
    from hooke.rank import Rank


class OriginalEASGD(Algorithm):
    """Original EASGD (round robin).

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (x_i - c)                  one worker at a time, in rank order

    The master holds the center and talks to one worker at a time; worker i + 1 never exchanges before worker
    i. All right-hand sides are old values. `serial` is Algorithm 1 of the paper to the letter: only the worker
    whose turn it is computes. `ordered` lets all workers compute at once and grants only the exchanges in
    rank order: the fairer baseline. Cost of P exchanges: P (A + |W| B) in each direction, nothing overlapped.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithm 1, equations (1) and (2).
    """

    servers: ClassVar[int] = 1
    pace: ClassVar[Pace] = "served"
    passes: ClassVar[int] = 6

    lr: float = Field(0.05, gt=0, le=10, title="Learning rate", description="Step length eta.")
    rho: float = Field(1.0, ge=0, le=100, title="Elasticity", description="Spring constant to the center.")
    mode: Literal["serial", "ordered"] = Field(
        "ordered", title="Mode", description="Compute one worker at a time, or only exchange one at a time."
    )

    def run(self, r: Rank) -> None:
        """Hold the center, or work."""
        if r.is_server:
            self.serve(r)
        else:
            self.work(r)

    def serve(self, r: Rank) -> None:
        """Lines 10-14: send c to worker j, fetch x_j, apply (2)."""
        c, x = r.params, r.buffer(r.params)
        for j in r.requests(None if self.mode == "serial" else x, order="rank"):
            r.answer(j, c)
            if self.mode == "serial":
                r.receive(x, j)
            c.lerp_(x, self.lr * self.rho)  # c + a (x - c)

    def work(self, r: Rank) -> None:
        """Gradient at x_i, exchange, apply (1)."""
        x, c = r.params, r.buffer(r.params)
        for _ in r.steps():
            if self.mode == "serial":
                r.request(None, into=c).wait()
                g = r.gradient()
                r.deliver(x)
            else:
                g = r.gradient()
                r.request(x, into=c).wait()
            x.lerp_(c, self.lr * self.rho)  # x + a (c - x)
            x.add_(g, alpha=-self.lr)
