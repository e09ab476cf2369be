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
SPREAD, WHOLE = 40_503, 65_536
"""Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): for consecutive b the
values of b * SPREAD modulo WHOLE are spread evenly, and in step with no small period."""


def held_out(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which of `count` training items stay for training, and which are the validation part; ascending.

    Of every k consecutive items, k b to k b + k - 1, one is held out, with k = max(10, ceil(count / 10,000)): a
    tenth, but no more than 10,000 items. It is the one at k b + floor(k h / 65,536), h = 40,503 b modulo 65,536:
    classes that follow one another, and classes that take turns, are both held out in proportion. Of what is left
    behind the last k items none is. Raises DataInvalid for fewer than ten items.
    """
    if count < FEWEST:
        raise DataInvalid(
            f"a training part of {count} items is too small to split a validation part off: "
            f"give one of its own, or at least {FEWEST} items"
        )
    every = max(FEWEST, -(-count // MOST))
    blocks = np.arange(count // every, dtype=np.int64)
    validation = blocks * every + (blocks * SPREAD % WHOLE * every >> 16)
    return np.delete(np.arange(count, dtype=np.int64), validation), validation


def cut_of_text(length: int) -> int:
    """Return where the last tenth of `length` characters begins: it is held out in one piece.

    Neighbouring pieces of a text overlap, so single ones cannot be held out of it.
    """
    return length - length // 10
