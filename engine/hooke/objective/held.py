"""Parts of a data set in the memory of a device, where batches are gathered without a copy from the host.

A part that fits is copied once, and shared by all loaders of the process. Gathering a batch can then belong to a
recorded gradient (see `hooke.objective.replayed`), and all that crosses the bus in a step is the indices.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from hooke.objective.samples import Samples, Source, Subset

LARGEST = 2 << 30
"""Bytes of a part that is held; also at most 1 / SHARE of the memory of the device, which ranks may share."""
SHARE = 16
_COPIES: WeakKeyDictionary[Samples, dict[torch.device, tuple[Tensor, Tensor]]] = WeakKeyDictionary()


class Held:
    """Items of a part on a device: all of `rows` (n, ...) with `labels`, or those at the indices `items`."""

    def __init__(self, rows: Tensor, labels: Tensor, items: Tensor | None) -> None:
        self.rows, self.labels, self._items = rows, labels, items

    @classmethod
    def of(cls, source: Source, device: torch.device) -> Held | None:
        """Return a part on a device; None if it is not in memory, or too large."""
        items = None
        while isinstance(source, Subset):
            items, source = source.items if items is None else source.items[items], source.source
        if not isinstance(source, Samples):
            return None
        room = LARGEST
        if device.type == "cuda":
            room = min(room, torch.cuda.get_device_properties(device).total_memory // SHARE)
        if source.rows.nbytes + source.labels.nbytes > room:
            return None
        copies = _COPIES.setdefault(source, {})
        if device not in copies:
            copies[device] = (source.rows.to(device), source.labels.to(device))
        return cls(*copies[device], items)

    def places(self, at: Tensor) -> Tensor:
        """Return the rows of these items, int64 in main memory."""
        return at if self._items is None else self._items[at]

    def gather(self, places: Tensor, items: Tensor, labels: Tensor) -> None:
        """Begin to write the rows at `places`, which is on the device, and their labels to these buffers."""
        torch.index_select(self.rows, 0, places, out=items)
        torch.index_select(self.labels, 0, places, out=labels)
