"""The validation part of data sets without one: split off the training part by a fixed rule.

The validation part decides targets and settings; the test part is scored once, when a run has ended. The rule
depends only on the number of training items, so that every method, and every program that Hooke is compared with,
is trained and judged on the same items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hooke.errors import DataInvalid

FEWEST = 10
"""Minimum number of training items, and minimum of k (see `held_out`)."""
MOST = 10_000
"""Maximum number of validation items; more would only make evaluations slower."""
SPREAD, WHOLE = 40_503, 65_536
"""Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4): for consecutive b the
values of b * SPREAD modulo WHOLE are evenly spread and have no small period."""


def held_out(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (training, validation): ascending indices, int64, that divide `count` training items.

    One of every k consecutive items, k b to k b + k - 1, is held out, with k = max(10, ceil(count / 10,000)): a
    tenth, at most 10,000 items. It is the item k b + floor(k h / 65,536), h = 40,503 b modulo 65,536, so that
    classes stored in blocks and classes stored alternately are both held out in proportion. None is held out of an
    incomplete last block. Raises DataInvalid for fewer than ten items.
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
    """Return the start of the last tenth of `length` characters, which is held out in one piece.

    Single items cannot be held out of a text, because neighbouring items overlap.
    """
    return length - length // 10
