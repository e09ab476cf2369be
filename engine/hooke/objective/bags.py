"""Parts of a data set whose items are sparse bags of features with sets of labels, in compressed rows.

Everything works on memory maps: only `take` copies, and only what it returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.objective.parts import held_out

INT64, INT32, FLOAT32 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float32)
PIECE = 1 << 20
"""Elements of a memory map that are converted at once."""


@dataclass(frozen=True, eq=False)
class Csr:
    """Compressed sparse rows: row i is `ids[starts[i]:starts[i + 1]]`, with `values` at the same places.

    `starts` int64 (n + 1,), from 0 to nnz; `ids` int32 (nnz,); `values` float32 (nnz,), or None: all are 1. In a
    row ids ascend and none occurs twice: readers and generators ensure it, the constructor does not verify it.
    Raises ArgumentError for other types or lengths.
    """

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.starts.dtype != INT64 or self.ids.dtype != INT32 or not len(self.starts):
            raise ArgumentError(
                f"compressed rows need int64 starts (n + 1,) and int32 ids, not {self.starts.dtype} "
                f"{self.starts.shape} and {self.ids.dtype}"
            )
        if (self.starts[0], self.starts[-1]) != (0, len(self.ids)):
            raise ArgumentError(
                f"the starts of compressed rows go from 0 to the number of ids, {len(self.ids)}, "
                f"not from {self.starts[0]} to {self.starts[-1]}"
            )
        if self.values is not None and (self.values.dtype != FLOAT32 or len(self.values) != len(self.ids)):
            raise ArgumentError(
                f"compressed rows need one float32 value per id, not {len(self.values)} {self.values.dtype} "
                f"for {len(self.ids)} ids"
            )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of ids of every row, (n,)."""
        return np.diff(self.starts)

    def take(self, at: NDArray[np.int64]) -> Csr:
        """Return the rows at the indices `at` (m,), in that order, as new contiguous arrays.

        An index may occur several times. Raises ArgumentError for one outside 0 to n - 1.
        """
        inside(at, len(self))
        begin = self.starts[at]
        counts = self.starts[at + 1] - begin
        starts = np.zeros(len(at) + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        source = np.arange(starts[-1])
        source += np.repeat(begin - starts[:-1], counts)
        return Csr(starts, self.ids.take(source), None if self.values is None else self.values.take(source))

    def head(self, count: int) -> Csr:
        """Return the first `count` rows as views."""
        starts = self.starts[: count + 1]
        return Csr(starts, self.ids[: starts[-1]], None if self.values is None else self.values[: starts[-1]])


class BagPart(Protocol):
    """A part of a data set, of which some items at a time are in memory."""

    @property
    def feature_count(self) -> int:
        """Number of features."""

    @property
    def label_count(self) -> int:
        """Number of labels."""

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of labels of every item, (n,)."""

    def __len__(self) -> int:
        """Return the number of items."""

    def take(self, at: NDArray[np.int64]) -> Bags:
        """Return the items at the indices `at` as contiguous arrays; see `Csr.take`."""

    def labels_of(self, at: NDArray[np.int64]) -> Csr:
        """Return the labels of these items."""

    def label_frequencies(self) -> NDArray[np.int64]:
        """Return the number of items that have each label, (label_count,)."""


@dataclass(frozen=True, eq=False)
class Bags:
    """A part of a data set: item i has the features `features` row i and the labels `labels` row i.

    Feature ids are below `feature_count`, label ids below `label_count`; `labels` has no values. An item may lack
    either. Raises ArgumentError for different numbers of rows.
    """

    features: Csr
    labels: Csr
    feature_count: int
    label_count: int

    def __post_init__(self) -> None:
        if len(self.features) != len(self.labels):
            raise ArgumentError(
                f"{len(self.features)} rows of features for {len(self.labels)} rows of labels: an item has both"
            )

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of labels of every item, (n,)."""
        return self.labels.counts

    def __len__(self) -> int:
        return len(self.features)

    def take(self, at: NDArray[np.int64]) -> Bags:
        """Return the items at the indices `at` (m,), in that order, as new contiguous arrays; see `Csr.take`."""
        return Bags(self.features.take(at), self.labels.take(at), self.feature_count, self.label_count)

    def labels_of(self, at: NDArray[np.int64]) -> Csr:
        """Return the labels of the items at the indices `at`."""
        return self.labels.take(at)

    def label_frequencies(self) -> NDArray[np.int64]:
        """Return the number of items that have each label, (label_count,)."""
        found = np.zeros(self.label_count, dtype=np.int64)
        for start in range(0, len(self.labels.ids), PIECE):
            found += np.bincount(self.labels.ids[start : start + PIECE], minlength=self.label_count)
        return found


class Subset:
    """Items of a part in the order of the indices `items`, (m,) int64; nothing is copied before `take`."""

    def __init__(self, source: BagPart, items: NDArray[np.int64]) -> None:
        self.source, self.items = source, items
        self.feature_count, self.label_count = source.feature_count, source.label_count

    def __len__(self) -> int:
        return len(self.items)

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of labels of every item, (n,)."""
        return self.source.label_counts[self.items]

    def take(self, at: NDArray[np.int64]) -> Bags:
        """Return the items at the indices `at` of this subset as contiguous arrays; see `Csr.take`."""
        inside(at, len(self))
        return self.source.take(self.items[at])

    def labels_of(self, at: NDArray[np.int64]) -> Csr:
        """Return the labels of the items at the indices `at` of this subset."""
        return self.source.labels_of(self.items[at])

    def label_frequencies(self) -> NDArray[np.int64]:
        """Return the number of items of the subset that have each label, (label_count,)."""
        return frequencies(self)


def frequencies(part: BagPart) -> NDArray[np.int64]:
    """Return the number of items of a part that have each label, read some at a time."""
    found = np.zeros(part.label_count, dtype=np.int64)
    for start in range(0, len(part), PIECE):
        labels = part.labels_of(np.arange(start, min(start + PIECE, len(part))))
        found += np.bincount(labels.ids, minlength=part.label_count)
    return found


def inside(at: NDArray[np.int64], count: int) -> None:
    """Raise ArgumentError unless all indices are in range(count)."""
    if len(at) and (at.min() < 0 or at.max() >= count):
        raise ArgumentError(f"rows {at.min()} to {at.max()} were asked for; there are rows 0 to {count - 1}")


def split_off(train: BagPart) -> tuple[Subset, Subset]:
    """Split a training part into training and validation part, by the rule of `hooke.objective.parts`."""
    kept, held = held_out(len(train))
    return Subset(train, kept), Subset(train, held)


def divided(train: BagPart, validation: BagPart | None) -> tuple[Subset, Subset]:
    """Return training and validation part: both as given, or the latter split off the former."""
    if validation is None:
        return split_off(train)
    kept, held = (Subset(part, np.arange(len(part), dtype=np.int64)) for part in (train, validation))
    return kept, held


def starts_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the starts (n + 1,) of rows with these numbers of ids, (n,)."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def rows_of(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of every id, (nnz,)."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def normalised(starts: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return values (nnz,) scaled to length 1 (L2) in every row; a row of zeros stays as it is."""
    squares = np.bincount(rows_of(starts), weights=values**2, minlength=len(starts) - 1)
    factors = 1 / np.sqrt(np.where(squares > 0, squares, 1))
    return (values * np.repeat(factors, np.diff(starts))).astype(np.float32)


def histories_to_bags(histories: Csr, item_count: int, window: int) -> Bags:
    """Return pairs for next-item prediction: the bag of previous items of a user, and the item that follows.

    Row u of `histories` has the items of user u in the order of time, also repeated ones; values are not read.
    Every item but the first of a history becomes a label; its features are the at most `window` items before it,
    with their numbers of occurrences, L2-normalised. Pairs are in the order of users, then of time. Raises
    ArgumentError for a window below 1 and for items outside 0 to item_count - 1.
    """
    check_histories(histories, item_count, window)
    follows = np.ones(len(histories.ids), dtype=np.bool_)
    follows[histories.starts[:-1][histories.counts > 0]] = False  # the first of a history has no previous item
    return pairs_at(histories, np.flatnonzero(follows), item_count, window)


def check_histories(histories: Csr, item_count: int, window: int) -> None:
    """Raise ArgumentError for a window below 1 and for items outside 0 to item_count - 1."""
    if window < 1:
        raise ArgumentError(f"a window of {window} items has no previous item: give at least 1")
    ids = histories.ids
    if len(ids) and (ids.min() < 0 or ids.max() >= item_count):
        raise ArgumentError(f"histories have items {ids.min()} to {ids.max()}; expected 0 to {item_count - 1}")


def pairs_at(histories: Csr, events: NDArray[np.int64], item_count: int, window: int) -> Bags:
    """Return the pairs of `histories_to_bags` whose labels are at these places of `histories.ids`, in that order.

    None of them is the first of a history.
    """
    user = np.searchsorted(histories.starts, events, side="right") - 1
    begin = np.maximum(histories.starts[user], events - window)
    starts = starts_of(events - begin)
    previous = histories.ids[np.arange(starts[-1]) + np.repeat(begin - starts[:-1], events - begin)]
    keys, occurrences = np.unique(rows_of(starts) * item_count + previous, return_counts=True)
    rows, features = np.divmod(keys, item_count)
    starts = starts_of(np.bincount(rows, minlength=len(events)))
    return Bags(
        Csr(starts, features.astype(np.int32), normalised(starts, occurrences.astype(np.float64))),
        Csr(np.arange(len(events) + 1), histories.ids[events]),
        item_count,
        item_count,
    )
