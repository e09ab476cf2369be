"""Batches handed out from one order of all training items, so that an epoch has every item once."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from hooke.errors import AlgorithmError

_ORDER = 7
"""Last word of the seed of an epoch's order; those of other generators end differently."""


class Part(NamedTuple):
    """A worker's part of the batches of a step: `own` batches from the step's batch `begin` on, of `total`."""

    own: int
    begin: int
    total: int

    def number(self, n: int) -> int:
        """Return the number of the worker's n-th batch."""
        step, k = divmod(n, self.own)
        return step * self.total + self.begin + k


class DispatchedBatches:
    """The batches of one worker, out of a common sequence.

    The sequence is a fresh permutation of all items in every epoch, a function of (seed, epoch); batch n of the
    run is items n b ... (n + 1) b - 1 of it. Every rank knows the sequence, so only numbers are handed out.

    Where workers step together, each takes its part of every step's batches. Otherwise (`granting`) it takes what
    it is granted; its part of the first step is granted beforehand, because a gradient may be computed while the
    request that it belongs to is under way.
    """

    def __init__(self, size: int, batch: int, seed: int, part: Part, granting: bool) -> None:
        self.batch = batch
        self._size, self._seed, self._part = size, seed, part
        self._taken = 0
        self._granted = deque(range(part.begin, part.begin + part.own)) if granting else None
        self._epochs: dict[int, Any] = {}

    def grant(self, first: int, count: int) -> None:
        """Add batches `first` ... `first + count - 1`."""
        assert self._granted is not None  # noqa: S101 - only servers grant
        self._granted.extend(range(first, first + count))

    def next(self) -> Any:
        """Return the indices of the next batch: int64 of shape (batch,). Raises AlgorithmError if none is left."""
        if self._granted is None:
            number, self._taken = self._part.number(self._taken), self._taken + 1
        elif self._granted:
            number = self._granted.popleft()
        else:
            raise AlgorithmError(
                "a worker takes more gradients than the server has granted it, and one more: with `sharding: "
                "dispatched` a method must request before it goes on; use `iid`"
            )
        return self._items(number)

    def peek(self) -> Any:
        """Return the next batch without taking it, or None if it has not been granted yet."""
        if self._granted is None:
            return self._items(self._part.number(self._taken))
        return self._items(self._granted[0]) if self._granted else None

    def cursor(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return {"taken": self._taken, "granted": None if self._granted is None else list(self._granted)}

    def restore(self, cursor: dict[str, Any]) -> None:
        """Continue from the state returned by `cursor()`, with one step's batches; others are granted anew."""
        granted = cursor["granted"]
        self._taken = int(cursor["taken"])
        self._granted = None if granted is None else deque(granted[: self._part.own])

    def _items(self, number: int) -> Any:
        begin = number * self.batch
        parts = []
        while (missing := (number + 1) * self.batch - begin) > 0:
            epoch, at = divmod(begin, self._size)
            part = self._order(epoch)[at : at + missing]
            parts.append(part)
            begin += len(part)
        return np.concatenate(parts)

    def _order(self, epoch: int) -> Any:
        if epoch not in self._epochs:
            if len(self._epochs) > 1:  # batches at the border of two epochs need both
                del self._epochs[min(self._epochs)]
            words = np.random.SeedSequence([self._seed, epoch, 0, _ORDER])
            self._epochs[epoch] = np.random.Generator(np.random.PCG64(words)).permutation(self._size)
        return self._epochs[epoch]
