"""What an object keeps in memory by the arrays in it: a view of an array, or of bytes, keeps all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass

import numpy as np


def blocks(value) -> dict[int, int]:
    """Return the blocks of memory that the arrays in an object keep: id of each -> its bytes."""
    found: dict[int, int] = {}
    _add(value, found)
    return found


def _add(value, found: dict[int, int]) -> None:
    if isinstance(value, np.ndarray):
        while isinstance(value, np.ndarray) and value.base is not None:
            value = value.base
        found[id(value)] = value.nbytes if isinstance(value, np.ndarray) else len(value)
    elif isinstance(value, Mapping):
        _add(list(value.values()), found)
    elif is_dataclass(value):
        _add(list(vars(value).values()), found)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for each in value:
            _add(each, found)
