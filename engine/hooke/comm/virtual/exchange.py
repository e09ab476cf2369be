"""Background exchange with a window in virtual time: a chain of events concurrent with the rank's own work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hooke.comm.arrays import Array, array_of, check_length
from hooke.comm.elements import add_scaled
from hooke.comm.virtual.group import Group
from hooke.comm.virtual.transfer import Transfer


class WindowMemory(Protocol):
    """The location of a window, and the time of reading and adding there."""

    group: Group
    me: int
    place: int
    shared: bool

    def arrival(self, now: float, array: Array) -> float:
        """Return the time at which a vector sent by this rank now has been added."""

    def access_seconds(self, count: int, array: Array) -> float:
        """Return the seconds of `count` passes over memory."""

    def pieces(self, array: Array) -> list[tuple[slice, float]]:
        """Return the pieces in which a plain addition processes a vector, and the seconds of each."""


class VirtualExchange(Transfer):
    """The result of `VirtualWindow.iexchange`. The arithmetic of `answer` is charged to the step, not here."""

    def __init__(
        self,
        window: WindowMemory,
        memory: Array,
        into: Array,
        answer: Callable[[], Any],
        alpha: float | None,
        at: Any = None,
    ) -> None:
        super().__init__(window.group.baton, window.me, "for an exchange with a window")
        self._window, self._memory, self._into = window, memory, into
        self._answer, self._alpha, self._at = answer, alpha, at
        self._error: Exception | None = None

    def begin(self) -> VirtualExchange:
        """Read now if memory is shared, else at the time the vector leaves its host."""
        window, size = self._window, self._into.nbytes
        if window.shared:
            self._read(self.posted)
            self._baton.at(self.posted + window.access_seconds(2, self._into), self._reply)
        else:
            links = window.group.links
            arrival = links.transfer(self.posted, window.place, window.me, size, "window")
            departure = arrival - links.latency - links.price(window.place, window.me, size)
            departure -= links.surcharge(window.place, window.me, size, "window", False)
            self._baton.at(departure, self._read)
            self._baton.at(arrival, self._reply)
        return self

    def wait(self) -> None:
        """Return when the answer has been added; raise the exception of `answer`, if any."""
        super().wait()
        if self._error is not None:
            raise self._error

    def _read(self, now: float) -> None:
        del now
        self._into[:] = self._memory[self._place(slice(None))]

    def _reply(self, now: float) -> None:
        """Compute the answer and begin to add it."""
        try:
            delta = self._answer()
            array = array_of(delta)
            check_length(array.size, self._into.size, "the answer to a window")
        except Exception as error:  # not swallowed: it belongs to the rank, and `wait` raises it there
            self._error = error
            self.finish(now)
            return
        if self._alpha is None:
            self._baton.at(self._window.arrival(now, array), lambda end: self._accumulate(end, array))
        else:
            self._add(now, delta, self._alpha, self._window.pieces(array))

    def _accumulate(self, now: float, array: Array) -> None:
        self._memory[self._place(slice(None))] += array
        self.finish(now)

    def _place(self, part: slice) -> Any:
        """Return where a part of the exchanged elements is in the window."""
        return part if self._at is None else self._at[part]

    def _add(self, now: float, delta: Any, alpha: float, parts: list[tuple[slice, float]]) -> None:
        """Load the next piece; store the sum after the piece's time."""
        if not parts:
            self.finish(now)
            return
        (part, seconds), rest = parts[0], parts[1:]
        place = self._place(part)
        piece = self._memory[place].copy()

        def store(end: float) -> None:
            add_scaled(piece, delta[part], alpha)
            self._memory[place] = piece
            self._add(end, delta, alpha, rest)

        self._baton.at(now + seconds, store)
