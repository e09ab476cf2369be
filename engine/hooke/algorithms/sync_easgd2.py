"""Sync EASGD2: the center on the devices."""

from __future__ import annotations

from hooke.algorithms.sync_easgd import SyncEASGD
from hooke.catalogue.claims import Limit
from hooke.methods.elastic import ONE_WORKER


class SyncEASGD2(SyncEASGD):
    """Sync EASGD2 (center on a device).

    (1) worker   x_i' = x_i - lr (g_i(x_i) + rho (x_i - c))
    (2) center   c'   = c + lr rho (sum_i x_i - P c)

    Sync EASGD without overlap: only data are sent from host to device, weights from device to device. Cost per
    exchange 2 log2(P) A + 2 (P - 1)/P |W| B, not hidden; along the paper's tree 2 log2(P) (A + |W| B).

    Readings: in the paper c is on one device, which broadcasts it; here every device has the same replica, and one
    all-reduce, which moves as much, replaces broadcast and reduction.

    Reference: You, Buluc, Demmel, SC17 (arXiv 1708.02983), Algorithm 3 without its overlap.
    """

    limits = [ONE_WORKER, Limit("sync-easgd", exact=True, shows="P3")]
    search = {"overlap": None}
