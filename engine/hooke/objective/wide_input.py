"""The input layer of a network with a wide output layer: a sum of the rows of W1 that an item's features name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from hooke.comm.base import Slice
from hooke.objective.bags import Bags
from hooke.objective.device import moved


def hidden_units(batch: Bags, w1: Tensor, b1: Tensor) -> Tensor:
    """Return the hidden units of a batch, relu(b1 + sum_f x_f W1[f]), float32 (b, d), on the device of W1."""
    ids = batch.features.ids.astype(np.int64)
    if w1.dtype != torch.float32:
        features, ids = np.unique(ids, return_inverse=True)
        w1 = w1.index_select(0, torch.from_numpy(features)).float()
    summed = _summed(w1, ids, batch.features.starts[:-1], _values(batch))
    return summed.add_(b1).relu_()


def gradient_rows(batch: Bags, back: Tensor) -> tuple[Tensor, Tensor]:
    """Return the features of a batch, ascending without repetition, and the gradient of their rows of W1.

    `back` (b, d) is the gradient of the hidden units. Sums go over the items in their order, on every device.
    """
    return added_rows(batch, back) if back.device.type == "cpu" else sorted_rows(batch, back)


def added_rows(batch: Bags, back: Tensor) -> tuple[Tensor, Tensor]:
    """Return the result of `gradient_rows` on the CPU: every entry is added to the row of its feature in turn."""
    features, at = np.unique(batch.features.ids, return_inverse=True)
    parts = back.index_select(0, torch.from_numpy(_owners(batch))).mul_(torch.from_numpy(_values(batch))[:, None])
    rows = torch.zeros(len(features), back.shape[1])
    rows.index_add_(0, torch.from_numpy(at.astype(np.int64)), parts)
    return torch.from_numpy(features.astype(np.int64)), rows


def sorted_rows(batch: Bags, back: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same up to rounding, from entries sorted by feature: additions in no order are not repeatable."""
    order = np.argsort(batch.features.ids, kind="stable")
    features, starts = np.unique(batch.features.ids[order], return_index=True)
    rows = _summed(back, _owners(batch)[order], starts, _values(batch)[order])
    return moved(features.astype(np.int64), back.device), rows


def _owners(batch: Bags) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(batch)), np.diff(batch.features.starts))


def _summed(rows: Tensor, ids: NDArray[np.int64], starts: NDArray[Any], factors: NDArray[np.float32]) -> Tensor:
    """Return sums of rows times factors: sum i goes over the entries from starts[i] to starts[i + 1]."""
    device = rows.device
    offsets = moved(np.asarray(starts, dtype=np.int64), device)
    if not len(ids):
        return rows.new_zeros(len(starts), rows.shape[1])
    return functional.embedding_bag(
        moved(ids, device), rows, offsets, mode="sum", per_sample_weights=moved(factors, device)
    )


def _values(batch: Bags) -> NDArray[np.float32]:
    return np.asarray(batch.features.values, dtype=np.float32)


def layout_of(shapes: dict[str, tuple[int, ...]]) -> tuple[Slice, ...]:
    """Return where the tensors of these shapes are in one vector, one after the other."""
    parts: list[Slice] = []
    start = 0
    for name, shape in shapes.items():
        stop = start + int(np.prod(shape))
        parts.append(Slice(name, start, stop, shape, hidden=False))
        start = stop
    return tuple(parts)
