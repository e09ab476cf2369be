"""The training items of a worker: its own stream, a function of (seed, worker) only."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np


class Batches:
    """Endless batches of one worker.

    `iid`: every index drawn uniformly from the whole training set, as in the paper. `disjoint`: worker i owns
    items i, i + P, i + 2P, ... and walks through a fresh permutation of them in every epoch.
    """

    def __init__(
        self, size: int, batch: int, seed: int, worker: int, workers: int, sharding: Literal["iid", "disjoint"]
    ) -> None:
        self.batch = batch
        self._size = size
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, worker])))
        self._own = np.arange(worker % size, size, workers) if sharding == "disjoint" else None
        self._queue = np.empty(0, dtype=np.int64)
        self._ahead: tuple[Any, Any, Any] | None = None

    def next(self) -> Any:
        """Return the indices of the next batch: int64 of shape (batch,)."""
        if self._ahead is not None:
            (indices, _, _), self._ahead = self._ahead, None
            return indices
        if self._own is None:
            return self._random.integers(0, self._size, self.batch)
        while len(self._queue) < self.batch:
            self._queue = np.concatenate([self._queue, self._random.permutation(self._own)])
        indices, self._queue = self._queue[: self.batch], self._queue[self.batch :]
        return indices

    def peek(self) -> Any:
        """Return the next batch without advancing the cursor."""
        if self._ahead is None:
            state, queue = self._random.bit_generator.state, self._queue
            self._ahead = (self.next(), state, queue)
        return self._ahead[0]

    def cursor(self) -> dict[str, Any]:
        """Return the state for a checkpoint: the generator's state and the rest of a permutation."""
        _, state, queue = self._ahead or (None, self._random.bit_generator.state, self._queue)
        return {"random": state, "queue": queue.tolist()}

    def restore(self, cursor: dict[str, Any]) -> None:
        """Continue from the state returned by `cursor()`."""
        self._ahead = None
        self._random.bit_generator.state = cursor["random"]
        self._queue = np.asarray(cursor["queue"], dtype=np.int64)
