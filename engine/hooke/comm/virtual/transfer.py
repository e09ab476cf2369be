"""One rank's share of a vector transfer in virtual time."""

from __future__ import annotations

from hooke.comm.base import ANY
from hooke.comm.virtual.baton import Baton


class Transfer:
    """A `Pending` with the times of posting and end, and the part hidden behind other work.

    `hidden` is min(end, entry into wait) - post: the time saved compared with a blocking call.
    """

    def __init__(self, baton: Baton, owner: int, reason: str) -> None:
        self.hidden = 0.0
        self.busy = 0.0
        """Seconds that the transfer takes from the computation which it runs behind; `wait` adds them."""
        self.late = 0.0
        """Seconds by which it ends later than its messages, because the rank computes meanwhile."""
        self.source = ANY
        self.posted = baton.time[owner]
        self._baton = baton
        self._owner = owner
        self._reason = reason
        self._end: float | None = None
        self._asleep = False
        self._waited = False

    def finish(self, end: float) -> None:
        """Set the end time of the transfer, as soon as it is known."""
        self._end = end
        if self._asleep:
            self._baton.wake(self._owner, end)

    def wait(self) -> None:
        """Return when the transfer has ended; only the first call counts."""
        if self._waited:
            return
        self._baton.time[self._owner] += self.busy
        self._baton.worked[self._owner] += self.busy
        entered = self._baton.time[self._owner]
        if self._end is None:
            self._asleep = True
            self._baton.block(self._owner, self._reason)
        self._waited = True
        end = entered if self._end is None else self._end + self.late
        self.hidden = max(0.0, min(end, entered) - self.posted)
        self._baton.time[self._owner] = max(entered, end)
