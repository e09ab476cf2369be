"""EASGD as published in 2015: asynchronous, with a period and beta."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.async_easgd import AsyncEASGD
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import ONE_WORKER


class EASGD(AsyncEASGD):
    """EASGD (2015).

    if tau divides t_i:   x_i' = x_i - a (x_i - c),   c' = c + a (x_i - c)          a = beta / P
    always:               x_i' = x_i' - lr g_i(x_i)                                 at the x_i before the pull

    Algorithm 1: every worker has a clock of its own and exchanges when tau divides it, its step 0 included.
    Cost per tau steps 2 (A + |W| B), here behind the gradient (the listing waits; the numbers are the same).

    Readings: beta = 0.9 is shared by the workers, a = beta / P; `beta_per = P tau` divides by the period too, as
    several implementations do. Default tau = 4; the paper compares 1, 4, 16 and 64.

    Reference: Zhang, Choromanska, LeCun 2015 (arXiv 1412.6651), Algorithm 1.
    """

    limits = [ONE_WORKER, Limit("async-easgd", exact=True, shows="P3")]

    period: int = Field(4, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
    beta: float | None = Field(
        0.9, ge=0, le=4, title="Beta", description="a = beta / P, or beta / (P tau); null: lr rho, or alpha."
    )
