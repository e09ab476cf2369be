"""MDOWNPOUR: DOWNPOUR with Nesterov momentum at the server."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.algorithms.async_sgd import AsyncSGD
from hooke.catalogue.claims import Limit, one_worker


class MDOWNPOUR(AsyncSGD):
    """MDOWNPOUR.

    worker   pull y = c + mu v;  push g_i(y)
    server   v' = mu v - lr g;  c' = c + v'       whoever comes first, one at a time

    The server has the velocity and sends the look-ahead point instead of the center. This is only meaningful for
    one gradient per exchange, so the period is 1. Cost per step 2 (A + |W| B), not hidden.

    Readings: default momentum 0.9; values as high as 0.99 need a correspondingly smaller learning rate.

    Reference: Zhang, Choromanska, LeCun 2015 (arXiv 1412.6651), where it is compared with EAMSGD.
    """

    limits = [one_worker(), Limit("async-sgd", exact=True, shows="P3")]
    search = {"momentum_kind": None}

    momentum: float = Field(0.9, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
    momentum_kind: Literal["heavy-ball", "nesterov"] = Field(
        "nesterov", title="Kind of momentum", description="The published method uses Nesterov."
    )

    def faults(self, workers: int) -> list[str]:
        """Refuse a period above 1: the look-ahead point is not defined for several local steps."""
        del workers
        return [] if self.period == 1 else ["MDOWNPOUR exchanges at every step: its period is 1"]
