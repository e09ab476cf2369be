"""Arguments that are numbers, of Python, NumPy or PyTorch, as those of Python."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hooke.errors import ArgumentError


def plain(value: Any) -> Any:
    """Return a setting with Python's numbers in place of those of NumPy and PyTorch, as a document has them."""
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(each) for each in value]
    kinds = (kind for kind in type(value).__mro__ if kind.__module__ in ("numpy", "torch"))
    return value.tolist() if any(hasattr(kind, "tolist") for kind in kinds) else value


def whole(name: str, value: Any) -> int:
    """Return a number of things as an int: also a float such as 1e6. Raises ArgumentError for anything else."""
    found = plain(value)
    if isinstance(found, float) and found.is_integer():
        return int(found)
    try:
        if not isinstance(found, bool):
            return operator.index(found)
    except TypeError:
        pass
    raise ArgumentError(f"`{name}` is a whole number, such as 4, not {value!r}")


def real(name: str, value: Any, example: str) -> float | None:
    """Return a number as a float, None as it is. Raises ArgumentError for anything else, such as True."""
    found = plain(value)
    if found is None or (isinstance(found, numbers.Real | Decimal) and not isinstance(found, bool)):
        return None if found is None else float(found)
    raise ArgumentError(f"`{name}` is a number, such as {example}, not {value!r}")
