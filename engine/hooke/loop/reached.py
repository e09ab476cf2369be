"""The steps of the workers as a server hears of them."""

from __future__ import annotations


class Reached(dict[int, int]):
    """Steps of each worker according to its latest message, and what all have done since the attempt began.

    A worker's first message says where it began: steps before that are in the samples of a checkpoint. `done` is
    kept up to date, so that a request costs the same however many workers there are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.began: dict[int, int] = {}
        self.done = 0
        """Steps of all workers since the attempt began."""

    def __setitem__(self, worker: int, step: int) -> None:
        """Note where a worker is; fewer steps than before if an update has not arrived."""
        self.done += step - self.get(worker, self.began.setdefault(worker, step))
        super().__setitem__(worker, step)

    def of(self, worker: int) -> int:
        """Return the steps of a worker since the attempt began."""
        return self[worker] - self.began[worker]
