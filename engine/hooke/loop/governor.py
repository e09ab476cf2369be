"""Slows a real worker down to a share of its own speed, and measures the share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hooke.spec.devices import DeviceGroup


class Governor:
    """Lets a rank sleep after its gradients, in proportion to the seconds that they took: a duty cycle.

    With `speed` s the rank works a share s of the time of its gradients, so a gradient takes 1 / s as long, sleep
    included. What a sleep takes beyond what was asked is taken off the following ones. `clock` and `sleep` are in
    seconds.
    """

    def __init__(
        self,
        speed: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.speed, self._clock, self._sleep = speed, clock, sleep
        self.worked = self.slept = 0.0
        """Seconds, measured."""

    @classmethod
    def of(cls, group: DeviceGroup | None) -> Governor | None:
        """Return the governor of a worker of this group; None where it is not slowed down."""
        return cls(group.speed) if group is not None and group.speed < 1 else None

    @contextmanager
    def pace(self) -> Iterator[None]:
        """Sleep after the body, for as long as the speed asks."""
        began = self._clock()
        yield
        ended = self._clock()
        self.worked += ended - began
        due = self.worked * (1 / self.speed - 1) - self.slept
        if due > 0:
            self._sleep(due)
            self.slept += self._clock() - ended

    @property
    def achieved(self) -> float | None:
        """Return the share of the time of gradients in which the rank worked; None before the first one."""
        whole = self.worked + self.slept
        return self.worked / whole if whole > 0 else None
