"""Sparse rows as a part of a data set, of which every batch is made dense."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hooke.objective.bags import Csr


class SparseRows:
    """Rows of features that stay sparse in memory (implements `hooke.objective.samples.Source`).

    `features`: n rows of ids below `count`; `labels` int64 (n,).
    """

    slow = False
    augments = False
    dtype, label_dtype = torch.float32, torch.int64
    label_shape: tuple[int, ...] = ()
    scale, shift = 1.0, 0.0

    def __init__(self, features: Csr, count: int, labels: Tensor) -> None:
        self._features, self.labels = features, labels
        self.shape = (count,)

    def __len__(self) -> int:
        return len(self._features)

    def read(self, at: Tensor, items: Tensor, labels: Tensor, random: np.random.Generator | None) -> None:
        """Write the rows `at` to `items`, (b, features), and their labels; see `Source`."""
        del random
        rows, dense = self._features.take(at.numpy()), items.zero_().numpy()
        places = np.repeat(np.arange(len(rows)), rows.counts)
        dense[places, rows.ids] = 1.0 if rows.values is None else rows.values
        torch.index_select(self.labels, 0, at, out=labels)
