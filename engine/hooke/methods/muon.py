"""Muon: steps of matrices along their orthogonalized momentum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hooke.methods.steps import AdamStep

if TYPE_CHECKING:
    from hooke.catalogue.rank import Rank
    from hooke.comm.base import Slice, Vector
    from hooke.methods.schedule import Schedule

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the odd polynomial a s + b s^3 + c s^5, which maps singular values in (0, 1] to about 0.7 to 1.2 in five
iterations; from the publication."""
ITERATIONS = 5


def matrices(layout: Sequence[Slice]) -> list[Slice]:
    """Return the matrices among the weights of hidden layers: rows are the first dimension, columns the others."""
    return [part for part in layout if part.hidden and len(part.shape) > 1 and min(_sides(part)) > 1]


def _sides(part: Slice) -> tuple[int, int]:
    return part.shape[0], (part.stop - part.start) // part.shape[0]


def _rest(layout: Sequence[Slice], taken: Sequence[Slice]) -> list[slice]:
    """Return the contiguous pieces of all weights without those taken."""
    borders = [0, *(border for part in taken for border in (part.start, part.stop)), layout[-1].stop]
    pieces = zip(borders[::2], borders[1::2], strict=True)
    return [slice(start, stop) for start, stop in pieces if stop > start]


def orthogonalized(matrix: Any, narrow: bool = False) -> Any:
    """Return a matrix with the singular vectors of this one, (n, m), and singular values of about 1.

    Five Newton-Schulz iterations X' = a X + (b A + c A^2) X with A = X X^T, from X of Frobenius norm 1.
    With `narrow`, in bfloat16.
    """
    import torch

    a, b, c = COEFFICIENTS
    x = matrix.bfloat16() if narrow else matrix
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class MuonStep(AdamStep):
    """Muon (Jordan et al. 2024): M' = mu M + (1 - mu) G,  X' = (1 - lr w) X - lr s orth(M')

    for the (n, m) matrices of hidden layers; AdamW for all other weights. With Nesterov orth(mu M' + (1 - mu) G);
    all gradients are taken at the weights. s = 0.2 sqrt(max(n, m)) (Liu et al. 2025, arXiv 2502.16982) makes steps
    as long as those of AdamW, so that both use one learning rate. M is kept where AdamW keeps its first moment.
    """

    def __init__(
        self,
        r: Rank,
        lr: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        *,
        decay: float = 0.0,
        clip: float | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        super().__init__(r, lr, decay=decay, clip=clip, schedule=schedule)
        self._momentum, self._nesterov = momentum, nesterov
        self._narrow = r.params.is_cuda  # as published; on processors it is many times slower than float32
        found = matrices(r.layout)
        self._cover(_rest(r.layout, found))
        self._matrices = [(slice(part.start, part.stop), *_sides(part)) for part in found]
        taken = sum(part.stop - part.start for part in found)
        r.note("muon", f"{len(found)} matrices, {taken:,} of {r.params.numel():,} weights; AdamW for the others")

    def _renew(self, g: Vector, parts: int) -> None:
        super()._renew(g, parts)
        for part, n, m in self._matrices:
            own, kept, direction = g[part], self._first[part], self._root[part]
            kept.lerp_(own, 1 - self._momentum)
            direction.copy_(own.lerp_(kept, self._momentum) if self._nesterov else kept)
            direction.copy_(orthogonalized(direction.view(n, m), self._narrow).reshape(-1))

    def _advance(self, x: Vector, lr: float) -> None:
        super()._advance(x, lr)
        for part, n, m in self._matrices:
            x[part].add_(self._root[part], alpha=-lr * 0.2 * math.sqrt(max(n, m)))
