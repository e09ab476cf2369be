"""The output layer of SLIDE: candidates are the labels whose hash codes collide with those of the hidden units."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from hooke.hashing.active import Assembler
from hooke.hashing.family import Family
from hooke.hashing.lists import Lists
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.objective.candidates import Candidates, Labels

STATE = "slide."
"""Beginning of the names of its state."""


class Slide:
    """Labels retrieved from hash tables of the rows of W2, for the batch as a whole (arXiv 1903.03129, section 3).

    The candidates are the labels of the batch, a window of uniform ones (`assembler`), and labels that share most
    buckets with the hidden units of its items, up to the assembler's cap. The tables are built anew at the steps
    of `rebuilds`. They are part of the state, so that a resumed run has those of an undisturbed one.

    Readings: the paper retrieves a set for every item; here the batch has one, so that products are those of
    matrices. As in the paper the softmax is that of the candidates, without correction.
    """

    def __init__(self, family: Family, tables: Tables, assembler: Assembler, rebuilds: RebuildSchedule) -> None:
        self._family, self._tables = family, tables
        self._assembler, self._rebuilds = assembler, rebuilds
        self._steps = 0

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Candidates:
        """Return the labels of the batch, uniform ones, and retrieved ones."""
        del random  # windows and tables have streams of their own
        if self._tables.rows != len(weights) or self._rebuilds.is_rebuild(self._steps):
            self._tables.build_from(self._family, weights.numpy())
        labels = Lists(np.array([0, len(own)]), own.astype(np.int32))
        room = max(len(hidden), self._assembler.cap - self._assembler.uniform)
        found = self._tables.union_of_batch(self._family.codes(hidden.float().numpy()), room)
        chosen = self._assembler.shared(self._steps, labels, found)
        self._steps += 1
        return Candidates(torch.from_numpy(chosen.ids.astype(np.int64)))

    def state(self) -> dict[str, Any]:
        """Return the number of steps, and the state of the tables."""
        held = {f"{STATE}{name}": array for name, array in self._tables.state().items()}
        return held | {f"{STATE}steps": np.array([self._steps], dtype=np.int64)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""
        held = {name.removeprefix(STATE): np.asarray(array) for name, array in state.items()}
        self._steps = int(held.pop("steps")[0])
        if held["codes"].shape[1]:
            self._tables.restore(held)
