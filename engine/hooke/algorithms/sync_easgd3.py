"""Sync EASGD3: the center on the devices, the exchange overlapped with the gradient."""

from __future__ import annotations

from pydantic import Field

from hooke.algorithms.sync_easgd import SyncEASGD
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import ONE_WORKER


class SyncEASGD3(SyncEASGD):
    """Sync EASGD3 (overlap).

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (sum_i x_i - P c)

    Sync EASGD2 whose exchange (lines 11 and 12 of Algorithm 3) runs while the batch is picked and the gradient
    computed (lines 7 to 10). This is correct because both only read x_i and c; the transfer reads a copy, so that
    (1) may write. A step takes max(compute, 2 log2(P) A + 2 (P - 1)/P |W| B) + update, along the paper's tree
    max(compute, 2 log2(P) (A + |W| B)) + update; the weights are those of EASGD2.

    Readings: as Sync EASGD2.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithm 3.
    """

    limits = [
        ONE_WORKER,
        Limit("sync-easgd", exact=True, shows="P3"),
        Limit("sync-easgd2", workers=(1, 3, 4, 7), exact=True, shows="P7"),
    ]
    search = {"overlap": None}

    overlap: bool = Field(True, title="Overlap", description="Exchange while the gradient is computed.")
