"""The validation part of data sets that come without one: split off the training part by a fixed rule.

Targets are judged and settings are chosen on the validation part; the test part is scored once, when a run has
ended. The rule depends on the number of training items alone, so that every method, and every program that Hooke
is compared with, trains and is judged on the same items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hooke.errors import DataInvalid

FEWEST = 10
"""Training items from which a validation part can be split off; at most one item in as many is held out."""
MOST = 10_000
"""Validation items beyond which more would only make evaluations dearer."""


def held_out(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of `count` training items stay for training, and which are the validation part; ascending.

    Item i is held out if i % k == k - 1, with k = max(10, ceil(count / 10,000)): a tenth, but no more than 10,000
    items. Items sorted by class are held out in proportion. Raises DataInvalid for fewer than ten items.
    """
    if count < FEWEST:
        raise DataInvalid(
            f"a training part of {count} items is too small to split a validation part off: "
            f"give one of its own, or at least {FEWEST} items"
        )
    every = max(FEWEST, -(-count // MOST))
    items = np.arange(count, dtype=np.int64)
    validation = items % every == every - 1
    return items[~validation], items[validation]


def cut_of_text(length: int) -> int:
    """Return where the last tenth of `length` characters begins: it is held out in one piece.

    Neighbouring pieces of a text overlap, so single ones cannot be held out of it.
    """
    return length - length // 10
