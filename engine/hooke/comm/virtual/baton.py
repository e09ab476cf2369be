"""Scheduling of the virtual world: threads that take turns in the order of virtual time.

Every rank is a thread, and only the holder of the baton runs. Before an operation that others can observe, a rank
calls `turn`, which passes the baton to the ready rank with the least virtual time, ties to the lowest rank.
Operations therefore take place in the order of virtual time, independently of the operating system, and nothing
at time t depends on anything after t.

Work that uses nothing of other ranks, such as a gradient, may take place without the baton (`alongside`): its
virtual time has been charged before, so the turn at which it must have ended is known when it begins.

The baton is passed by releasing the lock on which the next rank sleeps, one `threading.Lock` per rank.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from typing import TypeVar

from hooke.errors import CommError, Deadlock

T = TypeVar("T")

_EVENT = -1  # sorts before every rank at the same time


class Stopped(CommError):
    """Another rank of the virtual world failed, so this one cannot continue; `run` raises the cause."""


class Baton:
    """The turns and clocks of `size` ranks, and events that happen between their turns."""

    def __init__(self, size: int, cores: int = 1) -> None:
        """`cores`: how much work goes on alongside the holder of the baton; 1: none."""
        self.size = size
        self._places = threading.BoundedSemaphore(cores) if cores > 1 and size > 1 else None
        self.time = [0.0] * size
        self.worked = [0.0] * size
        """Seconds that transfers behind a computation have taken from each rank itself, in its waits for them."""
        self.failure: BaseException | None = None
        self._failed_rank: int | None = None
        self._agenda: list[tuple[float, int, int, Callable[[float], None] | None]] = []
        self._sequence = 0
        self._blocked: dict[int, str] = {}
        self._ended: set[int] = set()
        self._locks = [threading.Lock() for _ in range(size)]
        self._over = threading.Lock()

    # -- what a rank calls ------------------------------------------------------------------------------

    def charge(self, rank: int, seconds: float) -> None:
        """Advance the clock of the running rank; visible to others at its next turn."""
        if seconds < 0:
            raise ValueError(f"rank {rank}: cannot charge negative time ({seconds} s)")
        self._check()
        self.time[rank] += seconds

    def turn(self, rank: int) -> None:
        """Return when no other rank or event precedes the running rank."""
        self._check()
        while self._agenda and self._agenda[0][:2] < (self.time[rank], rank):
            if self._agenda[0][1] == _EVENT:
                self._happen()
            else:
                self._schedule(self.time[rank], rank)
                self._hand_on(rank)
            self._check()

    def alongside(self, rank: int, work: Callable[[], T]) -> T:
        """Return `work()`, which takes place in the thread of the running rank while those before it go on.

        The baton is passed on as at a turn, and this returns when it has come back and the work has ended.
        Operations take place in the same order as without. An exception is raised in the turn of the rank; if
        another rank has failed before it in virtual time, that failure counts.
        """
        self._check()
        if self._places is None:
            return work()
        self._schedule(self.time[rank], rank)
        following = self._next()
        if following == rank or following is None:
            return work()
        self._locks[following].release()
        try:
            with self._places:
                return work()
        finally:
            self._locks[rank].acquire()
            self._check()

    def block(self, rank: int, reason: str) -> None:
        """Let others run until `wake(rank, ...)` is called; `reason` is for the deadlock report."""
        self._blocked[rank] = reason
        self._hand_on(rank)
        self._check()

    def wake(self, rank: int, time: float) -> None:
        """Make a blocked rank ready at `time`, or at its own if that is later."""
        del self._blocked[rank]
        self.time[rank] = max(self.time[rank], time)
        self._schedule(self.time[rank], rank)

    def at(self, time: float, event: Callable[[float], None]) -> None:
        """Call `event(time)` when every rank before that time has had its turn."""
        self._sequence += 1
        heapq.heappush(self._agenda, (time, _EVENT, self._sequence, event))

    # -- running all ranks ------------------------------------------------------------------------------

    def run(self, main: Callable[[int], T]) -> list[T]:
        """Run `main(rank)` on every rank and return their results; the first failure ends all ranks.

        The exception of the rank that failed first is raised, with a note that names the rank.
        """
        results: dict[int, T] = {}
        threads = [
            threading.Thread(target=self._live, args=(r, main, results), name=f"virtual-rank-{r}", daemon=True)
            for r in range(self.size)
        ]
        for lock in (*self._locks, self._over):
            lock.acquire()
        for rank, thread in enumerate(threads):
            self._schedule(0.0, rank)
            thread.start()
        try:
            self._pass_to_next()
            self._over.acquire()
        except BaseException as error:  # a signal handler raised here: end the ranks before passing it on
            self.failure = self.failure or error
            raise
        finally:
            for thread in threads:
                thread.join()
        if self.failure is not None:
            if self._failed_rank is not None:
                self.failure.add_note(f"raised by rank {self._failed_rank} of {self.size} in the virtual world")
            raise self.failure
        return [results[rank] for rank in range(self.size)]

    def _live(self, rank: int, main: Callable[[int], T], results: dict[int, T]) -> None:
        self._locks[rank].acquire()
        try:
            if self.failure is None:
                results[rank] = main(rank)
        except BaseException as error:  # not swallowed: `run` raises it
            if self.failure is None:
                self.failure, self._failed_rank = error, rank
        self._ended.add(rank)
        self._pass_to_next()

    def _check(self) -> None:
        if self.failure is None:
            return
        if isinstance(self.failure, Deadlock):
            raise Deadlock(str(self.failure))
        where = "" if self._failed_rank is None else f"rank {self._failed_rank}: "
        raise Stopped(f"the virtual world has stopped: {where}{self.failure!r}")

    # -- passing the baton ------------------------------------------------------------------------------

    def _schedule(self, time: float, rank: int) -> None:
        heapq.heappush(self._agenda, (time, rank, 0, None))

    def _happen(self) -> None:
        time, _, _, event = heapq.heappop(self._agenda)
        if event is None:
            return
        try:
            event(time)
        except BaseException as error:  # of an event, not of a rank: every rank sees it at its next operation
            self.failure = self.failure or error

    def _next(self) -> int | None:
        """Return the rank that runs next, or None when every rank has ended."""
        while self._agenda:
            if self._agenda[0][1] != _EVENT:
                return heapq.heappop(self._agenda)[1]
            if self.failure is None:
                self._happen()
            else:
                heapq.heappop(self._agenda)
        if not self._blocked:
            return None
        if self.failure is None:
            self.failure = Deadlock(self._report())
        # Ranks wake up one after the other, in order of rank, and see the failure.
        rank = min(self._blocked)
        del self._blocked[rank]
        return rank

    def _hand_on(self, rank: int) -> None:
        """Pass the baton on and return when it comes back."""
        following = self._next()
        if following == rank:
            return
        if following is not None:
            self._locks[following].release()
        self._locks[rank].acquire()

    def _pass_to_next(self) -> None:
        following = self._next()
        (self._over if following is None else self._locks[following]).release()

    def _report(self) -> str:
        lines = [f"rank {r} (at {self.time[r]:.9g} s) waits {why}" for r, why in sorted(self._blocked.items())]
        lines += [f"rank {r} has ended" for r in sorted(self._ended)]
        return "every rank of the virtual world waits for another: " + "; ".join(lines)
