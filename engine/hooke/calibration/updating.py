"""Measurement of an optimizer's arithmetic: AdamW's step, after gradients that leave other data in caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hooke.calibration.documents import ROUNDS, Duration
from hooke.calibration.fitting import estimate

if TYPE_CHECKING:
    from hooke.comm.mpi.communicator import MpiComm

_LEAST, _MOST = 8, 400


def measure(comm: MpiComm, compute: Callable[[], Any], gradient: Any, seconds: float) -> Duration:
    """Time AdamW's step on all ranks at once within about `seconds`; collective.

    A mean per round and rank: where ranks share cores, a step may wait for a core, as it does in a run.
    """
    step, clock = _Step(gradient), comm.clock
    step.take()
    began = clock()
    compute()
    step.take()
    once = comm.control.allreduce((clock() - began,))[0] / comm.size
    count = max(_LEAST, min(_MOST, int(seconds / ROUNDS / once)))
    means = []
    for _ in range(ROUNDS):
        comm.barrier()
        total = 0.0
        for _ in range(count):
            compute()
            began = clock()
            step.take()
            total += clock() - began
        found = np.empty(comm.size)
        comm.world.Allgather(np.array([total / count]), found)
        means.append(found.tolist())
    return estimate(means)


class _Step:
    """AdamW's operations on vectors, in the order and with the accesses of `hooke.methods.steps.AdamStep`."""

    def __init__(self, gradient: Any) -> None:
        import torch

        self._g = torch.as_tensor(gradient)
        self._x, self._m, self._root = (torch.zeros_like(self._g) for _ in range(3))
        self._v = torch.ones_like(self._g)

    def take(self) -> None:
        g, m, v, root = self._g, self._m, self._v, self._root
        g.mul_(1.0)
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=1e-3)
        root.copy_(v).mul_(1.0).sqrt_().add_(1e-8)
        self._x.mul_(1.0).addcdiv_(m, root, value=-1e-3)
