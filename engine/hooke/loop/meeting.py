"""Meetings: workers of a method with a server wait for one another before a checkpoint."""

from __future__ import annotations

from hooke.loop import checkpoint
from hooke.loop.recorder import RecordedRank
from hooke.loop.server_worker import MET


class Meeting:
    """The server's side: the workers invited, the workers that have arrived, and whether a checkpoint is written.

    If a worker has left, or has been granted its last steps, before all have arrived, it will not arrive. Then no
    checkpoint is written, and the workers that have arrived continue at once.
    """

    def __init__(self, rank: RecordedRank) -> None:
        self._r = rank
        self._called = False
        self._invited: set[int] = set()
        self._here: list[int] = []

    def call(self) -> None:
        """From now on, invite every worker with its next reply."""
        self._called = True

    def invite(self, worker: int) -> bool:
        """Return whether the current reply to this worker invites it."""
        if self._called:
            self._invited.add(worker)
        return self._called

    def awaited(self, left: set[int]) -> bool:
        """Return whether every worker has been invited, so that no request can arrive."""
        return self._called and self._invited >= left

    def arrived(self, worker: int, left: set[int]) -> None:
        """Let a worker wait, or continue if the meeting was given up; write the checkpoint once all are here."""
        if not self._called:
            self._r.comm.control.send((0.0, MET, float(self._r.samples)), worker)
            return
        self._here.append(worker)
        if len(self._here) == len(left):
            self._dismiss(True)
            checkpoint.save(self._r)

    def give_up(self) -> None:
        """Let all continue, because a worker will not arrive; does nothing if no meeting has been called."""
        if self._called:
            self._dismiss(False)

    def _dismiss(self, together: bool) -> None:
        for worker in self._here:
            self._r.comm.control.send((float(together), MET, float(self._r.samples)), worker)
        self._called, self._invited, self._here = False, set(), []
