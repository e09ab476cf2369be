"""One rank's rounds of a collective, executed over MPI step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from mpi4py import MPI

from hooke.comm.arrays import Array
from hooke.comm.elements import add, portable
from hooke.comm.mpi.wait import Patience
from hooke.comm.schedule import Round
from hooke.errors import CommError

_TAG = 0
"""Tag of all rounds; control words on the same communicator have a different one."""


class Scratch:
    """Receive buffers for summands: one per element type, which grows to the longest part seen."""

    def __init__(self) -> None:
        self._buffers: dict[np.dtype[np.generic], Array] = {}

    def array(self, like: Array, elements: int) -> Array:
        """Return `elements` elements of the type of `like`, valid until the next call."""
        buffer = self._buffers.get(like.dtype)
        if buffer is None or buffer.size < elements:
            buffer = self._buffers[like.dtype] = np.zeros(elements, like.dtype)
        return buffer[:elements]


class Exchange:
    """Executes rounds on `array`; call `step` until it returns True.

    A communicator carries one exchange at a time, and pairs list their common rounds in the same order, so
    messages match by order and need no tags of their own.
    """

    def __init__(self, comm: MPI.Intracomm, rounds: Sequence[Round], array: Array, scratch: Scratch) -> None:
        self._comm = comm
        self._array = array
        self.elements = array.size
        self._scratch = scratch
        self._rounds: Iterator[Round] = iter(rounds)
        self._requests: list[MPI.Request] = []
        self._add: tuple[Array, Array] | None = None
        self.begun = 0
        """Rounds begun so far: lets a polling caller detect progress."""

    def run(self, patience: Patience) -> None:
        """Execute all rounds; the back-off restarts with each round."""
        backoff, begun = patience.backoff(), 0
        try:
            while not self.step():
                if self.begun != begun:
                    begun = self.begun
                    backoff.reset()
                backoff.rest()
        except MPI.Exception as error:
            raise CommError(f"MPI reports: {error}") from error

    def step(self) -> bool:
        """Advance as far as possible without waiting; return whether all rounds are done."""
        while True:
            while self._requests:  # one by one: otherwise MPI does not report which error it was
                if not self._requests[-1].Test():
                    return False
                self._requests.pop()
            if self._add is not None:
                target, arrived = self._add
                add(target, arrived)
                self._add = None
            following = next(self._rounds, None)
            if following is None:
                return True
            self._begin(following)

    def _begin(self, following: Round) -> None:
        self.begun += 1
        part = following.receive
        if part is not None:
            into = self._array[part.start : part.stop]
            if following.add:
                target, into = into, self._scratch.array(self._array, len(part))
                self._add = (target, into)
            self._requests.append(self._comm.Irecv(portable(into), following.source, _TAG))
        part = following.send
        if part is not None:
            offered = portable(self._array[part.start : part.stop])
            self._requests.append(self._comm.Isend(offered, following.peer, _TAG))
