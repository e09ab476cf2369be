"""MDOWNPOUR: DOWNPOUR with Nesterov's momentum at the master."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.algorithms.async_sgd import AsyncSGD
from hooke.catalogue.claims import Limit, one_worker


class MDOWNPOUR(AsyncSGD):
    """MDOWNPOUR.

    worker   pull y = c + mu v;  push g_i(y)
    master   v' = mu v - lr g;  c' = c + v'       whoever comes first, one at a time

    Momentum belongs to the master, which hands out the look-ahead point instead of the center. That has a
    meaning for one gradient per exchange only, so the period is 1. Cost per step 2 (A + |W| B), not hidden.

    Readings: default momentum 0.9; values as high as 0.99 want a learning rate smaller by as much.

    Reference: Zhang, Choromanska, LeCun 2015 (arXiv 1412.6651), where it is compared with EAMSGD.
    """

    limits = [one_worker(), Limit("async-sgd", exact=True, shows="P3")]

    momentum: float = Field(0.9, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
    momentum_kind: Literal["heavy-ball", "nesterov"] = Field(
        "nesterov", title="Kind of momentum", description="The published method is the one with Nesterov's."
    )

    def faults(self, workers: int) -> list[str]:
        """Refuse a period: the look-ahead point of one master has no meaning for several local steps."""
        del workers
        return [] if self.period == 1 else ["MDOWNPOUR exchanges at every step: its period is 1"]
