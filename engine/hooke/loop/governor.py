"""Slows a real worker down to a share of its own speed, which may change, and measures the share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from hooke.spec.devices import DeviceGroup, factor_of

SLICE = 0.1
"""Seconds of a sleep after which a worker looks whether its run is to end."""


class Governor:
    """Lets a rank sleep after its gradients, in proportion to the seconds that they took: a duty cycle.

    With speed s the rank works a share s of the time of its gradients, so a gradient takes 1 / s as long, sleep
    included. What a sleep takes beyond what was asked is taken off the following ones. `speed`: of all gradients,
    or a function that returns that of the next one, at its beginning. `clock` and `sleep` are in seconds. `ends`:
    what tells that the run is to end, so that a sleep is cut short, which may be thousands of gradients long.
    """

    def __init__(
        self,
        speed: float | Callable[[], float],
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
        ends: Sequence[Callable[[], object]] = (),
    ) -> None:
        self._speed = speed if callable(speed) else lambda: speed
        self._clock, self._sleep, self._ends = clock, sleep, ends
        self._owed = 0.0
        self.worked = self.slept = 0.0
        """Seconds, measured."""

    @classmethod
    def of(
        cls,
        group: DeviceGroup | None,
        now: Callable[[], float],
        straggles: Callable[[float], bool],
        *ends: Callable[[], object],
    ) -> Governor | None:
        """Return the governor of a worker of this group; None where it is not slowed down.

        `now`: seconds of the run; `straggles`: draws whether the next gradient straggles, with this chance.
        """
        if group is None or (group.speed >= 1 and group.steady):
            return None

        def speed() -> float:
            longer = group.straggling_factor if straggles(group.straggling) else 1.0
            return group.speed * factor_of(group.changes, now()) / longer

        return cls(speed, ends=ends)

    @property
    def share(self) -> float:
        """Return the speed of the next gradient."""
        return self._speed()

    @contextmanager
    def pace(self) -> Iterator[None]:
        """Sleep after the body, for as long as the speed asks."""
        if self._ending():  # no sleep, and no work of the share that was asked for
            yield
            return
        speed, began = self.share, self._clock()
        yield
        ended = self._clock()
        self.worked += ended - began
        self._owed += (ended - began) * (1 / speed - 1)
        due = self._owed - self.slept
        if due > 0:
            self._rest(due)
            self.slept += self._clock() - ended

    def _ending(self) -> bool:
        return any(each() for each in self._ends)

    def _rest(self, due: float) -> None:
        """Sleep for so many seconds, or until the run is to end."""
        if not self._ends or due <= SLICE:
            self._sleep(due)
            return
        until = self._clock() + due
        while (left := until - self._clock()) > 0 and not self._ending():
            self._sleep(min(left, SLICE))

    @property
    def achieved(self) -> float | None:
        """Return the share of the time of gradients in which the rank worked; None before the first one.

        Without those that begin after the run was to end.
        """
        whole = self.worked + self.slept
        return self.worked / whole if whole > 0 else None
