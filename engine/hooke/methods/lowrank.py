"""Low-rank matrices, which PowerSGD sends instead of a gradient."""

from __future__ import annotations

from typing import Any

from hooke.catalogue.claims import Step, Transfer, Transfers
from hooke.comm.base import Slice, Vector


def thin_matrices(method: Any, step: Step) -> Transfers:
    """Return the two all-reduces of a step: n r per matrix and all uncompressed slices, then m r per matrix."""
    left = right = 0
    for part in step.layout:
        n, size = part.shape[0], part.stop - part.start
        m = size // n
        thin = len(part.shape) > 1 and min(n, m) > 1
        r = min(method.rank, n, m)
        left, right = left + (n * r if thin else size), right + (m * r if thin else 0)
    return Transfer("all-reduce", left, step.workers), Transfer("all-reduce", right, step.workers)


class LowRank:
    """One power iteration for every matrix of a layout, over flat vectors.

    A slice of shape (n, m, ...) is a matrix of n rows; r <= min(n, m) columns approximate it. Slices with one
    dimension, and matrices with one row or column, are sent uncompressed. `basis` (Q of every matrix, flat) and
    `thin` (P, and the uncompressed slices) have the size of all weights, which is enough: n r and m r are at most
    n m.

    Order of calls: `project`, all-reduce, `return_`, all-reduce, `approximate`; each all-reduced vector is the sum
    over workers. Memory: one more vector of all weights.
    """

    def __init__(
        self, layout: tuple[Slice, ...], rank: int, basis: Vector, thin: Vector, fresh: bool, seed: int
    ) -> None:
        import torch

        self._matrices: list[tuple[Slice, int, int, int]] = []
        self._whole: list[Slice] = []
        for part in layout:
            n = part.shape[0]
            m = (part.stop - part.start) // n
            r = min(rank, n, m)
            if len(part.shape) > 1 and min(n, m) > 1:
                self._matrices.append((part, n, m, r))
            else:
                self._whole.append(part)
        self._basis: Any = basis
        self._thin: Any = thin
        self._result: Any = basis.clone()
        self._left = sum(n * r for _, n, _, r in self._matrices) + sum(w.stop - w.start for w in self._whole)
        self._right = sum(m * r for _, _, m, r in self._matrices)
        if fresh:
            draw = torch.randn(self._right, generator=torch.Generator().manual_seed(seed))
            self._basis[: self._right].copy_(draw)

    def project(self, matrix: Any) -> Any:
        """Return M Q of every matrix, followed by all uncompressed slices, as one flat vector."""
        at = old = 0
        for part, n, m, r in self._matrices:
            q = self._basis[old : old + m * r].view(m, r)
            self._thin[at : at + n * r].view(n, r).copy_(matrix[part.start : part.stop].view(n, m) @ q)
            at, old = at + n * r, old + m * r
        for part in self._whole:
            size = part.stop - part.start
            self._thin[at : at + size].copy_(matrix[part.start : part.stop])
            at += size
        return self._thin[: self._left]

    def return_(self, matrix: Any, left: Any) -> Any:
        """Orthonormalize the summed M Q to P, in place; return M^T P of every matrix as one flat vector."""
        import torch

        at = old = 0
        for part, n, m, r in self._matrices:
            rows = left[at : at + n * r].view(n, r)
            rows.copy_(torch.linalg.qr(rows)[0])
            columns = self._basis[old : old + m * r].view(m, r)
            columns.copy_(matrix[part.start : part.stop].view(n, m).T @ rows)
            at, old = at + n * r, old + m * r
        return self._basis[: self._right]

    def approximate(self, matrix: Any, right: Any, workers: int) -> Any:
        """Return the approximation of the mean over workers; leave this worker's difference to it in `matrix`."""
        right.mul_(1 / workers)
        at = old = 0
        for part, n, m, r in self._matrices:
            rows = self._thin[at : at + n * r].view(n, r)
            columns = right[old : old + m * r].view(m, r)
            self._result[part.start : part.stop].view(n, m).copy_(rows @ columns.T)
            matrix[part.start : part.stop].sub_(self._result[part.start : part.stop])
            at, old = at + n * r, old + m * r
        for part in self._whole:
            size = part.stop - part.start
            self._result[part.start : part.stop].copy_(self._thin[at : at + size]).mul_(1 / workers)
            matrix[part.start : part.stop].zero_()
            at += size
        return self._result
