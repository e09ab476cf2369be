"""Samples what the ranks of an attempt on this host use, and what the host does: one JSON line each.

All figures are counters since the start of the process or the host, except memory and GPUs, so that a missing
sample costs nothing but resolution. The supervisor reads them from /proc and /sys, not the ranks themselves. Ranks
on other hosts are not sampled.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hooke.cluster.accounts import own
from hooke.spec.events import Start

INTERVAL = 5.0
"""Shortest time between two samples, s."""
STRETCH = 0.01
"""The interval grows with the time since the first sample, by this factor: a day has about 600 samples."""
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Sampler:
    """Writes the samples of one attempt."""

    def __init__(
        self,
        path: Path,
        started: Mapping[int, Start],
        clock: Callable[[], float] = time.monotonic,
        root: Path = Path("/"),
    ) -> None:
        """`started`: rank -> its first record, which grows; `root`: where `proc` and `sys` are."""
        self._path, self._started, self._clock, self._root = path, started, clock, root
        self._host = os.uname().nodename
        self._began: float | None = None
        self._due = 0.0
        self._stopped = False

    def look(self) -> None:
        """Take a sample if one is due and a rank of this host runs. A full disk ends the samples, not the run."""
        now = self._clock()
        if self._stopped or now < self._due:
            return
        with own():  # joules are often root's to read
            sample = self._sample()
        if sample is None:
            return
        self._began = now if self._began is None else self._began
        self._due = now + max(INTERVAL, STRETCH * (now - self._began))
        try:
            with own(), self._path.open("a") as file:
                file.write(json.dumps(sample, separators=(",", ":")) + "\n")
        except OSError:
            self._stopped = True

    def _sample(self) -> dict[str, Any] | None:
        processes: dict[int, list[float]] = {}
        seen: set[int] = set()
        for rank, start in sorted(self._started.items()):
            if start.host == self._host and start.pid not in seen:  # the ranks of a virtual run share a process
                seen.add(start.pid)
                with suppress(OSError, ValueError, IndexError):  # it has ended
                    processes[rank] = self._process(start.pid)
        if not processes:
            return None
        return {"unix": round(time.time(), 3), "host": self._host, "ranks": processes} | {
            name: value
            for name, value in (("network", self._network()), ("joules", self._energy()), ("gpu", self._gpu()))
            if value is not None
        }

    def _process(self, pid: int) -> list[float]:
        """Return seconds of processor time and bytes of resident memory."""
        text = (self._root / f"proc/{pid}/stat").read_text(errors="replace")
        fields = text.rpartition(")")[2].split()  # the name may hold anything
        user, system, pages = int(fields[11]), int(fields[12]), int(fields[21])
        return [(user + system) / _TICK, pages * _PAGE]

    def _network(self) -> list[int] | None:
        """Return bytes received and sent by all network devices of the host but the loopback."""
        try:
            lines = (self._root / "proc/net/dev").read_text().splitlines()[2:]
            devices = [(name.strip(), rest.split()) for name, _, rest in (line.partition(":") for line in lines)]
            counted = [(int(v[0]), int(v[8])) for name, v in devices if name != "lo"]
        except (OSError, ValueError, IndexError):
            return None
        return [sum(received for received, _ in counted), sum(sent for _, sent in counted)]

    def _energy(self) -> float | None:
        """Return joules used by all processor packages since some time; None if unreadable: often only by root."""
        found = []
        for path in (self._root / "sys/class/powercap").glob("intel-rapl:[0-9]*"):
            if path.name.count(":") == 1:
                with suppress(OSError, ValueError):
                    found.append(int((path / "energy_uj").read_text()) / 1e6)
        return round(sum(found), 3) if found else None

    def _gpu(self) -> float | None:
        """Return the mean share of the GPUs that is busy now, where a driver tells it in /sys; else None."""
        found = []
        for path in (self._root / "sys/class/drm").glob("card[0-9]*/device/gpu_busy_percent"):
            with suppress(OSError, ValueError):
                found.append(int(path.read_text()) / 100)
        return sum(found) / len(found) if found else None
