"""Where workers wait for one another before a checkpoint of a method with a server."""

from __future__ import annotations

from hooke.loop import checkpoint
from hooke.loop.recorder import RecordedRank
from hooke.loop.server_worker import MET


class Meeting:
    """The server's side: whom it has invited, who has come, and whether it comes to a checkpoint.

    It does not where a worker has left, or has been granted its last steps, before all have come: that worker
    will not come any more. Who has come then goes on at once.
    """

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank
        self._called = False
        self._invited: set[int] = set()
        self._here: list[int] = []

    def call(self) -> None:
        """From now on, invite every worker that is answered."""
        self._called = True

    def invite(self, worker: int) -> bool:
        """Return whether this worker, being answered now, is to come."""
        if self._called:
            self._invited.add(worker)
        return self._called

    def awaited(self, left: set[int]) -> bool:
        """Return whether every worker has been invited, so that no request can come."""
        return self._called and self._invited >= left

    def arrived(self, worker: int, left: set[int]) -> None:
        """Let a worker wait; once all are here, write the checkpoint, or let them go on where it was given up."""
        if not self._called:
            self._r.comm.control.send((0.0, MET, float(self._r.samples)), worker)
            return
        self._here.append(worker)
        if len(self._here) == len(left):
            self._dismiss(True)
            checkpoint.save(self._r)

    def give_up(self) -> None:
        """Let everybody go on, because a worker will not come; nothing where no meeting has been called."""
        if self._called:
            self._dismiss(False)

    def _dismiss(self, together: bool) -> None:
        for worker in self._here:
            self._r.comm.control.send((float(together), MET, float(self._r.samples)), worker)
        self._called, self._invited, self._here = False, set(), []
