"""Next-item prediction from histories of users, split in time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hooke.objective.bags import Bags, Csr, check_histories, frequencies, inside, pairs_at


class Pairs:
    """Pairs of a user's previous items and the item that follows, each made when it is taken.

    `events`: the places of the labels in `histories.ids`, int64 (n,), none of them the first of a history. That is
    all that a part has in memory, 8 bytes for each pair; histories may be mapped.
    """

    def __init__(self, histories: Csr, events: NDArray[np.int64], item_count: int, window: int) -> None:
        self._histories, self._events, self._window = histories, events, window
        self.feature_count = self.label_count = item_count

    def __len__(self) -> int:
        return len(self._events)

    @property
    def label_counts(self) -> NDArray[np.int64]:
        """Number of labels of every pair, (n,): one each."""
        return np.ones(len(self), dtype=np.int64)

    def take(self, at: NDArray[np.int64]) -> Bags:
        """Return the pairs at the indices `at` as contiguous arrays; see `hooke.objective.bags.pairs_at`."""
        inside(at, len(self))
        return pairs_at(self._histories, self._events[at], self.label_count, self._window)

    def labels_of(self, at: NDArray[np.int64]) -> Csr:
        """Return the labels of the pairs at the indices `at`."""
        return Csr(np.arange(len(at) + 1), self._histories.ids[self._events[at]])

    def label_frequencies(self) -> NDArray[np.int64]:
        """Return the number of pairs that have each label, (label_count,)."""
        return frequencies(self)


def in_time(histories: Csr, item_count: int, window: int) -> tuple[Pairs, Pairs, Pairs]:
    """Return training, validation and test pairs of histories; see `hooke.objective.bags.histories_to_bags`.

    The last item of each user is a label of the test part, the one before it of the validation part, and all
    earlier ones but the first of the training part: nothing that follows a label of a user is seen before it.
    Users of one item have no pair, those of two only a test pair.
    """
    check_histories(histories, item_count, window)
    ends, counts = histories.starts[1:], histories.counts
    test, validation = ends[counts > 1] - 1, ends[counts > 2] - 2
    trained = np.ones(len(histories.ids), dtype=np.bool_)
    for others in (histories.starts[:-1][counts > 0], validation, test):
        trained[others] = False
    parts = np.flatnonzero(trained), validation, test
    train, validated, tested = (Pairs(histories, events, item_count, window) for events in parts)
    return train, validated, tested
