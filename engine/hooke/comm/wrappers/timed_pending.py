"""Background transfers and control words whose waits are charged."""

from __future__ import annotations

from collections.abc import Iterable

from hooke.comm.base import ANY, Control, ControlPending, Pending, Vector
from hooke.comm.wrappers.charge import Charged

_TICK = 1e-9
"""Seconds by which sums of times may differ through rounding."""


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
        self.due = float("-inf")
        """Train clock at which it would have been complete, if it was waited for while the clock stood."""
        self.again = False
        """Whether the method waits for it again after that."""
        self._waited = False

    def wait(self) -> None:
        """Return when the transfer is complete.

        While the clock stands, work of the rank itself in here is on the clock: conversions of what has arrived,
        and in virtual time what the transfer takes from the computation.
        """
        if self._waited:
            return
        timed, worked = self._timed, self._timed.account.worked
        asked, before = timed.clock(), worked() if worked else 0.0
        with timed.charged("wait for " + self._what, self._peer):
            self._inner.wait()
            observed = self._posted + self._inner.hidden
            complete = observed < asked - _TICK
            if timed.account.stood is not None and (complete or worked):
                timed.works(None if complete or not worked else asked + worked() - before)
        self._waited = True
        start = max(self._posted, timed.account.counted)
        hidden = timed.account.count(self._posted, min(observed, asked))
        self.hidden += hidden
        timed.ledger.hidden += hidden
        self._settle(observed if complete else timed.ledger.since)
        if timed.trace is not None:
            completed = observed if observed < asked else timed.ledger.since
            times = (self._posted, completed, asked, timed.ledger.since, start, min(observed, asked))
            timed.trace.transferred("begin " + self._what, timed.part, self._peer, times, self._x)

    def _settle(self, completed: float) -> None:
        """Note until when the transfer is owed if the clock stands; otherwise it no longer is."""
        account = self._timed.account
        if account.stood is None:
            account.owed = [owed for owed in account.owed if owed is not self]
            return
        stopped, train = account.stood
        self.due = max(self.due, train + completed - stopped)
        if self not in account.owed:
            account.owed.append(self)

    def resume(self, seconds: float) -> None:
        """Let the transfer be under way for `seconds` more: the train clock runs again."""
        timed = self._timed
        self._posted = timed.ledger.since
        self._inner, self._waited = _Rest(timed, self._posted + seconds), False
        timed.account.pending += 1


class _Rest:
    """What a transfer that was waited for while the clock stood still needs on the clock."""

    def __init__(self, timed: Charged, until: float) -> None:
        self._timed, self._posted, self._until = timed, timed.ledger.since, until
        self.hidden = 0.0
        """Seconds for which it was under way while the rank did something else."""

    def wait(self) -> None:
        """Return at its end; at once while the clock stands, because it has arrived and remains owed."""
        entered = self._timed.clock()
        self.hidden = max(0.0, min(self._until, entered) - self._posted)
        if self._until > entered and self._timed.account.stood is None:
            self._timed.inner.pause(self._until - entered)


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

    def watch(self, ranks: Iterable[int]) -> None:
        """Look whether processes of these ranks have ended."""
        self._inner.watch(ranks)

    def forget(self, rank: int) -> None:
        """Look no longer whether that of this one has."""
        self._inner.forget(rank)

    def without(self, ranks: Iterable[int]) -> None:
        """Leave these ranks out of all-reduces."""
        self._inner.without(ranks)


class _TimedWords:
    """A control broadcast whose wait is charged."""

    def __init__(self, inner: ControlPending, timed: Charged) -> None:
        self._inner = inner
        self._timed = timed

    def wait(self) -> tuple[float, ...]:
        """Return the words of rank 0."""
        with self._timed.charged("words wait"):
            return self._inner.wait()
