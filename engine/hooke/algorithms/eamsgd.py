"""EAMSGD: EASGD (2015) with Nesterov momentum."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hooke.algorithms.easgd import EASGD
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import ONE_WORKER


class EAMSGD(EASGD):
    """EAMSGD.

    if tau divides t_i:   x_i' = x_i - a (x_i - c),   c' = c + a (x_i - c)          a = beta / P
    always:               v_i' = mu v_i - lr g_i(x_i + mu v_i),   x_i' = x_i' + v_i'

    Algorithm 2: the gradient is taken at the look-ahead point of the x_i before the pull. The velocity is local to
    each worker and never sent. Cost per tau steps 2 (A + |W| B), overlapped with the gradient.

    Readings: as EASGD (2015). Default momentum 0.9; the experiments of 2015 use values up to 0.99, which need a
    correspondingly smaller learning rate.

    Reference: Zhang, Choromanska, LeCun 2015 (arXiv 1412.6651), Algorithm 2.
    """

    limits = [ONE_WORKER, Limit("easgd", exact=True, shows="P3")]
    search = {"momentum_kind": None}

    momentum: float = Field(0.9, ge=0, lt=1, title="Momentum", description="Factor of the velocity (mu); 0: none.")
    momentum_kind: Literal["heavy-ball", "nesterov"] = Field(
        "nesterov", title="Kind of momentum", description="The published method uses Nesterov."
    )
