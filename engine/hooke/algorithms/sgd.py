"""Sequential SGD."""

from __future__ import annotations

from hooke.catalogue.claims import before_steps, nothing
from hooke.catalogue.rank import Rank
from hooke.methods.descent import Descent


class SGD(Descent):
    """Sequential SGD.

    x' = x - lr g(x)                               with momentum: v' = mu v - lr g,  x' = x + v'

    One worker without communication, on one core and one stream of data: the reference for all parallel methods.

    Reference: Robbins and Monro, "A stochastic approximation method", 1951; momentum: Polyak 1964.
    """

    family = "Stochastic gradient descent"
    reference = "descent.gradient_averaging"
    exchange = before_steps(nothing)
    max_workers = 1
    takes_bf16_weights = True

    def run(self, r: Rank) -> None:
        """Take steps until the run ends."""
        step = self.local_step(r).alone()
        for _ in r.steps():
            step.apply(step.gradient())
