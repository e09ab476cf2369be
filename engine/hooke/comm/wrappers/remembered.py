"""What a compressed wire remembers of vectors, by name: estimates, sums, residuals and counts."""

from __future__ import annotations

import zlib

import numpy as np

from hooke.comm.arrays import Array
from hooke.comm.compressors import Compressor
from hooke.errors import CommError


def number_of(name: str) -> int:
    """Return the number that stands for a name, 32 bits."""
    return zlib.crc32(name.encode())


class Remembered:
    """Named vectors in `arrays`, which are part of checkpoints, and the encodings that read and change them.

    `seeds` are the numbers that, with a name and a count, determine every random rounding.
    """

    def __init__(
        self, arrays: dict[str, Array], compressor: Compressor, seeds: tuple[int, ...], feedback: bool
    ) -> None:
        self.compressor = compressor
        self._arrays = arrays
        self._seeds = seeds
        self._feedback = feedback
        self._spaces: dict[int, Array] = {}

    def has(self, name: str, what: str) -> bool:
        """Return whether there is such a vector."""
        return f"{name}.{what}" in self._arrays

    def vector(self, name: str, what: str, elements: int) -> Array:
        """Return the float32 vector; zeros if it is new. Raises CommError if it has another length."""
        key = f"{name}.{what}"
        found = self._arrays.get(key)
        if found is None:
            found = self._arrays[key] = np.zeros(elements, np.float32)
        elif found.size != elements:
            raise CommError(
                f"the {what} {name} has {found.size} elements, the vector {elements}: it was restored from a run "
                "whose ranks exchanged other vectors"
            )
        return found

    def next_count(self, name: str) -> int:
        """Return how many times this was called before for the name, and count."""
        count = self._arrays.setdefault(f"{name}.count", np.zeros(1, np.int64))
        count += 1
        return int(count[0]) - 1

    def encode_update(self, name: str, x: Array, out: Array, plain: bool) -> None:
        """Encode x plus its residual, and update the residual; without feedback, or `plain`, encode x."""
        if plain or not self._feedback:
            self._encode(name, x, out)
            return
        residual = self.vector(name, "residual", x.size)
        residual += x
        self._encode(name, residual, out)
        self.compressor.add(out, residual, -1)

    @np.errstate(invalid="ignore")
    def encode_difference(self, name: str, x: Array, estimate: Array, out: Array) -> None:
        """Encode x - estimate, and add what arrives to the estimate."""
        self._encode(name, np.subtract(x, estimate, out=self._space(x.size)), out)
        self.compressor.add(out, estimate)

    def encode_change(self, name: str, x: Array, total: Array, ranks: int, out: Array) -> None:
        """Encode x - total / ranks plus its residual, and update the residual."""
        change = np.multiply(total, np.float32(-1 / ranks), out=self._space(x.size))
        change += x
        self.encode_update(name, change, out, plain=False)

    def write(self, encoded: Array, estimate: Array | None, into: Array) -> None:
        """Write what has arrived to a vector: the estimate, which includes it already, or the decoded vector."""
        if estimate is not None:
            into[:] = estimate
            return
        into.fill(0)
        self.compressor.add(encoded, into)

    def _encode(self, name: str, x: Array, out: Array) -> None:
        draw = None
        if self.compressor.unbiased:  # rounds at random, in a way that a resumed run repeats
            seeds = [*self._seeds, number_of(name), self.next_count(name)]
            draw = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seeds)))
        self.compressor.encode(x, out, draw)

    def _space(self, elements: int) -> Array:
        space = self._spaces.get(elements)
        if space is None:
            space = self._spaces[elements] = np.zeros(elements, np.float32)
        return space
