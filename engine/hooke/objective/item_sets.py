"""Wide output layers with an active set for each item of a batch, as in SLIDE (arXiv 1903.03129)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hooke.catalogue.workload import ALONE, Place
from hooke.comm.elements import bits
from hooke.hashing.active import ActiveSets, Assembler, DrawnSets
from hooke.hashing.drawn import derivatives, gradients
from hooke.hashing.family import Ints
from hooke.hashing.half_weights import rows_of_half
from hooke.hashing.lists import Lists
from hooke.hashing.row_optimizer import RowOptimizer
from hooke.hashing.tables import Strategy
from hooke.hashing.threads import ONE, Threads
from hooke.objective.active_labels import Full
from hooke.objective.bags import BagPart, Bags
from hooke.objective.device import threads
from hooke.objective.slide import Rebuilt
from hooke.objective.wide import WideObjective

Vectors = NDArray[np.float32]


class Sets(Protocol):
    """Chooses the active set of each item. `weights` (C, d) and `hidden` (b, d) are those of the output layer."""

    def choose(self, labels: Lists, hidden: Vectors, weights: Tensor) -> DrawnSets:
        """Return the active set of every item: a draw that all share, and its own labels and others."""

    def state(self) -> dict[str, Any]:
        """Return what outlives a step, as NumPy arrays."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""


class RandomSets:
    """The item's labels and uniform ones: SLIDE without its hash tables."""

    def __init__(self, assembler: Assembler, threads: Threads = ONE) -> None:
        self._assembler, self._threads, self._steps = assembler, threads, 0

    def choose(self, labels: Lists, hidden: Vectors, weights: Tensor) -> DrawnSets:
        """Return the active set of every item."""
        del hidden, weights
        self._steps += 1
        return self._assembler.drawn(self._steps - 1, labels, threads=self._threads)

    def state(self) -> dict[str, Any]:
        """Return the number of steps."""
        return {"sets.steps": np.array([self._steps], dtype=np.int64)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""
        self._steps = int(state["sets.steps"][0])


class SlideSets(Rebuilt):
    """The item's labels, those that share a bucket with its hidden units, and uniform ones (`assembler`)."""

    strategy: Strategy = "union"

    def choose(self, labels: Lists, hidden: Vectors, weights: Tensor) -> DrawnSets:
        """Return the active set of every item."""
        step = self.advance(weights)
        room = self._assembler.cap - self._assembler.uniform
        codes = self.family.codes(hidden, self.threads)
        found = self.tables.query(codes, self.strategy, max(1, room), self.times, step, self.threads)
        return self._assembler.drawn(step, labels, found, self.threads)


class ItemObjective(WideObjective):
    """The network with an active set for each item, in float32.

    Products with the rows that the batch has drawn are those of matrices, the others those of single rows.
    """

    on_host = True

    def __init__(
        self,
        train: BagPart,
        test: BagPart,
        hidden: int,
        sets: Sets,
        *,
        validation_items: int = 0,
        place: Place = ALONE,
        narrow: bool = False,
        validation: BagPart | None = None,
    ) -> None:
        super().__init__(
            train,
            test,
            hidden,
            Full(),
            validation_items=validation_items,
            place=place,
            narrow=narrow,
            validation=validation,
        )
        self._layer = self._sets = sets
        self._threads = Threads(threads(place.compute))
        self._rows = RowOptimizer("sgd", (train.label_count, hidden), biased=True)
        self.notes["precision"] = "fp32"
        self._low = self._scores_low = False

    def gradient(self, batch: Bags) -> float:
        """Write the gradient of the mean loss of a batch to the bound vector; return the loss."""
        hidden = self.hidden_units(batch)
        units = hidden.numpy()
        active = self._sets.choose(Lists(batch.labels.starts, batch.labels.ids), units, self._weights[2])
        retrieved = active.own.lists.sizes - active.own.positives
        self._metrics.note(float(active.sizes.mean()), float(retrieved.mean()))
        named, active, w2, b2 = self._read(active)
        output = derivatives(active, units, w2, b2, threads=self._threads)
        rows, found = gradients(active, output, units, w2, self._rows, self._threads)
        rows = rows if named is None else named[rows]
        ids, ordered = torch.from_numpy(rows.astype(np.int64)), torch.from_numpy(found)
        if not self.apart:  # a step goes by rows in any order
            ids, order = ids.sort()
            ordered = ordered.index_select(0, order)
        back = torch.from_numpy(output.gradient).mul_(hidden > 0)
        self.write(batch, back, ids, ordered[:, :-1], ordered[:, -1])
        return float(output.loss.mean())

    def _read(self, active: DrawnSets) -> tuple[Ints | None, DrawnSets, Vectors, Vectors]:
        """Return rows and biases of the output layer in float32, and the sets that name them.

        Of narrow weights only those that the sets name, their numbers in the layer first; else all, and None.
        """
        w2, b2 = self._weights[2:]
        if not self._narrow:
            return None, active, w2.numpy(), b2.numpy()
        lists = active.own.lists
        rows, found = np.unique(np.concatenate([active.drawn, lists.ids]), return_inverse=True)
        places: Ints = found.astype(np.int32)
        drawn, own = places[: len(active.drawn)], Lists(lists.starts, places[len(active.drawn) :])
        named = DrawnSets(drawn, ActiveSets(own, active.own.positives), active.targets)
        return (
            rows,
            named,
            rows_of_half(bits(w2), rows, self._threads),
            rows_of_half(bits(b2[:, None]), rows, self._threads)[:, 0],
        )
