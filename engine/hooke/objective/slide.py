"""The output layer of SLIDE: candidates are the labels whose hash codes collide with those of the hidden units."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hooke.hashing.families import Family
from hooke.hashing.schedule import Rebuilds
from hooke.hashing.tables import Tables
from hooke.objective.candidates import Candidates, Labels, filled


class Slide:
    """Labels retrieved from hash tables of the rows of W2, for the batch as a whole (arXiv 1903.03129, section 3).

    The candidates are the labels of the batch, those that share a bucket with the hidden units of one of its
    items, at most `size` less the uniform share, and uniformly drawn ones that fill them up to `size`. The tables
    are built anew after a growing number of steps (`rebuilds`). Their codes are part of the state, so that a
    resumed run has the tables of an undisturbed one.

    Readings: the paper retrieves a set for every item; here the batch has one, so that products are those of
    matrices. As in the paper the softmax is that of the candidates, without correction.
    """

    def __init__(
        self, family: Family, tables: Tables, rebuilds: Rebuilds, labels: int, size: int, uniform: float
    ) -> None:
        self._family, self._tables, self._rebuilds = family, tables, rebuilds
        self._labels, self._size, self._uniform = labels, size, uniform
        self._steps = 0
        self._codes: Any = None

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Candidates:
        """Return the labels of the batch, retrieved ones and uniformly drawn ones."""
        if self._codes is None or self._rebuilds.due(self._steps):
            self._codes = self._family.codes(weights.numpy())
            self._tables.build(self._codes)
        self._steps += 1
        most = int(self._size * (1 - self._uniform))
        found = self._tables.union_of_batch(self._family.codes(hidden.numpy()), most, random)
        known = np.union1d(own, found.astype(np.int64))
        return Candidates(torch.from_numpy(filled(known, self._size, self._labels, random)))

    def state(self) -> dict[str, Any]:
        """Return the number of steps and the codes from which the tables were built."""
        codes = self._codes if self._codes is not None else np.zeros((0, 0), dtype=np.int32)
        return {"slide.steps": np.array([self._steps], dtype=np.int64), "slide.codes": codes}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`: build the tables of its codes."""
        self._steps = int(state["slide.steps"][0])
        self._codes = np.asarray(state["slide.codes"]) if len(state["slide.codes"]) else None
        if self._codes is not None:
            self._tables.build(self._codes)
