"""Adaptive SGD's rules: sizes of batches by counts of updates, and the weights of a merge (arXiv 2110.07029)."""

from __future__ import annotations

from collections.abc import Sequence


class Shares:
    """Size b_i of every worker's batches, and its number u_i of updates since the latest merge.

    Sizes are real numbers; a worker is given the nearest whole number of batches of the run.
    """

    def __init__(self, workers: int, smallest: int, largest: int, scaling: float) -> None:
        self._smallest, self._largest, self._scaling = smallest, largest, scaling
        self.sizes = [float(largest)] * workers
        self.updates = [0] * workers

    def batches(self, worker: int) -> int:
        """Return the size of a worker's next batch, in batches of the run: b_i, rounded half up."""
        return int(self.sizes[worker] + 0.5)

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
            self.sizes[i] = min(float(self._largest), max(float(self._smallest), size))
        self.updates = [0] * len(self.updates)
