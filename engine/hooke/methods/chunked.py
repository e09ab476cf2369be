"""The elements of largest magnitude of every chunk of a vector, and the cosine transform of every chunk.

Only ranks import this module, because it needs NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hooke.comm.arrays import Array
from hooke.comm.compressors import largest
from hooke.comm.elements import host, tensor
from hooke.methods.gathered import Bits, kept_of, words


class LargestOfChunks:
    """A compressor: of every chunk, the elements of largest magnitude, with indices of 2 bytes within the chunk.

    A chunk is `chunk` successive elements; the last one may be shorter. Of equal magnitudes the first are kept.
    With 32 bits values are float32. With 2 bits they are a sign and one of two levels of the chunk: the mean
    magnitude of the kept elements above their mean magnitude, and that of the others. NaN and Inf arrive as a
    value that is not finite.
    """

    unbiased = False

    def __init__(self, chunk: int, kept: int, bits: Bits = 32) -> None:
        self._chunk, self._kept, self._bits = chunk, kept, bits
        self._magnitudes = np.zeros(0, np.float32)

    def size(self, elements: int) -> int:
        """Return the bytes of an encoded vector, a multiple of 4."""
        return 4 * words(elements, self._chunk, self._kept, self._bits)

    @np.errstate(invalid="ignore", over="ignore")  # NaN and Inf are sent as such
    def encode(self, x: Array, out: Array, draw: np.random.Generator | None) -> None:
        """Write the encoded vector to `out`."""
        del draw
        if self._magnitudes.size < x.size:
            self._magnitudes = np.zeros(x.size, np.float32)
        magnitudes = np.abs(x, out=self._magnitudes[: x.size])
        levels, indices, packed = self._split(out, x.size)
        values = np.empty(indices.size, np.float32)
        for chunks, taken, shape, count in self._parts(x.size):
            found = _largest_of_rows(magnitudes[chunks].reshape(shape), count)
            indices[taken] = found.reshape(-1)
            values[taken] = np.take_along_axis(x[chunks].reshape(shape), found, axis=1).reshape(-1)
        if self._bits == 32:
            packed.view(np.float32)[:] = values
        else:
            self._quantize(values, x.size, levels, packed)

    @np.errstate(invalid="ignore", over="ignore")  # what is not finite is noticed by the rank that uses it
    def add(self, encoded: Array, into: Array, factor: int = 1) -> None:
        """Add the decoded vector, times the factor."""
        levels, indices, packed = self._split(encoded, into.size)
        values = self._restored(into.size, levels, packed) if self._bits == 2 else packed.view(np.float32)
        for chunks, taken, shape, count in self._parts(into.size):
            first = np.arange(chunks.start, chunks.stop, shape[1])[:, None]
            where = first + indices[taken].reshape(-1, count)
            into[where.reshape(-1)] += values[taken] * np.float32(factor)

    def _parts(self, elements: int) -> Iterator[tuple[slice, slice, tuple[int, int], int]]:
        """Yield (elements, kept elements, shape, kept per chunk) of all whole chunks, then of the shorter one."""
        whole = elements // self._chunk
        start, kept = whole * self._chunk, min(self._kept, self._chunk)
        if whole:
            yield slice(0, start), slice(0, whole * kept), (whole, self._chunk), kept
        if rest := elements - start:
            last = min(self._kept, rest)
            yield slice(start, elements), slice(whole * kept, whole * kept + last), (1, rest), last

    def _split(self, encoded: Array, elements: int) -> tuple[Array, Array, Array]:
        """Return views of the levels (2 per chunk, only with 2 bits), indices and packed values."""
        kept = kept_of(elements, self._chunk, self._kept)
        first = 8 * -(-elements // self._chunk) if self._bits == 2 else 0
        second = first + 4 * -(-kept // 2)
        packed = encoded[second : second + (-(-kept // 4) if self._bits == 2 else 4 * kept)]
        return encoded[:first].view(np.float32), encoded[first : first + 2 * kept].view(np.uint16), packed

    def _quantize(self, values: Array, elements: int, levels: Array, packed: Array) -> None:
        high, level = np.zeros(values.size, np.bool_), 0
        for _, taken, shape, count in self._parts(elements):
            rows = np.abs(values[taken]).reshape(-1, count)
            above = rows > rows.mean(axis=1, keepdims=True)
            high[taken] = above.reshape(-1)
            of_part = levels[level : level + 2 * shape[0]].reshape(-1, 2)
            for column, chosen in enumerate((~above, above)):
                of_part[:, column] = (rows * chosen).sum(axis=1) / np.maximum(chosen.sum(axis=1), 1)
            level += 2 * shape[0]
        packed[:] = np.packbits(np.stack([values < 0, high], axis=1).reshape(-1))

    def _restored(self, elements: int, levels: Array, packed: Array) -> Array:
        kept = kept_of(elements, self._chunk, self._kept)
        negative, high = np.unpackbits(packed, count=2 * kept).reshape(-1, 2).T
        values, level = np.empty(kept, np.float32), 0
        for _, taken, shape, count in self._parts(elements):
            of_part = levels[level : level + 2 * shape[0]].reshape(-1, 2)
            values[taken] = np.take_along_axis(of_part, high[taken].reshape(-1, count), axis=1).reshape(-1)
            level += 2 * shape[0]
        values[negative.astype(np.bool_)] *= -1
        return values


def _largest_of_rows(magnitudes: Array, count: int) -> Array:
    """Return (rows, count) ascending indices of the largest elements of each row."""
    rows, width = magnitudes.shape
    least = np.partition(magnitudes, width - count, axis=1)[:, width - count]
    chosen = magnitudes >= least[:, None]
    for row in np.flatnonzero(chosen.sum(axis=1) != count):  # equal magnitudes, or a NaN
        chosen[row] = False
        chosen[row, largest(magnitudes[row], count)] = True
    found: Array = np.nonzero(chosen)[1].reshape(rows, count)
    return found


class Cosines:
    """The orthonormal discrete cosine transform (DCT-II) of every chunk of a vector, and its inverse (DCT-III).

    y_0 = sum_n x_n / sqrt(N),   y_k = sqrt(2 / N) sum_n x_n cos(pi (2 n + 1) k / (2 N)).
    """

    def __init__(self, elements: int, chunk: int) -> None:
        whole = elements // chunk * chunk
        sizes = [(slice(0, whole), min(chunk, whole)), (slice(whole, elements), elements - whole)]
        self._parts = [(part, _matrix(size)) for part, size in sizes if size]

    def forward(self, x: Any, out: Any) -> None:
        """Write the coefficients of the vector x to `out`."""
        self._multiply(x, out, transposed=True)

    def inverse(self, y: Any, out: Any) -> None:
        """Write the vector with the coefficients y to `out`, formed in float64.

        Processors add in different orders: in float32 a few of 10^8 signs would differ between two kinds of hosts.
        """
        self._multiply(y, out, transposed=False)

    @np.errstate(invalid="ignore", over="ignore")  # what is not finite is noticed by the rank that uses it
    def _multiply(self, x: Any, out: Any, transposed: bool) -> None:
        taken, given = host(x), host(out)
        for part, matrix in self._parts:
            rows, result = (each[part].reshape(-1, len(matrix)) for each in (taken, given))
            if transposed:
                np.matmul(rows, matrix.T.astype(np.float32), out=result)
            else:
                result[:] = rows.astype(np.float64) @ matrix
        if out.is_cuda:
            out.copy_(tensor(given))


def _matrix(size: int) -> Array:
    """Return the matrix of the transform: a row for each coefficient."""
    n = np.arange(size)
    found = np.sqrt(2 / size) * np.cos(np.pi * (2 * n[None] + 1) * n[:, None] / (2 * size))
    found[0] = np.sqrt(1 / size)
    matrix: Array = found
    return matrix
