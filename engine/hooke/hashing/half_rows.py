"""Rows of a layer in bfloat16, half the memory of float32: steps are taken in float32 and rounded at random.

    rows, lists, w = half.named(active.lists)                # float32 copies of the rows that samples touch
    output = softmax(ActiveSets(lists, active.positives), h, w)
    optimizer.step(by_row(lists, output.delta, len(w)), h, w)
    half.put(rows, w, step)

bfloat16 has 8 bits of precision: a step of less than 1/512 of a weight would be lost if it were rounded to the
nearest value. Rounded at random (Gupta et al., ICML 2015), its expectation is the exact one. The random bits are a
function of seed, row, column and step (Salmon et al., SC11): threads and the order of rows change no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hooke.errors import ArgumentError
from hooke.hashing.entries import check_ids
from hooke.hashing.family import Ints
from hooke.hashing.half_kernels import IN_WORD, round_rows, widen_rows
from hooke.hashing.jit import key_of
from hooke.hashing.lists import Lists
from hooke.hashing.threads import ONE, Threads

if TYPE_CHECKING:
    import torch

_STREAM = 0x4A1F
"""Part of the key that no other random numbers of this package have."""


class HalfRows:
    """The rows of a layer, (rows, width), in bfloat16; zeros at first."""

    def __init__(self, shape: tuple[int, int], seed: int = 0) -> None:
        self.weight: NDArray[np.uint16] = np.zeros(shape, np.uint16)
        """The upper halves of float32."""
        self._seed = seed

    @property
    def bytes(self) -> int:
        """Memory of the weights."""
        return self.weight.nbytes

    def of(self, rows: Ints, threads: Threads = ONE) -> NDArray[np.float32]:
        """Return float32 copies of these rows, (k, width)."""
        check_ids(rows, len(self.weight), "rows")
        found = np.empty((len(rows), self.weight.shape[1]), np.uint32)
        threads.over(len(rows), lambda begin, end: widen_rows(begin, end, rows, self.weight, found), 64)
        return found.view(np.float32)

    def put(self, rows: Ints, values: NDArray[np.float32], step: int, threads: Threads = ONE) -> None:
        """Overwrite these rows, which must be different ones, by float32 values, rounded at random.

        Values that bfloat16 has are kept. Raises ArgumentError for ids out of range, and values of another shape.
        """
        check_ids(rows, len(self.weight), "rows")
        if values.shape != (len(rows), self.weight.shape[1]) or values.dtype != np.float32:
            raise ArgumentError(
                f"{values.dtype} values of shape {values.shape} given for {len(rows)} rows of "
                f"{self.weight.shape[1]} weights: give float32 of that shape"
            )
        bits, key = np.ascontiguousarray(values).view(np.uint32), key_of(self._seed, _STREAM, step)
        threads.over(len(rows), lambda begin, end: round_rows(begin, end, rows, bits, self.weight, key), 64)

    def named(self, lists: Lists, threads: Threads = ONE) -> tuple[Ints, Lists, NDArray[np.float32]]:
        """Return the rows that lists name, ascending, the lists of their places, and copies of them in float32."""
        rows, places = np.unique(lists.ids, return_inverse=True)
        return rows, Lists(lists.starts, places.astype(lists.ids.dtype)), self.of(rows, threads)


def rounded(values: torch.Tensor, rows: torch.Tensor, seed: int, step: int) -> torch.Tensor:
    """Return what `HalfRows(shape, seed).put(rows, values, step)` writes, as bfloat16: by operations of PyTorch.

    `values` (k, width) float32, `rows` (k,) int64.
    """
    import torch

    width = values.shape[1]
    words = -(-width // IN_WORD)
    index = rows[:, None] * words + torch.arange(words, device=rows.device)
    word = _mixed(int(key_of(seed, _STREAM, step)), index)
    parts = torch.stack([(word >> 16 * j) & 0xFFFF for j in range(IN_WORD)], dim=-1).reshape(len(rows), -1)
    bits = values.contiguous().view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    away = (bits + parts[:, :width]) >> 16
    kept = (bits >> 16) | torch.where((bits & 0x007FFFFF) != 0, 0x40, 0)
    half = torch.where((bits & 0x7F800000) == 0x7F800000, kept, away)
    return ((half ^ 0x8000) - 0x8000).to(torch.int16).view(torch.bfloat16)


def _mixed(key: int, index: Any) -> Any:
    """Return 64 random bits for each index, as `hooke.hashing.jit.mix` does; int64, whose products wrap around."""
    z = (index + 1) * _signed(0x9E3779B97F4A7C15) + _signed(key)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ _shifted(z, shift)) * _signed(factor)
    return z ^ _shifted(z, 31)


def _shifted(z: Any, by: int) -> Any:
    """Return z >> by, filled with zeros."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
