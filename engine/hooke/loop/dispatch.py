"""The server's account of batches handed out: each once, and again only if its worker has left."""

from __future__ import annotations

from collections import deque
from typing import Any

Range = tuple[int, int]
"""First batch and number of batches."""


class Dispatch:
    """Who holds which batches of the run's sequence (`hooke.objective.dispatched`).

    Every worker begins with `per_step` batches (those of one step). A further grant is taken from what workers
    that left gave back, then from the sequence.
    """

    def __init__(self, workers: int, per_step: int) -> None:
        self._next, self._per_step = workers * per_step, per_step
        self._held: list[deque[int]] = [deque(range(i * per_step, (i + 1) * per_step)) for i in range(workers)]
        self._back: deque[int] = deque()
        self._latest: dict[int, list[int]] = {}
        """Batches of each worker that it has used, and whose update has not arrived."""
        self.returned = 0
        """Batches given back by workers that left."""

    def grant(self, worker: int, count: int) -> tuple[Range, int]:
        """Grant `count` batches; return the first range, and the first batch of the others (-1 if it has all)."""
        taken = self._contiguous(count)
        new = range(self._next, self._next + count - len(taken))
        self._next = new.stop
        self._held[worker].extend([*taken, *new])
        if not taken:
            return (new.start, count), -1
        return (taken[0], len(taken)), new.start if new else -1

    def _contiguous(self, most: int) -> list[int]:
        taken: list[int] = []
        while self._back and len(taken) < most and (not taken or self._back[0] == taken[-1] + 1):
            taken.append(self._back.popleft())
        return taken

    def words(self, worker: int, count: int) -> tuple[float, float, float]:
        """Grant `count` batches; return what the worker is told: first and number of a range, and `rest`."""
        (first, number), rest = self.grant(worker, count)
        return float(first), float(number), float(rest)

    def done(self, worker: int, batches: int) -> None:
        """Note that a worker has used that many of its batches, in their order."""
        self._latest.setdefault(worker, []).extend(self._held[worker].popleft() for _ in range(batches))

    def settled(self, worker: int) -> None:
        """Note that the update of all batches that a worker has used has arrived."""
        self._latest.pop(worker, None)

    def undone(self, worker: int) -> None:
        """Take back that a worker has used batches whose update has not arrived."""
        self._held[worker].extendleft(reversed(self._latest.pop(worker, [])))

    def left(self, worker: int) -> int:
        """Take back what a worker holds that leaves; return the number of batches."""
        back = len(self._held[worker])
        self.returned += back
        self._back.extend(self._held[worker])
        self._held[worker].clear()
        return back

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        held = [list(each) for each in self._held]
        return {"next": self._next, "held": held, "back": list(self._back), "returned": self.returned}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `state()` returned.

        Every worker begins with the batches of one step again (`hooke.objective.dispatched`): what it had beyond
        these, because it was cancelled within its period, is handed out first.
        """
        self._next, self.returned = int(state["next"]), int(state["returned"])
        self._held = [deque(each[: self._per_step]) for each in state["held"]]
        beyond = sorted(batch for each in state["held"] for batch in each[self._per_step :])
        self._back = deque([*state["back"], *beyond])
