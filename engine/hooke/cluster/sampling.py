"""Samples what the ranks of an attempt on this host use, and what the host does: one JSON line each.

All figures are counters since the start of the process, the host or the samples, except memory and GPUs, so that
a missing sample costs nothing but resolution. The supervisor reads them from /proc, /sys and NVML, not the ranks
themselves. Ranks on other hosts are not sampled. Each sample has the energy since the first one, or why it is not
known; the last sample of an attempt says so, and has no ranks.
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
from hooke.cluster.energy import EnergyMeter
from hooke.cluster.gpus import GpuMeter
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
        self._meter, self._gpus = EnergyMeter(root), GpuMeter()
        self._used: dict[int, tuple[float, float]] = {}
        """Rank -> seconds of processor time at its first and at its latest sample."""
        self._busy: tuple[float, float] | None = None
        """Seconds of processor time of all processes of the host, at the first and at the latest sample."""

    def look(self) -> None:
        """Take a sample if one is due and a rank of this host runs. A full disk ends the samples, not the run."""
        now = self._clock()
        if self._stopped:
            return
        self._gpus.look(now, self._started.values(), self._host)
        if now < self._due:
            if self._meter.due(now):
                with own():
                    self._meter.read(now)
            return
        with own():  # joules are often root's to read
            sample = self._sample(now)
        if sample is None:
            return
        self._began = now if self._began is None else self._began
        self._due = now + max(INTERVAL, STRETCH * (now - self._began))
        self._write(sample)

    def end(self) -> None:
        """Take the last sample: the ranks have ended, and what was used meanwhile is complete."""
        if self._stopped or self._began is None:
            return
        now = self._clock()
        with own():
            self._meter.read(now)
        self._gpus.read(self._started.values(), self._host)
        self._write(
            {"unix": round(time.time(), 3), "host": self._host, "ranks": {}, **self._energy(), "last": True}
        )
        self._stopped = True

    def _write(self, sample: Mapping[str, Any]) -> None:
        try:
            with own(), self._path.open("a") as file:
                file.write(json.dumps(sample, separators=(",", ":")) + "\n")
        except OSError:
            self._stopped = True

    def _sample(self, now: float) -> dict[str, Any] | None:
        processes: dict[int, list[float]] = {}
        seen: set[int] = set()
        for rank, start in sorted(self._started.items()):
            if start.host == self._host and start.pid not in seen:  # the ranks of a virtual run share a process
                seen.add(start.pid)
                with suppress(OSError, ValueError, IndexError):  # it has ended
                    processes[rank] = self._process(start.pid)
        if not processes:
            return None
        self._meter.read(now)
        self._gpus.read(self._started.values(), self._host)
        for rank, (seconds, _) in processes.items():
            self._used[rank] = (self._used.get(rank, (seconds, 0.0))[0], seconds)
        if (busy := self._busy_seconds()) is not None:
            self._busy = (busy if self._busy is None else self._busy[0], busy)
        return {"unix": round(time.time(), 3), "host": self._host, "ranks": processes, **self._energy()} | {
            name: value
            for name, value in (
                ("network", self._network()),
                ("gpu", self._gpu()),
                ("gpu_memory", self._gpus.memory()),
            )
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

    def _energy(self) -> dict[str, Any]:
        """Return the joules since the first sample, or why they are not known, and how much of the host was ours.

        `gpu_joules`, or `no_gpu_joules`: those of the devices that ranks use, if they use any. `own`: processor
        time of the ranks over that of all processes of the host, from the first sample on.
        """
        elsewhere = sorted(rank for rank, start in self._started.items() if start.host != self._host)
        if elsewhere:
            told = ", ".join(map(str, elsewhere[:8])) + (", ..." if len(elsewhere) > 8 else "")
            return {"no_joules": f"not known: ranks on other hosts than their supervisor's ({told})"}
        found: dict[str, Any] = {}
        if self._gpus.used:
            found = {"gpu_joules": self._gpus.joules} if not self._gpus.lacking else {}
            found |= {"no_gpu_joules": self._gpus.lacking} if self._gpus.lacking else {}
        if self._meter.joules is None:
            return found | {"no_joules": self._meter.lacking}
        found |= {"joules": self._meter.joules, "since": round(self._meter.seconds, 3)}
        busy = self._busy[1] - self._busy[0] if self._busy is not None else 0.0
        if busy > 0:
            ours = sum(latest - first for first, latest in self._used.values())
            found["own"] = round(min(1.0, ours / busy), 4)
        return found

    def _busy_seconds(self) -> float | None:
        """Return the processor time that all processes of the host have used, without what its own host stole."""
        try:
            fields = (self._root / "proc/stat").read_text().split("\n", 1)[0].split()
            user, nice, system, _, _, irq, soft = map(int, fields[1:8])
        except (OSError, ValueError):
            return None
        return (user + nice + system + irq + soft) / _TICK

    def _gpu(self) -> float | None:
        """Return the mean share of the GPUs that is busy, or None: of NVIDIA's those that ranks use, by NVML since
        the sample before; of others all whose driver tells it in /sys, now.
        """
        used = self._gpus.busy()
        found = [] if used is None else [used]
        for path in (self._root / "sys/class/drm").glob("card[0-9]*/device/gpu_busy_percent"):
            with suppress(OSError, ValueError):
                found.append(int(path.read_text()) / 100)
        return sum(found) / len(found) if found else None
