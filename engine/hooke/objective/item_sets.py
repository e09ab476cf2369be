"""Wide output layers with an active set for each item of a batch, as in SLIDE (arXiv 1903.03129)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from hooke.catalogue.workload import ALONE, Place
from hooke.hashing.active import ActiveSets, Assembler
from hooke.hashing.entries import by_row
from hooke.hashing.family import Family
from hooke.hashing.jit import Threads
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.rows import softmax
from hooke.hashing.schedule import RebuildSchedule
from hooke.hashing.tables import Tables
from hooke.objective.active_labels import Full
from hooke.objective.bags import Bags
from hooke.objective.device import threads
from hooke.objective.slide import Rebuilt
from hooke.objective.wide import WideObjective

Vectors = NDArray[np.float32]


class Sets(Protocol):
    """Chooses the active set of each item. `weights` (C, d) and `hidden` (b, d) are those of the output layer."""

    def choose(self, labels: Lists, hidden: Vectors, weights: Vectors) -> ActiveSets:
        """Return the active set of every item, its labels first."""

    def state(self) -> dict[str, Any]:
        """Return what outlives a step, as NumPy arrays."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""


class RandomSets:
    """The item's labels and uniform ones: SLIDE without its hash tables."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler, self._steps = assembler, 0

    def choose(self, labels: Lists, hidden: Vectors, weights: Vectors) -> ActiveSets:
        """Return the active set of every item."""
        del hidden, weights
        self._steps += 1
        return self._assembler.per_sample(self._steps - 1, labels)

    def state(self) -> dict[str, Any]:
        """Return the number of steps."""
        return {"sets.steps": np.array([self._steps], dtype=np.int64)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""
        self._steps = int(state["sets.steps"][0])


class SlideSets(Rebuilt):
    """The item's labels, those that share a bucket with its hidden units, and uniform ones (`assembler`)."""

    def __init__(self, family: Family, tables: Tables, assembler: Assembler, rebuilds: RebuildSchedule) -> None:
        super().__init__(family, tables, rebuilds)
        self._assembler = assembler

    def choose(self, labels: Lists, hidden: Vectors, weights: Vectors) -> ActiveSets:
        """Return the active set of every item."""
        step = self.advance(weights)
        room = self._assembler.cap - self._assembler.uniform
        found = self.tables.query(self.family.codes(hidden), "union", max(1, room), step=step)
        return self._assembler.per_sample(step, labels, found)


class ItemObjective(WideObjective):
    """The network with an active set for each item; products are those of single rows, in float32."""

    def __init__(
        self, train: Bags, test: Bags, hidden: int, sets: Sets, *, validation_items: int = 0, place: Place = ALONE
    ) -> None:
        super().__init__(train, test, hidden, Full(), validation_items=validation_items, place=place)
        self._layer = self._sets = sets
        self._threads = Threads(threads(place.compute))
        self._rows = RowOptimizer("sgd", (train.label_count, hidden), biased=True)
        self.notes["precision"] = "fp32"
        self._low = False

    def gradient(self, batch: Bags) -> float:
        """Write the gradient of the mean loss of a batch to the bound vector; return the loss."""
        _, _, w2, b2 = (weights.numpy() for weights in self._weights)
        hidden = self.hidden_units(batch)
        units = hidden.numpy()
        active = self._sets.choose(Lists(batch.labels.starts, batch.labels.ids), units, w2)
        self._metrics.note(float(active.lists.sizes.mean()))
        output = softmax(active, units, w2, b2, threads=self._threads)
        entries = by_row(active.lists, output.delta, len(w2), self._threads)
        rows, gradients = self._rows.gradients(entries, units, w2, self._threads)
        order = np.argsort(rows)
        found = torch.from_numpy(gradients[order])
        back = torch.from_numpy(output.gradient).mul_(hidden > 0)
        self.write(batch, back, torch.from_numpy(rows[order].astype(np.int64)), found[:, :-1], found[:, -1])
        return float(output.loss.mean())
