"""How busy the device beside real runs is, and what it uses, by NVML: read all the time, told for each run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

EVERY = 0.1
"""Seconds between two readings; NVML's share is that of a moment of up to a second."""


class Reading(NamedTuple):
    """What NVML tells at a time."""

    unix: float
    busy: float
    """Share of the moment before it in which the device computed."""
    joules: float
    """Since the driver was loaded."""


class Watch:
    """Reads a device in a thread, once a run has named it; without NVML or a device it has nothing to tell."""

    def __init__(self, read: Callable[[str], tuple[float, float]] | None = None) -> None:
        """`read`: returns share and joules of a device, for tests; by default NVML."""
        self._read = read
        self._device = ""
        self._readings: list[Reading] = []
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def find(self, folders: Sequence[Path]) -> None:
        """Begin to read, if a rank of a run has named its device; `folders`: of the runs, in their order."""
        if self._device:
            return
        self._device = next(filter(None, map(_named, folders)), "")
        if self._device:
            self._thread = threading.Thread(target=self._go_on, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def of(self, folder: Path) -> Mapping[str, Any]:
        """Return the mean share of a run in its folder, and its joules; nothing where there are no readings."""
        from hooke.comparison.journals import read

        (first,) = read(folder, 1)
        if first.start is None:
            return {}
        return self.between(first.start.unix, first.start.unix + first.wall)

    def between(self, began: float, ended: float) -> Mapping[str, Any]:
        """Return them between two times."""
        inside = [each for each in self._readings if began <= each.unix <= ended]
        if len(inside) < 2:  # noqa: PLR2004 - a difference takes two
            return {}
        busy = sum(each.busy for each in inside) / len(inside)
        watts = (inside[-1].joules - inside[0].joules) / (inside[-1].unix - inside[0].unix)
        return {"gpu_busy": round(busy, 4), "gpu_watts": round(watts, 1)}

    def _go_on(self) -> None:
        read = self._read or _nvml()
        while read is not None and not self._over.wait(EVERY):
            try:
                self._readings.append(Reading(time.time(), *read(self._device)))
            except OSError:
                return


def _named(folder: Path) -> str:
    """Return the device that a rank of a run has named; empty without one."""
    from hooke.hardware.gpus import DEVICE_ID
    from hooke.spec.events import Start
    from hooke.spec.journal import parse

    for journal in sorted(folder.glob("journal.*.jsonl")):
        with journal.open() as lines:
            line = lines.readline()
        begun = parse(line) if line.endswith("\n") else None
        if isinstance(begun, Start) and (name := begun.notes.get(DEVICE_ID)):
            return name
    return ""


def _nvml() -> Callable[[str], tuple[float, float]] | None:
    from hooke.hardware.gpus import Nvml

    try:
        nvml = Nvml()
    except OSError:
        return None
    return lambda device: (nvml.busy(device), nvml.energy(device) / 1e3)
