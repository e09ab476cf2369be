"""Async MEASGD: Async EASGD with heavy-ball momentum."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.async_easgd import AsyncEASGD
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import ONE_WORKER


class AsyncMEASGD(AsyncEASGD):
    """Async MEASGD.

    (5) worker   v_i' = mu v_i - lr g_i(x_i)
    (6) worker   x_i' = x_i + v_i' - lr rho (x_i - c)
    (2) center   c'   = c + lr rho (x_i - c)                  whoever comes first, one at a time

    Async EASGD whose workers have a velocity, which is never sent. Cost per exchange 2 (A + |W| B), overlapped
    with the gradient.

    Readings: the gradient is taken at x_i (heavy ball); EAMSGD (2015) takes it at the look-ahead point.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), equations (2), (5) and (6).
    """

    limits = [ONE_WORKER, Limit("async-easgd", exact=True, shows="P3")]
    search = {"momentum_kind": None}

    momentum: float = Field(0.9, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
