"""Threads that run kernels over ranges.

A step consists of some fifteen calls of a millisecond or less. Threads therefore wait at one queue of the
interpreter, without an object per thread and call, and a call is over when its last range is: a thread that wakes
up too late to get one is not waited for. With 16 threads a pool of futures would cost more than the kernels.
"""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from hooke.errors import ArgumentError

FEW = 4
"""Threads up to which each has four ranges, so that none waits long for the others; more have two each, because
beginning a range costs some microseconds in which no other thread can begin one."""


class Threads:
    """`count` threads, the calling one among them, that run kernels over ranges.

    Kernels release the GIL. Results never depend on `count`: a range writes only what belongs to it, and sums
    over ranges are taken in the order of the ranges. Instances may be used from several threads. Threads are
    started by the first call that needs them, also in a forked process, and end with the instance.
    """

    def __init__(self, count: int = 1) -> None:
        if count < 1:
            raise ArgumentError(f"the number of threads is {count}; it must be at least 1")
        self.count = count
        self._waiting: SimpleQueue[_Call | None] = SimpleQueue()
        self._started, self._starting = 0, threading.Lock()

    def over(self, n: int, work: Callable[[int, int], object], grain: int = 1) -> None:
        """Call `work(begin, end)` on ranges that together are range(n), of at least `grain` if n is.

        Raises the first exception of `work`, when the other ranges are over.
        """
        each = 1 if self.count == 1 else 4 if self.count <= FEW else 2
        pieces = min(each * self.count, max(1, n // grain))
        if pieces == 1:
            work(0, n)
            return
        if self._started != os.getpid():  # never, or by the process that this one was forked from
            self._start()
        call = _Call(n, pieces, work)
        for _ in range(min(self.count, pieces) - 1):
            self._waiting.put(call)
        call.take()
        call.over.acquire()
        if call.error is not None:
            raise call.error

    def _start(self) -> None:
        with self._starting:
            if self._started == os.getpid():
                return
            self._waiting = SimpleQueue()  # nobody waits at that of another process
            for number in range(self.count - 1):
                name = f"hashing-{number}"
                threading.Thread(target=_serve, args=(self._waiting,), name=name, daemon=True).start()
            weakref.finalize(self, _end, self._waiting, self.count - 1)
            self._started = os.getpid()


class _Call:
    """One call of `over`: ranges that whoever is free takes."""

    def __init__(self, n: int, pieces: int, work: Callable[[int, int], object]) -> None:
        self._n, self._pieces, self._work = n, pieces, work
        self._next, self._ended = iter(range(pieces)), itertools.count(1)  # next() is atomic for both
        self.error: BaseException | None = None
        self.over = threading.Lock()
        """Held until the last range is over."""
        self.over.acquire()

    def take(self) -> None:
        """Carry out ranges until none is left."""
        for piece in self._next:
            try:
                self._work(self._n * piece // self._pieces, self._n * (piece + 1) // self._pieces)
            except BaseException as error:  # noqa: BLE001 - raised by the thread that called `over`
                self.error = self.error or error
            if next(self._ended) == self._pieces:
                self.over.release()


def _serve(waiting: SimpleQueue[_Call | None]) -> None:
    """Carry out calls until None comes: a thread, which keeps no reference to its `Threads`."""
    while (call := waiting.get()) is not None:
        call.take()
        del call  # and with it the arrays of its kernel, while this waits


def _end(waiting: SimpleQueue[_Call | None], threads: int) -> None:
    for _ in range(threads):
        waiting.put(None)


ONE = Threads(1)
