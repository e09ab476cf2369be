"""The progress thread, which advances nonblocking operations while the rank computes.

MPI transfers large messages only inside its calls, so without this thread a nonblocking operation would run
inside `wait`, after the computation that it should overlap. The thread executes one all-reduce after the other, in
the order posted, on a separate communicator, and tests point-to-point requests.

It needs the interpreter for microseconds at a time and sleeps between polls, because every poll takes the core
from the computation. It records the duration of each round of a sum of a given length, and polls rarely before
that time and frequently around it, so that the next round starts as soon as the previous one has ended. A rank
that computes in Python could still keep the interpreter for 5 ms at a time, so the first job shortens Python's
switch interval to 0.5 ms.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Protocol

from mpi4py import MPI

from hooke.comm.mpi.exchange import Exchange
from hooke.comm.mpi.wait import Patience, sleep_precisely
from hooke.errors import CommError

SWITCH_INTERVAL = 5e-4
"""Python's switch interval while the thread runs, s: how long one thread may keep the interpreter."""


class BackgroundJob(Protocol):
    """A job of the progress thread."""

    ordered: bool
    """Whether it must wait for those posted before it."""
    wanted: bool
    """Whether the rank waits for it."""

    @property
    def stage(self) -> tuple[int, int]:
        """Return the length of its vector and the number of its rounds begun so far."""

    def step(self) -> bool:
        """Advance without waiting; return whether it is complete."""

    def fail(self, error: BaseException) -> None:
        """Mark the job as failed."""


class BackgroundSum:
    """An all-reduce executed by the progress thread; a `Pending`."""

    ordered = True

    def __init__(self, exchange: Exchange) -> None:
        self.hidden = 0.0
        self.wanted = False
        self._exchange = exchange
        self._posted = time.perf_counter()
        self._completed: float | None = None
        self._error: BaseException | None = None
        self._over = threading.Lock()
        self._over.acquire()
        self._waited = False

    @property
    def stage(self) -> tuple[int, int]:
        """Return the length of the vector and the number of rounds begun so far."""
        return self._exchange.elements, self._exchange.begun

    def step(self) -> bool:
        """Advance the rounds; called by the thread."""
        if not self._exchange.step():
            return False
        self._completed = time.perf_counter()
        self._over.release()
        return True

    def fail(self, error: BaseException) -> None:
        """Mark the sum as failed; called by the thread."""
        self._error = error
        self._over.release()

    def wait(self) -> None:
        """Return when the sum is complete; raises CommError if the thread failed."""
        if not self._waited:
            entered = time.perf_counter()
            self.wanted = True
            self._over.acquire()
            self._waited = True
            if self._completed is not None:
                self.hidden = max(0.0, min(self._completed, entered) - self._posted)
        if self._error is not None:
            raise CommError(f"the all-reduce in the background failed: {self._error}") from self._error


class BackgroundMessage:
    """A pending send or receive; a `Pending`. Thread and rank may both test it, one at a time."""

    ordered = False
    stage = (0, 0)

    def __init__(self, request: MPI.Request, patience: Patience, what: str) -> None:
        self.hidden = 0.0
        self.wanted = False
        self.status = MPI.Status()
        self._request = request
        self._patience = patience
        self._what = what
        self._posted = time.perf_counter()
        self._completed: float | None = None
        self._error: BaseException | None = None
        self._mutex = threading.Lock()
        self._waited = False

    def step(self) -> bool:
        """Test the request, unless the other thread is doing so."""
        if self._completed is not None or self._error is not None:
            return True
        if not self._mutex.acquire(blocking=False):
            return False
        try:
            if self._completed is None and self._request.Test(self.status):
                self._completed = time.perf_counter()
        except MPI.Exception as error:
            self._error = error
        finally:
            self._mutex.release()
        return self._completed is not None or self._error is not None

    def fail(self, error: BaseException) -> None:
        """Note that the thread has died; the rank continues to test the request itself."""

    def wait(self) -> None:
        """Return when the transfer is complete; raises CommError if it failed."""
        if not self._waited:
            entered = time.perf_counter()
            self.wanted = True
            self._patience.until(self.step)
            self._waited = True
            if self._completed is not None:
                self.hidden = max(0.0, min(self._completed, entered) - self._posted)
        if self._error is not None:
            raise CommError(f"{self._what} failed: {self._error}") from self._error


class Progress:
    """The thread and its inbox; the thread starts with the first job and ends with `close`."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._inbox: SimpleQueue[BackgroundJob | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] | None = None

    def submit(self, job: BackgroundJob) -> None:
        """Add a job."""
        if self._thread is None:
            # A daemon, so that a rank that fails can leave; the finalizer ends it before MPI is finalized.
            sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
            worker = _Worker(self._inbox, self._patience)
            self._thread = threading.Thread(target=worker.run, name="progress", daemon=True)
            self._thread.start()
            self._stop = weakref.finalize(self, _stop, self._inbox, self._thread)
        self._inbox.put(job)

    def close(self) -> None:
        """End the thread when its jobs are done."""
        if self._stop is not None:
            self._stop()


def _stop(inbox: SimpleQueue[BackgroundJob | None], thread: threading.Thread) -> None:
    inbox.put(None)
    thread.join(timeout=2.0)


class _Worker:
    """The body of the thread."""

    def __init__(self, inbox: SimpleQueue[BackgroundJob | None], patience: Patience) -> None:
        self._inbox = inbox
        self._backoff = patience.backoff()
        self._took: dict[tuple[int, int], float] = {}
        """Stage of a sum -> seconds that it took the last time."""
        self._sums: deque[BackgroundJob] = deque()
        self._messages: list[BackgroundJob] = []
        self._open = True

    def run(self) -> None:
        sleep_precisely()
        while self._open:
            self._take(self._inbox.get())
            self._carry_on()

    def _take(self, job: BackgroundJob | None) -> None:
        if job is None:
            self._open = False
        elif job.ordered:
            self._sums.append(job)
        else:
            self._messages.append(job)

    def _carry_on(self) -> None:
        """Run until no job is left."""
        self._backoff.reset()
        while (self._sums or self._messages) and self._open:
            if self._take_all():
                self._backoff.reset()
            self._step_messages()
            self._step_sums()
            if self._sums:
                first = self._sums[0]
                self._backoff.rest(first.wanted, self._took.get(first.stage))
            elif self._messages:
                self._backoff.rest(needed=False)

    def _take_all(self) -> bool:
        """Fetch newly submitted jobs; return whether there were any."""
        taken = False
        while True:
            try:
                self._take(self._inbox.get_nowait())
            except Empty:
                return taken
            taken = True

    def _step_messages(self) -> None:
        """Test every message that the rank is not testing itself."""
        self._messages = [job for job in self._messages if not (job.wanted or job.step())]

    def _step_sums(self) -> None:
        """Advance the first sum, and the following ones as far as sums complete."""
        while self._sums:
            first = self._sums[0]
            stage = first.stage
            try:
                complete = first.step()
            except BaseException as error:  # not swallowed: `wait` raises it, for this sum and those after it
                while self._sums:
                    self._sums.popleft().fail(error)
                return
            if complete or first.stage != stage:
                self._took[stage] = self._backoff.waited
                self._backoff.reset()
            if not complete:
                return
            self._sums.popleft()
