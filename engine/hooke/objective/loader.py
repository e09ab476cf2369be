"""Loads batches from a data set to the device of the model.

On a CPU, a batch is gathered into one buffer and scaled into another. Of a part that a CUDA device holds, it is
gathered there. Of others, and with augmentation, it is gathered into page-locked memory, copied on a side stream
and scaled on the device, so that one byte per pixel crosses the bus; `prefetch` reads the next batch in a thread
while the current one is in use.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from hooke.objective.held import Held
from hooke.objective.samples import Source

Kept = TypeVar("Kept")
SIZES = 32
"""Sizes of batches whose memory is kept: methods with batches of several sizes come back to them."""


@dataclass(frozen=True)
class Batch:
    """Inputs (b, ...) and labels (b, ...), in buffers that a later `pick` overwrites.

    Images are (b, channels, height, width); `hooke.objective.device` chooses their order in memory.
    """

    inputs: Tensor
    labels: Tensor
    begin: Callable[[], None] | None = None
    """Begins to write them, and has to be called before they are used; None: that has been done."""


class _Buffers:
    """Buffers of one batch: as stored on the host, and the same on the device."""

    def __init__(self, source: Source, items: int, device: torch.device, side: torch.cuda.Stream | None) -> None:
        cuda = device.type == "cuda"
        shape, labels = (items, *source.shape), (items, *source.label_shape)
        self.raw = torch.empty(shape, dtype=source.dtype, pin_memory=cuda)
        self.labels = torch.empty(labels, dtype=source.label_dtype, pin_memory=cuda)
        self.there = torch.empty_like(self.raw, device=device) if cuda else self.raw
        self.labels_there = torch.empty_like(self.labels, device=device) if cuda else self.labels
        # Events, on a device only: the copy to the device is complete; what was read from there has been used.
        self.copied = torch.cuda.Event() if cuda else None  # type: ignore[no-untyped-call]
        self.used = torch.cuda.Event() if cuda else None  # type: ignore[no-untyped-call]
        if side is not None and self.used is not None:
            self.used.record(torch.cuda.current_stream(device))  # whoever had this memory before is done then
            for each in (self.there, self.labels_there):
                each.record_stream(side)  # and it goes to nobody else before the side stream is done with it


def _keep(found: dict[int, Kept], key: int, value: Kept) -> Kept:
    """Add a value to a dictionary that does not grow without end, and return it."""
    if len(found) >= SIZES:
        found.clear()
    found[key] = value
    return value


class _Seen:
    """The batch as the model sees it; on a device in the same memory for all batches of as many items."""

    def __init__(self, there: Tensor, labels: Tensor, dtype: torch.dtype, last: bool, cuda: bool) -> None:
        """`there`, `labels`: the batch as stored, on the device; `last`: images in channels-last order."""
        if there.dim() == 4 and not last:
            there = there.permute(0, 3, 1, 2)
        if there.dtype != torch.int64:
            inputs = torch.empty(there.shape, dtype=dtype, device=there.device)
        else:
            inputs = torch.empty_like(there) if cuda else there
        self.inputs = inputs
        self.labels = torch.empty_like(labels) if cuda else labels
        self.batch = Batch(inputs.permute(0, 3, 1, 2) if inputs.dim() == 4 and last else inputs, self.labels)


class _Gathered:
    """Buffers for batches of one size that are gathered on the device."""

    def __init__(self, loader: Loader, held: Held, items: int) -> None:
        rows, labels = held.rows, held.labels
        self.places = torch.zeros(items, dtype=torch.int64, device=rows.device)
        there = rows.new_empty((items, *rows.shape[1:]))
        seen = loader.seen(there, labels.new_empty((items, *labels.shape[1:])), True)

        def begin() -> None:
            held.gather(self.places, there, seen.labels)
            loader.show(there, seen)

        self.batch = replace(seen.batch, begin=begin)


class Loader:
    """Reads batches of one source for one device. `dtype` is what the model sees: float32 or bfloat16."""

    def __init__(
        self,
        source: Source,
        device: torch.device,
        dtype: torch.dtype,
        channels_last: bool = True,
        *,
        deferred: bool = False,
        holds: bool | None = None,
    ) -> None:
        """`deferred`: whoever uses a batch calls its `begin`; `holds`: by default on CUDA devices."""
        self._source, self._device, self._dtype, self._last = source, device, dtype, channels_last
        self._buffers: list[_Buffers] = []
        self._ahead: tuple[Any, Future[_Buffers]] | None = None
        self._seen: dict[int, _Seen] = {}
        """On a CPU for each set of buffers; on a device for each size of batches, at most SIZES."""
        self._thread: ThreadPoolExecutor | None = None
        cuda = device.type == "cuda"
        self._side = torch.cuda.Stream(device) if cuda else None  # type: ignore[no-untyped-call]
        image = (-1, 1, 1) if len(source.shape) == 3 and not channels_last else (-1,)
        self._scale, self._shift = (
            x.to(device).view(image) if isinstance(x, Tensor) else x for x in (source.scale, source.shift)
        )
        self._held = Held.of(source, device) if (cuda if holds is None else holds) else None
        self._gathered: dict[int, _Gathered] = {}
        self._deferred = deferred
        self.worthwhile = source.slow or (cuda and (self._held is None or source.augments))
        """Whether reading ahead pays off; gathering from memory is cheaper than a thread."""

    def load(self, at: Any, random: np.random.Generator | None = None) -> Batch:
        """Return the items `at`, augmented with `random` if given; valid until the next `load`."""
        at = torch.as_tensor(at, dtype=torch.int64)
        if self._held is not None and (random is None or not self._source.augments):
            return self._gather(at, self._held)
        ahead, self._ahead = self._ahead, None
        room = ahead[1].result() if ahead is not None else None
        if ahead is None or room is None or not torch.equal(ahead[0], at):
            room = self._read(at, random)
        if room.copied is not None:
            torch.cuda.current_stream(self._device).wait_event(room.copied)
        seen = self._seen_of(room)
        if seen.labels is not room.labels_there:
            seen.labels.copy_(room.labels_there)
        self.show(room.there, seen)
        if room.used is not None:
            room.used.record(torch.cuda.current_stream(self._device))
        return seen.batch

    def _gather(self, at: Tensor, held: Held) -> Batch:
        """Return items that the device holds."""
        found = self._gathered.get(len(at))
        if found is None:
            found = _keep(self._gathered, len(at), _Gathered(self, held, len(at)))
        found.places.copy_(held.places(at))
        if not self._deferred and found.batch.begin is not None:
            found.batch.begin()
        return found.batch

    def _seen_of(self, room: _Buffers) -> _Seen:
        cuda = room.copied is not None
        key = len(room.labels) if cuda else id(room)
        seen = self._seen.get(key)
        return _keep(self._seen, key, self.seen(room.there, room.labels_there, cuda)) if seen is None else seen

    def seen(self, there: Tensor, labels: Tensor, cuda: bool) -> _Seen:
        """Return where the model sees a batch that is stored like this."""
        return _Seen(there, labels, self._dtype, self._last, cuda)

    def show(self, there: Tensor, seen: _Seen) -> None:
        """Begin to write items, as stored, to where the model sees them."""
        if seen.inputs is there:
            return
        there = there.permute(0, 3, 1, 2) if there.dim() == 4 and not self._last else there
        if there.dtype == torch.int64:
            seen.inputs.copy_(there)
            return
        torch.mul(there, self._scale, out=seen.inputs)
        if isinstance(self._shift, Tensor) or self._shift:
            seen.inputs.add_(self._shift)

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
            self._seen = {} if self._side is None else self._seen
        if len(self._buffers) < wanted:
            self._buffers.append(_Buffers(self._source, items, self._device, self._side))
        else:
            self._buffers.append(self._buffers.pop(0))
        return self._buffers[-1]
