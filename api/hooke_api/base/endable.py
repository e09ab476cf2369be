"""Work of a thread that another thread can end: where its time is over, nobody waits for it any more.

Python ends it before its next line. A single call of C, such as the whole of a body whose models have no
validators of their own, is not interrupted: it ends with that call.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any


class Ended(BaseException):
    """The work was ended. No handler of ordinary errors takes it for one of them."""


class Endable:
    """A function without arguments that is called once, and may be ended meanwhile."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._thread: int | None = None
        """In which it runs; None: not yet, or not any more."""
        self._ended = False
        self._lock = threading.Lock()

    def __call__(self) -> Any:
        """Return what the work returns; None if it was ended."""
        try:
            with self._lock:
                if self._ended:  # before it had begun
                    return None
                self._thread = threading.get_ident()
            try:
                return self._work()
            finally:
                with self._lock:
                    self._thread = None  # from here on nobody ends it
                _raise(threading.get_ident(), None)  # that was about to: the thread has other work now
        except Ended:
            return None

    def end(self) -> None:
        """End the work if it runs, once; one that has not begun does not begin. The thread goes on behind it."""
        with self._lock:
            if self._thread is not None and not self._ended:
                _raise(self._thread, Ended)
            self._ended = True


def _raise(thread: int, what: type[BaseException] | None) -> None:
    """Have a thread raise an exception before its next line, or nothing any more."""
    kind = ctypes.py_object(what) if what is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), kind)
