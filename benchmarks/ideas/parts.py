"""What the ideas' files share: a period that grows, and the mean of the workers as the evaluated weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

LONGEST = 64
"""Largest period, that of the space which constant periods are searched in."""


class Growing:
    """H = ceil(H0 L0 / L), at most LONGEST; L: mean loss of the workers' latest gradients, L0: that at the first
    exchange."""

    def __init__(self, r: Any, first: int) -> None:
        self._r, self._first, self._start = r, first, math.nan
        self._left = first

    def due(self) -> bool:
        """Return whether an exchange follows this step, at the same one on all workers."""
        self._left -= 1
        return self._left == 0

    def exchanged(self) -> None:
        """Determine the next period; collective, by control words, which take no time in virtual time."""
        (total,) = self._r.comm.control.allreduce((self._r.loss,))
        self._start = total if math.isnan(self._start) else self._start
        grown = self._first * self._start / total if total > 0 else float(LONGEST)
        self._left = min(LONGEST, math.ceil(grown)) if math.isfinite(grown) else self._first


class Averaged:
    """A rank whose evaluated weights are the mean of the workers' instead of those that the method names."""

    def __init__(self, r: Any) -> None:
        self.__dict__["_r"], self.__dict__["_mean"] = r, r.buffer(r.params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._r, name)

    def steps(self, evaluated: Any = None, flush: Any = None) -> Iterator[int]:
        """Yield the steps of the rank."""
        del evaluated
        steps: Iterator[int] = self._r.steps(lambda: self._r.mean(self._r.params, into=self._mean), flush)
        return steps
