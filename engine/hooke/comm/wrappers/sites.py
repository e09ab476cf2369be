"""Names of what a wire type remembers of a vector: the same in a resumed run.

A rank labels its vectors: `params`, `gradient`, the names of its states, and its buffers in the order in which a
method asks for them, which does not depend on the step. What is remembered of a labelled vector, or of a part of
it, has that name, whatever is sent first. Other vectors (such as host buffers of device vectors) are numbered in
the order of first use.
"""

from __future__ import annotations

from bisect import bisect_right, insort

from hooke.comm.arrays import Array


class Labels:
    """Names of vectors by their memory; shared by all communicators of a rank."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._known: dict[int, tuple[str, Array]] = {}

    def add(self, array: Array, name: str) -> None:
        """Label a vector, which is kept; a vector without elements has no memory to be known by."""
        start = array.ctypes.data
        if array.size and start not in self._known:
            insort(self._starts, start)
        if array.size:
            self._known[start] = (name, array)

    def of(self, array: Array) -> str | None:
        """Return the label of a vector, or of the one that it is a part of, with its elements; None if unknown."""
        start = array.ctypes.data
        position = bisect_right(self._starts, start) - 1
        if position < 0:
            return None
        name, whole = self._known[self._starts[position]]
        offset = (start - self._starts[position]) // whole.itemsize
        if offset + array.size > whole.size:
            return None
        return name if array.size == whole.size else f"{name}.{offset}-{offset + array.size}"


class Sites:
    """Names of pairs of an operation and a vector on one communicator."""

    def __init__(self, labels: Labels, prefix: str = "") -> None:
        self.labels = labels
        self.prefix = prefix
        self._names: dict[tuple[str, int, int], str] = {}
        self._used: dict[str, int] = {}

    def name(self, way: str, array: Array) -> str:
        """Return the name of a vector that takes part in an operation."""
        site = (way, array.ctypes.data, array.size)
        name = self._names.get(site)
        if name is None:
            label = self.labels.of(array)
            if label is None:
                number = self._used[way] = self._used.get(way, -1) + 1
                label = str(number)
            name = self._names[site] = f"{self.prefix}{way}.{label}"
        return name
