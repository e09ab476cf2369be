"""Energy, memory and use of the NVIDIA devices that the ranks of a run on this host use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from statistics import fmean
from typing import TypeVar

from hooke.hardware.gpus import DEVICE_ID, Nvml
from hooke.spec.events import Start

Number = TypeVar("Number", int, float)
USE_EVERY = 1.0
"""Shortest time between two readings of how busy devices are, s: about as long as a reading is the mean of."""


class GpuMeter:
    """Adds up what the devices of a run use, from the first reading on, idle power and other programs included.

    Devices are those that ranks have named in their first record.
    """

    def __init__(self, nvml: Nvml | None = None) -> None:
        """`nvml`: for tests; by default it is loaded once a rank uses a device."""
        self._nvml = nvml
        self._first: dict[str, int] = {}
        self._latest: dict[str, int] = {}
        self._named: list[str] = []
        self._ranks = 0
        self._busy: list[float] = []
        self._looked = float("-inf")
        self.lacking = ""
        """Why the energy is not known, once a device is used; empty: it is."""

    @property
    def used(self) -> bool:
        """Return whether a rank uses a device."""
        return bool(self._first or self.lacking)

    @property
    def joules(self) -> float | None:
        """Return what the devices used from the first to the latest reading; None: none, or `lacking` says why."""
        if not self.used or self.lacking:
            return None
        return round(sum(value - self._first[name] for name, value in self._latest.items()) / 1e3, 3)

    def read(self, started: Iterable[Start], host: str) -> None:
        """Read the counters of the devices of these ranks, as far as they run on this host."""
        try:
            for device in self._devices(started, host):
                self._nvml = self._nvml or Nvml()
                value = self._nvml.energy(device)
                if value < self._latest.get(device, 0):
                    raise OSError(f"the counter of {device} began anew: its driver was loaded again meanwhile")
                self._first.setdefault(device, value)
                self._latest[device] = value
        except (OSError, AttributeError) as error:  # no driver, an old one, or a device that does not tell
            self.lacking = self.lacking or f"not readable here: NVML: {error}"

    def look(self, now: float, started: Collection[Start], host: str) -> None:
        """Read the counters of ranks that are new, and how busy their devices are, the latter at most every
        USE_EVERY seconds; `now` by a clock that never jumps.
        """
        if len(started) > self._ranks:
            self._ranks = len(started)
            self.read(started, host)
        if self._nvml is None or now - self._looked < USE_EVERY:
            return
        self._looked = now
        if known := self._each(self._nvml.busy):
            self._busy.append(fmean(known))

    def busy(self) -> float | None:
        """Return how busy the devices were since this was called before, mean; None: not known."""
        found, self._busy = self._busy, []
        return round(fmean(found), 4) if found else None

    def memory(self) -> int | None:
        """Return the bytes of the devices' memory in use; None: not known, or no device."""
        known = [] if self._nvml is None else self._each(self._nvml.memory)
        return sum(known) if known else None

    def _each(self, read: Callable[[str], Number]) -> list[Number]:
        found = []
        for device in self._named:
            with suppress(OSError, AttributeError):
                found.append(read(device))
        return found

    def _devices(self, started: Iterable[Start], host: str) -> list[str]:
        here = [start.notes for start in started if start.host == host]
        if any(notes.get("device", "").startswith("cuda") and DEVICE_ID not in notes for notes in here):
            self.lacking = self.lacking or "not known: PyTorch does not tell the ids of its devices"
        self._named = sorted({notes[DEVICE_ID] for notes in here if DEVICE_ID in notes})
        return self._named


def of_both(joules: float | None, lacking: str, gpus: GpuMeter) -> tuple[float | None, str]:
    """Return the joules of processors, memory and devices, and a note; None: a part is not known, and why.

    `joules`, `lacking`: those of processors and memory. Of a run without devices they are all.
    """
    if not gpus.used:
        return joules, lacking
    own = gpus.joules
    told = f"GPUs: {gpus.lacking}" if own is None else f"its GPUs used {own:,.0f} J"
    if joules is None:
        return None, f"{lacking}; {told}"
    return (None, told) if own is None else (round(joules + own, 3), f"{told} of it")
