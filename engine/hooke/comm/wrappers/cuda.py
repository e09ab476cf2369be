"""Host buffers for vectors on a CUDA device: see `staged.py`.

Both copies are complete when they return. What a rank waits for them is thus part of the operation that needs
them, and nothing that a message holds is written later. All work is on the current stream of the rank's thread:
a copy follows what was queued before it, and what is queued later follows the copy.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable
from typing import Any

import torch

from hooke.comm.wrappers.staged import Staging


def staging(device: object) -> Staging | None:
    """Return the staging for vectors of a device (`cpu`, `cuda:0`); None for main memory."""
    return Cuda() if str(device).startswith("cuda") else None


class Cuda:
    """Staging for CUDA through page-locked memory, which a device reads and writes at the speed of the bus.

    A vector that is kept has a buffer of its own from its first use on; of a part of it, it is the same part of
    that buffer. Other vectors get a buffer for each operation, from those that PyTorch keeps for reuse.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._kept: dict[int, tuple[Any, Callable[[Any], None]]] = {}
        self._buffers: dict[int, Any] = {}

    def takes(self, x: Any) -> bool:
        """Return whether x is a tensor on a CUDA device."""
        return bool(getattr(x, "is_cuda", False))

    def keep(self, x: Any, made: Callable[[Any], None]) -> None:
        """Keep one buffer for x, which lives as long as the run; `made` is told the buffer once it is made."""
        start = x.data_ptr()
        if start not in self._kept:
            insort(self._starts, start)
        self._kept[start] = (x, made)

    def buffer(self, x: Any) -> Any:
        """Return the buffer of x; what it holds is not defined."""
        start = x.data_ptr()
        position = bisect_right(self._starts, start) - 1
        if position >= 0:
            first = self._starts[position]
            whole, made = self._kept[first]
            offset = (start - first) // whole.element_size()
            if x.dtype == whole.dtype and offset + x.numel() <= whole.numel():
                if first not in self._buffers:
                    self._buffers[first] = _locked(whole)
                    made(self._buffers[first])
                return self._buffers[first][offset : offset + x.numel()]
        return _locked(x)

    def out(self, x: Any) -> Any:
        """Copy x into its buffer, after all that was queued, and return the buffer when it is complete."""
        return self.buffer(x).copy_(x)

    def back(self, host: Any, x: Any) -> None:
        """Copy a buffer into x; return when it is complete."""
        x.copy_(host)

    def settle(self) -> None:
        """Wait until the device has completed all that this thread has queued."""
        torch.cuda.current_stream().synchronize()


def _locked(x: Any) -> Any:
    return torch.empty(x.numel(), dtype=x.dtype, pin_memory=True)
