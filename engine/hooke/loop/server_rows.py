"""What comes with requests to a server: a vector or none, and the ids of rows, where only touched rows travel."""

from __future__ import annotations

from collections.abc import Sequence

from hooke.comm.base import Vector
from hooke.comm.touched import Touched, front, packed
from hooke.comm.union import hear, tell
from hooke.loop.state import RankState


class Brought:
    """What the latest request came with, and for each worker the rows of its latest request; None: all."""

    def __init__(self, r: RankState) -> None:
        self._r, self._of = r, dict[int, Touched | None]()
        self._ids_follow = False
        self.vector = False
        """Whether it came with a vector."""
        self.rows: Touched | None = None
        """The rows that it is about."""
        self.told: Touched | None = None
        """The rows that the next reply returns and tells; None: those that the request is about."""

    def expect(self, words: Sequence[float], farewell: bool) -> None:
        """Read from the further control words of a message what follows them; a farewell may have a vector."""
        self.vector = bool(words and words[0]) or farewell
        self._ids_follow = len(words) > 1 and bool(words[1])

    def hear(self, worker: int) -> None:
        """Receive the ids that follow, if any."""
        self.rows = hear(self._r.comm, self._r.layout, worker) if self._ids_follow else None
        self._of[worker] = self.rows

    def receive(self, into: Vector, worker: int) -> Vector:
        """Receive the rows of a worker's latest request, packed, in the front of a vector; return them."""
        into = front(into, self._of.get(worker))
        self._r.comm.recv(into, worker)
        return into

    def reply(self, vector: Vector, worker: int) -> None:
        """Send these rows of a vector to the worker; those that it is to be told with their ids."""
        rows = self._of.get(worker) if self.told is None else self.told
        for pending in [] if self.told is None else tell(self._r.comm, self.told, worker):
            pending.wait()
        self._r.comm.send(packed(vector, rows), worker)
