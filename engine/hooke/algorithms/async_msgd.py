"""Async MSGD: Async SGD with momentum."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.async_sgd import AsyncSGD
from hooke.catalogue.claims import Limit, one_worker


class AsyncMSGD(AsyncSGD):
    """Async MSGD.

    (3) v' = mu v - lr g_i(x)     (4) c' = c + v'          at the server, whoever comes first, one at a time

    Async SGD with heavy-ball momentum: a worker pulls the center, computes a gradient there and pushes it; the
    server has one velocity. Cost as Async SGD: 2 (A + |W| B) per exchange, not hidden. Asynchrony acts like an
    additional momentum of about 1 - 1/P, so that for large P this method is the first to diverge.

    Readings: the server has the velocity (`momentum_at = master`); with `worker` each worker has its own. The
    default 0.9 is the value that the paper calls usual.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), equations (3) and (4).
    """

    limits = [one_worker(), Limit("async-sgd", exact=True, shows="P3")]
    search = {"momentum_kind": None}

    momentum: float = Field(0.9, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
