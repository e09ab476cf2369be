"""Host buffers for vectors on a CUDA device: see `staged.py`. Not yet run on a device."""

from __future__ import annotations

from typing import Any

import torch

from hooke.comm.wrappers.staged import Staging


def staging(device: object) -> Staging | None:
    """Return the staging for vectors of a device (`cpu`, `cuda:0`); None for main memory."""
    return Cuda() if str(device).startswith("cuda") else None


class Cuda:
    """Staging for CUDA: pinned buffers, and copies on a separate stream.

    `out` waits for the copy, because MPI reads the buffer at once. `back` does not: the current stream waits for
    it on the device, and `buffer` waits for it on the host before the buffer is written again.
    """

    def __init__(self) -> None:
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._buffers: dict[tuple[int, int, Any], Any] = {}

    def takes(self, x: Any) -> bool:
        """Return whether x is a tensor on a CUDA device."""
        return bool(getattr(x, "is_cuda", False))

    def buffer(self, x: Any) -> Any:
        """Return the pinned buffer of x."""
        self._stream.synchronize()
        return self._buffer(x)

    def _buffer(self, x: Any) -> Any:
        key = (x.data_ptr(), x.numel(), x.dtype)
        if key not in self._buffers:
            self._buffers[key] = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
        return self._buffers[key]

    def out(self, x: Any) -> Any:
        """Copy x into its buffer and wait for that."""
        host = self._buffer(x)
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            host.copy_(x, non_blocking=True)
        self._stream.synchronize()
        return host

    def back(self, x: Any) -> None:
        """Begin to copy the buffer into x; work on x that follows waits on the device."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            x.copy_(self._buffer(x), non_blocking=True)
        x.record_stream(self._stream)
        torch.cuda.current_stream().wait_stream(self._stream)
