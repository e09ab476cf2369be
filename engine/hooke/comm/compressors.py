"""Compressors: lossy encodings of float32 vectors, whose length in bytes depends on the number of elements only.

    int8    blocks of 512 elements, each with a scale s = max |x| / 127: x / s is rounded to one of the two nearest
            integers, at random, such that the expectation is x. |C(x) - x| < s for every element. QSGD (D.
            Alistarh et al. 2017, arXiv 1610.02132) with 127 levels, the maximum norm and buckets of 512.
    sign    blocks of 512 elements, each with a scale s = mean |x|: one bit per element, s or -s; 0 is sent as s.
            |C(x) - x|^2 = |x|^2 - |x|_1^2 / n in a block of n (S. P. Karimireddy et al. 2019, arXiv 1901.09847).
    top-k   the max(1, round(share n)) elements of largest magnitude, as float32 with their indices; the others are
            0. |C(x) - x|^2 <= (1 - k / n) |x|^2 (S. U. Stich et al. 2018, arXiv 1809.07599). Of equal magnitudes
            the first are sent.

NaN and Inf arrive as a value that is not finite. Blocks are processed 64 Ki elements at a time, in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

import numpy as np

from hooke.comm.arrays import Array

CompressedType = Literal["int8", "sign", "top-k"]

BLOCK = 512
"""Elements that share a scale."""
_ROWS = 128  # blocks that are processed together
_MOST = np.float32(127)
_CHANCE = np.float32(2**-16)  # resolution of the random numbers: the expectation is exact to s / 2^17
_SMALLEST = np.float32(1e-35)  # a scale below has no finite inverse in float32: the block is sent as zeros


class Compressor(Protocol):
    """An encoding; `unbiased` if the expectation of what arrives is the vector."""

    unbiased: bool

    def size(self, elements: int) -> int:
        """Return the bytes of an encoded vector, a multiple of 4."""

    def encode(self, x: Array, out: Array, draw: np.random.Generator | None) -> None:
        """Write the encoded float32 vector to `out`, of `size` bytes; an unbiased one needs random numbers."""

    def add(self, encoded: Array, into: Array, factor: int = 1) -> None:
        """Add the decoded vector to `into`; subtract it with factor -1."""


def compressor(kind: CompressedType, share: float) -> Compressor:
    """Return a compressor with buffers of its own; `share` is that of top-k."""
    return TopK(share) if kind == "top-k" else Int8() if kind == "int8" else Sign()


def _blocks(elements: int) -> int:
    return -(-elements // BLOCK)


def _rows(elements: int) -> Iterator[tuple[slice, slice, tuple[int, int]]]:
    """Yield (elements, blocks, shape) of pieces of whole blocks, then of the last, shorter block."""
    whole = elements // BLOCK
    for first in range(0, whole, _ROWS):
        last = min(first + _ROWS, whole)
        yield slice(first * BLOCK, last * BLOCK), slice(first, last), (last - first, BLOCK)
    if rest := elements - whole * BLOCK:
        yield slice(whole * BLOCK, elements), slice(whole, whole + 1), (1, rest)


class _Scaled:
    """An encoding in blocks: a float32 scale for each, then the packed elements."""

    def __init__(self) -> None:
        self._spaces = [np.zeros(_ROWS * BLOCK, np.float32) for _ in range(2)]

    def size(self, elements: int) -> int:
        """Return the bytes of an encoded vector."""
        return 4 * _blocks(elements) + -(-self._packed(elements) // 4) * 4

    def _packed(self, elements: int) -> int:
        raise NotImplementedError

    def _split(self, encoded: Array, elements: int) -> tuple[Array, Array]:
        """Return views of the scales and of the packed elements."""
        cut = 4 * _blocks(elements)
        return encoded[:cut].view(np.float32), encoded[cut : cut + self._packed(elements)]

    def _space(self, shape: tuple[int, int], number: int = 0) -> Array:
        return self._spaces[number][: shape[0] * shape[1]].reshape(shape)


def _uniform(draw: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return random uint16: a quarter of the numbers that float32 would need, and 5 times as fast."""
    count = shape[0] * shape[1]
    return draw.bit_generator.random_raw(-(-count // 4)).view(np.uint16)[:count].reshape(shape)


class Int8(_Scaled):
    """Integers from -127 to 127, rounded at random."""

    unbiased = True

    def _packed(self, elements: int) -> int:
        return elements

    def encode(self, x: Array, out: Array, draw: np.random.Generator | None) -> None:
        """Write the encoded vector to `out`."""
        if draw is None:
            raise ValueError("int8 rounds at random: encode needs a generator")
        scales, packed = self._split(out, x.size)
        for part, blocks, shape in _rows(x.size):
            rows, level, chance = x[part].reshape(shape), self._space(shape), self._space(shape, 1)
            scale = np.abs(rows, out=level).max(axis=1) / _MOST
            scale[scale < _SMALLEST] = 0  # a NaN stays
            scales[blocks] = scale
            inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
            np.multiply(_uniform(draw, shape), _CHANCE, out=chance)
            with np.errstate(invalid="ignore"):  # the scale says that there is a NaN or Inf
                np.multiply(rows, inverse[:, None], out=level)
                level += chance
                level += _CHANCE / 2
                np.minimum(np.floor(level, out=level), _MOST, out=level)
                packed[part] = level.astype(np.int8).view(np.uint8).reshape(-1)

    @np.errstate(invalid="ignore", over="ignore")  # what is not finite is noticed by the rank that uses it
    def add(self, encoded: Array, into: Array, factor: int = 1) -> None:
        """Add the decoded vector, times the factor."""
        scales, packed = self._split(encoded, into.size)
        for part, blocks, shape in _rows(into.size):
            level, scale = self._space(shape), scales[blocks, None] * np.float32(factor)
            np.multiply(packed[part].view(np.int8).reshape(shape), scale, out=level)
            into[part] += level.reshape(-1)


class Sign(_Scaled):
    """One bit per element."""

    unbiased = False

    def _packed(self, elements: int) -> int:
        return -(-elements // 8)

    def encode(self, x: Array, out: Array, draw: np.random.Generator | None) -> None:
        """Write the encoded vector to `out`."""
        del draw
        scales, packed = self._split(out, x.size)
        for part, blocks, shape in _rows(x.size):
            rows = x[part].reshape(shape)
            scales[blocks] = np.abs(rows, out=self._space(shape)).mean(axis=1)
            packed[part.start // 8 : -(-part.stop // 8)] = np.packbits(rows >= 0, axis=1).reshape(-1)

    @np.errstate(invalid="ignore", over="ignore")  # what is not finite is noticed by the rank that uses it
    def add(self, encoded: Array, into: Array, factor: int = 1) -> None:
        """Add the decoded vector, times the factor."""
        scales, packed = self._split(encoded, into.size)
        for part, blocks, shape in _rows(into.size):
            bits, level = packed[part.start // 8 : -(-part.stop // 8)], self._space(shape)
            scale = scales[blocks, None] * np.float32(factor)
            ones = np.unpackbits(bits.reshape(shape[0], -1), axis=1, count=shape[1])
            np.multiply(ones, 2 * scale, out=level)
            level -= scale
            into[part] += level.reshape(-1)


class TopK:
    """The elements of largest magnitude: float32 values, then indices of 4 bytes, ascending."""

    unbiased = False

    def __init__(self, share: float) -> None:
        self._share = share
        self._magnitudes = np.zeros(0, np.float32)

    def count(self, elements: int) -> int:
        """Return how many elements are sent."""
        return min(elements, max(1, round(self._share * elements)))

    def size(self, elements: int) -> int:
        """Return the bytes of an encoded vector."""
        return 8 * self.count(elements)

    def encode(self, x: Array, out: Array, draw: np.random.Generator | None) -> None:
        """Write the encoded vector to `out`."""
        del draw
        if self._magnitudes.size < x.size:
            self._magnitudes = np.zeros(x.size, np.float32)
        kept = self.count(x.size)
        chosen = largest(np.abs(x, out=self._magnitudes[: x.size]), kept)
        out[: 4 * kept].view(np.float32)[:] = x[chosen]
        out[4 * kept :].view(np.uint32)[:] = chosen

    @np.errstate(invalid="ignore", over="ignore")  # what is not finite is noticed by the rank that uses it
    def add(self, encoded: Array, into: Array, factor: int = 1) -> None:
        """Add the decoded vector, times the factor."""
        kept = encoded.size // 8
        values = encoded[: 4 * kept].view(np.float32)
        into[encoded[4 * kept :].view(np.uint32)] += values * np.float32(factor)


def largest(magnitudes: Array, count: int) -> Array:
    """Return the indices of the `count` largest, ascending; NaN is the largest, and of equal ones the first."""
    least = np.partition(magnitudes, magnitudes.size - count)[magnitudes.size - count]
    if np.isnan(least):
        return np.flatnonzero(np.isnan(magnitudes))[:count]
    found = np.flatnonzero(~(magnitudes < least))  # a NaN is not less
    if surplus := found.size - count:
        found = np.setdiff1d(found, np.flatnonzero(magnitudes == least)[-surplus:], assume_unique=True)
    return found
