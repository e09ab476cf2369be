"""Which labels a step of a wide output layer computes: all, sampled ones, or those of the batch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Labels = NDArray[np.int64]
"""Label ids."""


@dataclass(frozen=True)
class Active:
    """The labels whose outputs a step computes, the same for all items of its batch.

    `ids`: ascending, without repetition, int64 (a,), with every label of the batch among them; None: all labels.
    `offset`: float32 (a,), added to an output where the label is not one of the item's; `own`: boolean (a,),
    labels that count for those items alone that have them.
    """

    ids: Tensor | None
    offset: Tensor | None = None
    own: Tensor | None = None
    retrieved: int = 0
    """Of `ids`: those that hash tables alone have given."""


ALL = Active(None)


class Kept(Protocol):
    """Something that may keep state from step to step."""

    def state(self) -> dict[str, Any]:
        """Return what outlives a step, as NumPy arrays."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from the result of `state`."""


class Layer(Kept, Protocol):
    """Chooses the active set of a step. `weights` (C, d) and `hidden` (b, d) are those of the output layer."""

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Active:
        """Return the active set of a batch; `own`: the labels of its items, ascending, without repetition."""


class Stateless:
    """A layer that keeps nothing from step to step."""

    def state(self) -> dict[str, Any]:
        """Return no arrays."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore nothing."""
        del state


class Full(Stateless):
    """All labels: the softmax itself."""

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Active:
        """Return all labels."""
        del own, hidden, weights, random
        return ALL


class InBatch(Stateless):
    """The labels of the batch: those of the other items are an item's negatives."""

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Active:
        """Return the labels of the batch."""
        del hidden, weights, random
        return Active(torch.from_numpy(own))


class RandomActive(Stateless):
    """The labels of the batch and as many random ones as make `size`: SLIDE without its hash tables."""

    def __init__(self, labels: int, size: int) -> None:
        self._labels, self._size = labels, size

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Active:
        """Return the labels of the batch and uniformly drawn ones."""
        del hidden, weights
        return Active(torch.from_numpy(filled(own, self._size, self._labels, random)))


class Sampled(Stateless):
    """Sampled softmax: negatives that the whole batch shares, with correction for how often they are drawn.

    `count` draws with replacement from q, uniform or log-uniform over the places r of labels in falling order of
    frequency, r from 0: q = ln((r + 2) / (r + 1)) / ln(C + 1). An item's outputs are those of its own labels, as
    they are, and of the negatives k drawn that are not its own, less ln P(k), P(k) = 1 - (1 - q)^count the chance
    to be drawn. The sum of the exponentials then has the expectation of the whole one (Bengio and Senecal 2008;
    Blanc and Rendle, arXiv 1712.00527, equation 2).
    """

    def __init__(
        self,
        labels: int,
        count: int,
        distribution: Literal["uniform", "log-uniform"] = "uniform",
        correction: bool = True,
        order: Labels | None = None,
    ) -> None:
        """`order`: the labels in falling order of frequency; None: their ids are in it."""
        self._labels, self._count = labels, count
        self._skewed, self._corrects = distribution == "log-uniform", correction
        self._order, self._places = order, None if order is None else np.argsort(order)

    def choose(self, own: Labels, hidden: Tensor, weights: Tensor, random: np.random.Generator) -> Active:
        """Return the labels of the batch and the negatives drawn."""
        del hidden, weights
        drawn = np.unique(self._draw(random))
        ids = np.union1d(own, drawn)
        shared = np.zeros(len(ids), dtype=bool)
        shared[np.searchsorted(ids, drawn)] = True
        offset = torch.from_numpy(-np.log(self.chance(ids)).astype(np.float32)) if self._corrects else None
        return Active(torch.from_numpy(ids), offset, torch.from_numpy(~shared))

    def _draw(self, random: np.random.Generator) -> Labels:
        if not self._skewed:
            return random.integers(0, self._labels, self._count)
        drawn = np.exp(random.random(self._count) * math.log(self._labels + 1)).astype(np.int64) - 1
        places = np.clip(drawn, 0, self._labels - 1)
        return places if self._order is None else self._order[places]

    def chance(self, ids: Labels) -> NDArray[np.float64]:
        """Return the probability that a step draws each of these labels."""
        share = np.full(len(ids), 1 / self._labels)
        if self._skewed:
            places = ids if self._places is None else self._places[ids]
            share = np.log((places + 2) / (places + 1)) / math.log(self._labels + 1)
        return -np.expm1(self._count * np.log1p(-share)) if self._labels > 1 else np.ones(len(ids))


def by_frequency(found: Labels) -> Labels | None:
    """Return the labels by falling frequency `found` (C,), equal ones by id; None: their ids are in this order."""
    return None if (found[1:] <= found[:-1]).all() else np.argsort(-found, kind="stable")


def filled(known: Labels, size: int, labels: int, random: np.random.Generator) -> Labels:
    """Return the known labels and uniformly drawn others, `size` in all or as many as there are, ascending."""
    missing = min(size, labels) - len(known)
    if missing <= 0:
        return known
    if 2 * min(size, labels) > labels:  # few are left out: draw from the rest
        rest = np.setdiff1d(np.arange(labels), known, assume_unique=True)
        return np.union1d(known, random.choice(rest, missing, replace=False))
    found = known
    while missing > 0:
        found = np.union1d(found, random.integers(0, labels, missing))
        missing = min(size, labels) - len(found)
    return found
