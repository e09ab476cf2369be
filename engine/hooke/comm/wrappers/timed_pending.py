"""Background transfers and control words whose waits are charged."""

from __future__ import annotations

from hooke.comm.base import ANY, Control, ControlPending, Pending, Vector
from hooke.comm.wrappers.charge import Charged


class TimedPending:
    """A transfer whose wait is charged, and whose hidden time is added to the ledger.

    Time counts as hidden once, however many transfers are pending, and not while the rank was blocked in another
    operation. Exposed and hidden time together therefore never exceed wall time.
    """

    def __init__(self, inner: Pending, timed: Charged, what: str, peer: int, x: Vector) -> None:
        """`what`, `peer` and x: operation, other rank and vector, for the trace."""
        self._inner = inner
        self._timed = timed
        self._what, self._peer, self._x = what, peer, x
        self._posted = timed.ledger.since
        timed.account.pending += 1
        self.hidden = 0.0
        """Seconds that this transfer has added to the ledger."""
        self._waited = False

    def wait(self) -> None:
        """Return when the transfer is complete."""
        timed = self._timed
        asked = timed.clock()
        with timed.charged("wait for " + self._what, self._peer):
            self._inner.wait()
        if self._waited:
            return
        self._waited = True
        observed = self._posted + self._inner.hidden
        start = max(self._posted, timed.account.counted)
        self.hidden = timed.account.count(self._posted, min(observed, asked))
        timed.ledger.hidden += self.hidden
        if timed.trace is not None:
            completed = observed if observed < asked else timed.ledger.since
            times = (self._posted, completed, asked, timed.ledger.since, start, min(observed, asked))
            timed.trace.transferred("begin " + self._what, timed.part, self._peer, times, self._x)


class TimedControl:
    """Control words whose waits are charged."""

    def __init__(self, inner: Control, timed: Charged) -> None:
        self._inner = inner
        self._timed = timed

    def send(self, words: tuple[float, ...], to: int) -> None:
        """Send words to one rank; never blocks."""
        with self._timed.charged("words send", to):
            self._inner.send(words, to)

    def recv(self, source: int = ANY) -> tuple[int, tuple[float, ...]]:
        """Return (source, words) of the earliest message from `source`."""
        with self._timed.charged("words receive", source):
            sender, words = self._inner.recv(source)
            self._timed.found(sender)
            return sender, words

    def poll(self, source: int = ANY) -> tuple[int, tuple[float, ...]] | None:
        """Return (source, words) if a message has arrived, else None; not charged, because it never waits."""
        return self._inner.poll(source)

    def ibroadcast(self, words: tuple[float, ...] | None) -> ControlPending:
        """Post one broadcast from rank 0."""
        with self._timed.charged("words broadcast"):
            return _TimedWords(self._inner.ibroadcast(words), self._timed)

    def allreduce(self, words: tuple[float, ...]) -> tuple[float, ...]:
        """Return the sums over all ranks."""
        with self._timed.charged("words all-reduce"):
            return self._inner.allreduce(words)


class _TimedWords:
    """A control broadcast whose wait is charged."""

    def __init__(self, inner: ControlPending, timed: Charged) -> None:
        self._inner = inner
        self._timed = timed

    def wait(self) -> tuple[float, ...]:
        """Return the words of rank 0."""
        with self._timed.charged("words wait"):
            return self._inner.wait()
