"""Loads batches from a data set to the device of the model.

On a CPU, a batch is gathered into one buffer and scaled into another. On a CUDA device, it is gathered into pinned
memory, copied on a side stream and scaled there, so that one byte per pixel crosses the bus. `prefetch` reads the
next batch in a thread while the current one is in use. (The CUDA path has not been run on a device yet.)
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hooke.objective.samples import Source


@dataclass(frozen=True)
class Batch:
    """Inputs (b, ...) and labels (b, ...), in buffers that a later `pick` overwrites.

    Images are (b, channels, height, width) in channels-last order: convolutions take half the time.
    """

    inputs: Tensor
    labels: Tensor


class _Buffers:
    """Buffers of one batch: as stored on the host, the same on the device, and as input of the model."""

    def __init__(self, source: Source, items: int, device: torch.device, dtype: torch.dtype) -> None:
        pinned = device.type == "cuda"
        shape, labels = (items, *source.shape), (items, *source.label_shape)
        self.raw = torch.empty(shape, dtype=source.dtype, pin_memory=pinned)
        self.labels = torch.empty(labels, dtype=source.label_dtype, pin_memory=pinned)
        self.there = torch.empty_like(self.raw, device=device) if pinned else self.raw
        self.labels_there = torch.empty_like(self.labels, device=device) if pinned else self.labels
        # Events, on a device only: the copy to the device is complete, the computation on it is complete.
        self.copied = torch.cuda.Event() if pinned else None  # type: ignore[no-untyped-call]
        self.used = torch.cuda.Event() if pinned else None  # type: ignore[no-untyped-call]
        whole = self.raw.dtype == torch.int64
        self.seen = self.there if whole else torch.empty(shape, dtype=dtype, device=device)
        inputs = self.seen.permute(0, 3, 1, 2) if len(shape) == 4 else self.seen
        self.batch = Batch(inputs, self.labels_there)


class Loader:
    """Reads batches of one source for one device. `dtype` is what the model sees: float32 or bfloat16."""

    def __init__(self, source: Source, device: torch.device, dtype: torch.dtype) -> None:
        self._source, self._device, self._dtype = source, device, dtype
        self._buffers: list[_Buffers] = []
        self._ahead: tuple[Any, Future[_Buffers]] | None = None
        self._last: _Buffers | None = None
        self._thread: ThreadPoolExecutor | None = None
        cuda = device.type == "cuda"
        self._side = torch.cuda.Stream(device) if cuda else None  # type: ignore[no-untyped-call]
        self._scale, self._shift = (
            x.to(device) if isinstance(x, Tensor) else x for x in (source.scale, source.shift)
        )
        self.worthwhile = source.slow or cuda
        """Whether reading ahead pays off; gathering from memory is cheaper than a thread."""

    def load(self, at: Any, random: np.random.Generator | None = None) -> Batch:
        """Return the items `at`, augmented with `random` if given; valid until the next `load`."""
        at = torch.as_tensor(at, dtype=torch.int64)
        if self._last is not None and self._last.used is not None:
            self._last.used.record(torch.cuda.current_stream(self._device))
        ahead, self._ahead = self._ahead, None
        room = ahead[1].result() if ahead is not None else None
        if ahead is None or room is None or not torch.equal(ahead[0], at):
            room = self._read(at, random)
        if room.copied is not None:
            torch.cuda.current_stream(self._device).wait_event(room.copied)
        self._last = room
        if room.seen is not room.there:
            torch.mul(room.there, self._scale, out=room.seen)
            if isinstance(self._shift, Tensor) or self._shift:
                room.seen.add_(self._shift)
        return room.batch

    def prefetch(self, at: Any, random: np.random.Generator | None = None) -> None:
        """Begin to read the items of the next `load`, with the generator that it will pass."""
        at = torch.as_tensor(at, dtype=torch.int64).clone()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "hooke-prefetch", self._enter)
        self._ahead = (at, self._thread.submit(self._read, at, random))

    def close(self) -> None:
        """End the thread that reads ahead."""
        self._ahead = None
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None

    def _enter(self) -> None:
        if self._side is not None:
            torch.cuda.set_device(self._device)  # of the thread: otherwise pinned memory would belong to device 0

    def _read(self, at: Tensor, random: np.random.Generator | None) -> _Buffers:
        room = self._free(len(at))
        if room.copied is not None:
            room.copied.synchronize()  # the copy from these pinned buffers may still be running
        self._source.read(at, room.raw, room.labels, random)
        if self._side is not None and room.copied is not None and room.used is not None:
            self._side.wait_event(room.used)  # the computation on these buffers may still be running
            with torch.cuda.stream(self._side):
                room.there.copy_(room.raw, non_blocking=True)
                room.labels_there.copy_(room.labels, non_blocking=True)
                room.copied.record(self._side)
        return room

    def _free(self, items: int) -> _Buffers:
        """Return the buffers that are not in use; with reading ahead, two sets alternate."""
        wanted = 2 if self.worthwhile else 1
        if self._buffers and len(self._buffers[0].raw) != items:
            self._buffers = []
        if len(self._buffers) < wanted:
            self._buffers.append(_Buffers(self._source, items, self._device, self._dtype))
        else:
            self._buffers.append(self._buffers.pop(0))
        return self._buffers[-1]
