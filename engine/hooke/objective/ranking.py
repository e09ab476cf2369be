"""Scores of rankings of labels: precision at k, and precision at k weighted by propensities.

The labels of real data sets are incomplete, and rare labels are missing more often than frequent ones. Jain et al.
(Extreme multi-label loss functions, KDD 2016, section 4) model the probability that a label of an item is present,
its propensity, and weight every hit by its inverse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.objective.bags import Csr, rows_of

AT = (1, 3, 5)
"""The numbers of first labels k that are scored."""
DEPTH = AT[-1]

Ints = tuple[int, int, int]
Floats = tuple[float, float, float]


@dataclass(frozen=True)
class Ranked:
    """Sums over items, each at k = 1, 3 and 5; sums over shares of the items are added with `+`.

    P@k = hits / (k count). PSP@k = gained / possible, as in the literature: the sum over items of the weights
    of the hits, by the same sum for the best ranking of each item.
    """

    count: int = 0
    """Number of items, those without labels included."""
    hits: Ints = (0, 0, 0)
    """Labels of the items among the first k."""
    gained: Floats = (0.0, 0.0, 0.0)
    """Weights of the hits among the first k."""
    possible: Floats = (0.0, 0.0, 0.0)
    """Sum of the k largest weights among the labels of each item."""

    def __add__(self, other: Ranked) -> Ranked:
        a, b = self, other
        return Ranked(
            a.count + b.count,
            (a.hits[0] + b.hits[0], a.hits[1] + b.hits[1], a.hits[2] + b.hits[2]),
            _sum(a.gained, b.gained),
            _sum(a.possible, b.possible),
        )

    @property
    def precision(self) -> Floats:
        """P@1, P@3 and P@5; NaN without items."""
        return _ratios(self.hits, (self.count, 3 * self.count, 5 * self.count))

    @property
    def weighted_precision(self) -> Floats:
        """PSP@1, PSP@3 and PSP@5; NaN without labels."""
        return _ratios(self.gained, self.possible)


def _sum(a: Floats, b: Floats) -> Floats:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _ratios(above: Floats | Ints, below: Floats | Ints) -> Floats:
    first, third, fifth = (a / b if b else math.nan for a, b in zip(above, below, strict=True))
    return first, third, fifth


def inverse_propensities(
    frequencies: NDArray[np.int64], count: int, a: float = 0.55, b: float = 1.5
) -> NDArray[np.float64]:
    """Return the weight of each label, 1 / p (labels,), from the numbers of training items that have it.

    p_l = 1 / (1 + C exp(-a ln(N_l + b))) with C = (ln N - 1) (b + 1)^a and N = `count` training items.
    The authors use a = 0.55 and b = 1.5, but 0.5 and 0.4 for sets of Wikipedia, 0.6 and 2.6 for those of Amazon.
    Raises ArgumentError for fewer than three items, for which p would exceed 1.
    """
    if count < 3:
        raise ArgumentError(f"propensities need at least 3 training items, not {count}: ln N - 1 is negative")
    scale = (math.log(count) - 1) * (b + 1) ** a
    weights: NDArray[np.float64] = 1 + scale * (frequencies + b) ** -a
    return weights


def ranked(top: NDArray[np.int64], labels: Csr, weights: NDArray[np.float64]) -> Ranked:
    """Return the sums for items with the true `labels` (n rows) and the labels `top` (n, 5) that are ranked first.

    `top`: the best label first, distinct in a row; -1 where there are fewer. `weights`: one per label, see
    `inverse_propensities`. Raises ArgumentError for another shape, ids that are no labels, and repetitions.
    """
    _verify(top, len(labels), len(weights))
    owners = rows_of(labels.starts)
    hit = _member(top, owners, labels.ids, len(weights))
    gains = np.where(hit, weights[np.maximum(top, 0)], 0.0)
    own = weights[labels.ids]
    order = np.lexsort((-own, owners))  # by item, then the largest weight first; items stay where they are
    place = np.arange(len(own)) - labels.starts[owners]
    hits = [int(hit[:, :k].sum()) for k in AT]
    gained = [float(gains[:, :k].sum()) for k in AT]
    possible = [float(own[order[place < k]].sum()) for k in AT]
    return Ranked(
        len(labels),
        (hits[0], hits[1], hits[2]),
        (gained[0], gained[1], gained[2]),
        (possible[0], possible[1], possible[2]),
    )


def _verify(top: NDArray[np.int64], items: int, labels: int) -> None:
    if top.shape != (items, DEPTH):
        raise ArgumentError(
            f"the first labels of {items} items have the shape ({items}, {DEPTH}), not {top.shape}"
        )
    if items and (top.min() < -1 or top.max() >= labels):
        raise ArgumentError(f"ranked labels are {top.min()} to {top.max()}; expected -1 (none) to {labels - 1}")
    ordered = np.sort(top, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if twice.any():
        row = int(twice.argmax())
        raise ArgumentError(f"item {row} has a label twice among its first {DEPTH}: {top[row].tolist()}")


def _member(
    top: NDArray[np.int64], owners: NDArray[np.int64], ids: NDArray[np.int32], labels: int
) -> NDArray[np.bool_]:
    """Return whether each ranked label is a label of its item, (n, 5)."""
    if not len(ids):
        return np.zeros(top.shape, dtype=np.bool_)
    truth = owners * labels + ids  # ascends, as rows and ids do
    keys = np.arange(len(top))[:, None] * labels + top
    found = truth[np.minimum(np.searchsorted(truth, keys.ravel()), len(truth) - 1)].reshape(top.shape)
    member: NDArray[np.bool_] = (found == keys) & (top >= 0)
    return member
