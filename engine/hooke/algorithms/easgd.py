"""EASGD as published in 2015: asynchronous, with a period and beta (a = beta / P)."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.async_easgd import AsyncEASGD
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import ONE_WORKER


class EASGD(AsyncEASGD):
    """EASGD (2015).

    if tau divides t_i:   x_i' = x_i - a (x_i - c),   c' = c + a (x_i - c)          a = beta / P
    always:               x_i' = x_i' - lr g_i(x_i)                                 at the x_i before the pull

    Algorithm 1: every worker counts its own steps t_i, from 0, and exchanges when tau divides t_i. Cost per tau
    steps 2 (A + |W| B), here overlapped with the gradient (the listing waits; the results are the same).

    Readings: a = beta / P with beta = 0.9; with `beta_per = P tau`, beta is also divided by the period, as in
    several implementations. Default tau = 4; the paper compares 1, 4, 16 and 64.

    Reference: Zhang, Choromanska, LeCun 2015 (arXiv 1412.6651), Algorithm 1.
    """

    limits = [ONE_WORKER, Limit("async-easgd", exact=True, shows="P3")]

    period: int = Field(4, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
    beta: float | None = Field(
        0.9, ge=0, le=4, title="Beta", description="a = beta / P, or beta / (P tau); null: lr rho, or alpha."
    )
