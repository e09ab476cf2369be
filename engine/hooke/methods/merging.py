"""Adaptive SGD's rules: sizes of batches by counts of updates, and the weights of a merge (arXiv 2110.07029)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

PARTS = 3
"""Of a size in a checkpoint: as many float32 numbers as have a float64 one as their sum."""


class Shares:
    """Size b_i of every worker's batches, its number u_i of updates since the latest merge, and the batches left.

    Sizes are real numbers; a worker is given the nearest whole number of batches of the run. `total`: batches of
    all workers between two merges (M). `most`: a bound of each worker beside `largest`; empty: none. What a worker
    has been granted since the merge before the latest one (w_i) tells what it would take of further batches.
    """

    def __init__(
        self, workers: int, smallest: int, largest: int, scaling: float, total: int = 0, most: Sequence[int] = ()
    ) -> None:
        self._smallest, self._scaling, self._total = smallest, scaling, total
        self._largest = [float(min(largest, each)) for each in most] or [float(largest)] * workers
        self._state: Any = None
        self.sizes = list(self._largest)
        self.updates = [0] * workers
        self._taken, self._before = [0] * workers, [0] * workers
        """Batches granted since the latest merge, and between that and the one before."""
        self._known, self._since = 0, 0
        """Sum of both over all workers, and that of the former."""
        self.left = total

    def kept(self, state: Any) -> Self:
        """Go on from a state of the rank, if it is from a checkpoint, and keep sizes, counts and the rest there.

        In front of the vector: the batches left, the counts, PARTS numbers for every size, exactly, the batches
        granted before the latest merge, and since it (0, not known, in checkpoints of earlier versions). Nothing
        is kept in a vector that has no room for all.
        """
        from hooke.comm.elements import numbers as elements  # late: parameters are read without NumPy

        workers, room = len(self.sizes), 1 + (3 + PARTS) * len(self.sizes)
        if len(state) < room:
            return self
        self._state = elements(state)[:room]
        numbers = self._state.tolist()
        if any(numbers):  # a size is never 0
            self.left, *self.updates = (round(number) for number in numbers[: 1 + workers])
            sizes, granted = numbers[1 + workers : room - 2 * workers], numbers[room - 2 * workers :]
            parts = zip(*(sizes[part::PARTS] for part in range(PARTS)), strict=True)
            self.sizes = [first + (second + third) for first, second, third in parts]
            self._before, self._taken = ([round(n) for n in granted[at:][:workers]] for at in (0, workers))
            self._since = sum(self._taken)
            self._known = sum(self._before) + self._since
        self._keep(range(workers))
        return self

    def _keep(self, workers: Sequence[int]) -> None:
        """Write what belongs to these workers to the state."""
        if self._state is None:
            return
        self._state[0], granted = self.left, 1 + (1 + PARTS) * len(self.sizes)
        for i in workers:
            self._state[1 + i], rest = self.updates[i], self.sizes[i]
            self._state[granted + i], self._state[granted + len(self.sizes) + i] = self._before[i], self._taken[i]
            first = 1 + len(self.sizes) + PARTS * i
            for place in range(first, first + PARTS):
                self._state[place] = rest
                rest -= float(self._state[place])

    def handed(self, worker: int, batches: int, updates: int = 1) -> None:
        """Count what a worker was granted for its next updates; no batches: none follows."""
        self.left -= batches
        self._taken[worker] += batches
        self._known, self._since = self._known + batches, self._since + batches
        self.updates[worker] += updates if batches else 0
        self._keep([worker])

    def refill(self) -> None:
        """Begin with the batches between two merges."""
        self.left = self._total
        self._keep([])

    def without(self) -> set[int]:
        """Return the workers that have not updated since the latest merge."""
        return {i for i, count in enumerate(self.updates) if not count}

    def batches(self, worker: int) -> int:
        """Return the size of a worker's next batch, in batches of the run: b_i, rounded half up."""
        return int(self.sizes[worker] + 0.5)

    def expected(self, worker: int, left: int) -> float:
        """Return the updates that a worker would take of so many batches, if all went on as in w; 0: not known."""
        taken = self._before[worker] + self._taken[worker]
        return left * taken / (self._known * self.batches(worker)) if self._known else 0.0

    def part(self, worker: int, batches: int) -> float:
        """Return a worker's updates of so many batches, if all goes on as before the latest merge; 0: not known.

        Beside `expected`: what others were granted just after a merge says nothing of who is faster.
        """
        known = self._known - self._since
        return batches * self._before[worker] / (known * self.batches(worker)) if known else 0.0

    def equal(self) -> bool:
        """Return whether all workers have updated equally often."""
        return len(set(self.updates)) == 1

    def weights(self) -> list[float]:
        """Return the normalised weights: b_i / sum b if all have updated equally often, else u_i / sum u."""
        shares: Sequence[float] = self.sizes if self.equal() else self.updates
        total = sum(shares)
        return [share / total for share in shares]

    def perturbed(self, weights: list[float], delta: float) -> list[float]:
        """Return the weights with that of most updates times 1 + delta, and that of fewest times 1 - delta.

        The first of several; no change if all have updated equally often.
        """
        if self.equal():
            return weights
        most, fewest = self.updates.index(max(self.updates)), self.updates.index(min(self.updates))
        factor = {most: 1 + delta, fewest: 1 - delta}
        return [weight * factor.get(i, 1.0) for i, weight in enumerate(weights)]

    def rescale(self) -> None:
        """Choose the sizes after a merge: b_i + scaling (u_i - mean u), within the bounds. Forget the counts."""
        mean = sum(self.updates) / len(self.updates)
        for i, count in enumerate(self.updates):
            size = self.sizes[i] + self._scaling * (count - mean)
            self.sizes[i] = min(self._largest[i], max(float(self._smallest), size))
        self.updates = [0] * len(self.updates)
        self._before, self._taken = self._taken, [0] * len(self.updates)
        self._known, self._since = sum(self._before), 0
        self._keep(range(len(self.sizes)))
