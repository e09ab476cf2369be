"""Statements of few shapes.

SQLAlchemy keeps what it has compiled of each number of conditions, and a connection to SQLite what it has prepared
of each text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def filled(some: Sequence[T], filler: T) -> list[T]:
    """Return some conditions or values, with a filler behind them up to the next power of two; none if none."""
    return [*some, *([filler] * ((1 << (len(some) - 1).bit_length()) - len(some)))] if some else []
