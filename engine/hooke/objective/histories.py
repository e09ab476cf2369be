"""Next-item prediction from histories of users, split in time."""

from __future__ import annotations

import numpy as np

from hooke.objective.bags import Bags, Csr, histories_to_bags, starts_of


def in_time(histories: Csr, item_count: int, window: int) -> tuple[Bags, Bags, Bags]:
    """Return training, validation and test pairs of histories; see `hooke.objective.bags.histories_to_bags`.

    The last item of each user is a label of the test part, the one before it of the validation part, and all
    earlier ones but the first of the training part: nothing that follows a label of a user is seen before it.
    Users of one item have no pair, those of two only a test pair.
    """
    pairs = histories_to_bags(histories, item_count, window)
    counts = np.maximum(histories.counts - 1, 0)
    following = np.repeat(starts_of(counts)[1:], counts) - 1 - np.arange(len(pairs))  # pairs of the same user
    train, validation, test = (
        pairs.take(np.flatnonzero(chosen)) for chosen in (following > 1, following == 1, following == 0)
    )
    return train, validation, test
