"""DOWNPOUR: Async SGD with several local steps per exchange."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.async_sgd import AsyncSGD
from hooke.catalogue.claims import Limit, one_worker


class DOWNPOUR(AsyncSGD):
    """DOWNPOUR.

    worker   x = c;  tau times: x' = x - lr g_i(x), u' = u + g_i(x);  push u
    server   c' = c - lr u                        whoever comes first, one at a time

    Async SGD with a period: a worker starts from the center, takes tau local steps, pushes the sum of its
    gradients and starts from the new center. Cost per tau steps 2 (A + |W| B), not hidden.

    Readings: pushes and pulls have the same period, as in the comparison of 2015; the first description has two
    periods. With tau = 1 it is Async SGD. Default tau = 4.

    Reference: Dean et al., "Large scale distributed deep networks", 2012; as compared in arXiv 1412.6651.
    """

    limits = [one_worker(period=1), Limit("async-sgd", exact=True, shows="P3")]

    period: int = Field(4, ge=1, le=10_000, title="Period", description="Local steps per exchange (tau).")
