"""Vectors whose memory can be given back to the system: they are zero then, and take memory where written.

A gradient that consists of few rows in each step has, after many steps, touched every page of its vector. On Linux
`madvise(MADV_DONTNEED)` drops the pages of a private mapping; elsewhere vectors are ordinary ones.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor

LEAST = 1 << 20
"""Elements of a vector that is worth pages of its own."""


def zeros(elements: int) -> Tensor:
    """Return a new zero vector of float32 that takes memory where it is written, on Linux: not all of it is.

    `torch.zeros` writes all, so that a vector of which a method uses some rows would take as much as any other.
    Pages are large where the system grants them: rows at random places then take fewer looks into its tables.
    """
    if sys.platform != "linux" or elements < LEAST:
        return torch.zeros(elements)
    memory = _pages(elements)
    with suppress(OSError):  # of a system without them
        memory.madvise(mmap.MADV_HUGEPAGE)
    return _of(memory, elements)


class Returned:
    """Makes such vectors, and finds the memory of one that it has made."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[int, mmap.mmap] = WeakValueDictionary()

    def allocate(self, elements: int) -> Tensor:
        """Return a new zero vector of float32."""
        if sys.platform != "linux":
            return torch.zeros(elements)
        memory = _pages(elements)
        memory.madvise(mmap.MADV_NOHUGEPAGE)  # a touched row would take two megabytes
        vector = _of(memory, elements)
        self._held[vector.data_ptr()] = memory
        return vector

    def of(self, vector: Any) -> mmap.mmap | None:
        """Return the memory of a vector; None: it is not one that this has made."""
        return self._held.get(vector.data_ptr())


def clear(memory: mmap.mmap) -> None:
    """Set the vector in this memory to zero, and give the memory back."""
    if sys.platform == "linux":
        memory.madvise(mmap.MADV_DONTNEED)


def _pages(elements: int) -> mmap.mmap:
    return mmap.mmap(-1, max(4 * elements, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _of(memory: mmap.mmap, elements: int) -> Tensor:
    return torch.from_numpy(np.frombuffer(memory, np.float32, elements))
