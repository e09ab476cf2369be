"""Starts processes, restarts them when they end, and stops them in order.

Every part runs under `hooke.cluster.guard --tether`: the kernel sends it SIGTERM when this process dies, so even a
`kill -9` leaves none of them behind.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hooke.cluster.processes import signal_all, start_time

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
HEALTHY = 20.0
"""Uptime in seconds after which the count of consecutive ends restarts."""
GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True)
class KeptProcess:
    """One part: a process of the instance."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    log: Path


class Keeper:
    """Owns one part: `start`, then `keep` as a task, then `stop`. All in the thread of one event loop.

    `changed` is called with every new process, `say` with a message when the part is restarted.
    """

    def __init__(self, part: KeptProcess, changed: Callable[[str, int], None], say: Callable[[str], None]) -> None:
        self.part = part
        self.ends = 0
        """Number of consecutive unexpected ends."""
        self._changed = changed
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Return whether the process exists and has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the part and watch it."""
        if self.part.log.exists():
            self.part.log.replace(self.part.log.with_suffix(".log.1"))
        await self._spawn()
        self._task = asyncio.create_task(self._keep(), name=f"keep {self.part.name}")

    async def _spawn(self) -> None:
        tether = (sys.executable, "-m", "hooke.cluster.guard", "--tether", str(os.getpid()), "--")
        with self.part.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *tether,
                *self.part.command,
                env=self.part.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C must reach only this process, which stops the parts in order
            )
        self._changed(self.part.name, self._process.pid)

    async def _keep(self) -> None:
        while self._process is not None:
            began = time.monotonic()
            code = await self._process.wait()
            if self._stopping:
                return
            self.ends = 1 if time.monotonic() - began > HEALTHY else self.ends + 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self.ends - 1))
            self._say(f"{self.part.name} {_ending(code)}; it starts again in {pause:g} s ({self.part.log})")
            await asyncio.sleep(pause)
            if self._stopping:
                return
            await self._spawn()

    async def stop(self, grace: float = GRACE) -> None:
        """Stop the part: SIGTERM, then SIGKILL after `grace` seconds; return when it has ended."""
        self._stopping = True
        if self._process is not None and self._process.returncode is None:
            self._signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(self._process.wait(), grace)
            except TimeoutError:
                self.kill()
                await self._process.wait()
        if self._task is not None:
            self._task.cancel()  # it may be in the delay before a restart
            await asyncio.gather(self._task, return_exceptions=True)

    def kill(self) -> None:
        """Kill the part."""
        self._stopping = True
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.returncode is None:
            try:
                self._process.send_signal(number)
            except ProcessLookupError:
                return  # it has just ended

    def tail(self, lines: int = 15) -> str:
        """Return the last lines of the part's output."""
        try:
            return "\n".join(self.part.log.read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return ""


def _ending(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def end_left_over(parts: dict[str, tuple[int, int]], grace: float = GRACE) -> list[str]:
    """Stop the processes left by a killed start, identified by (pid, start time). Return their names."""

    def living() -> dict[str, int]:
        return {name: pid for name, (pid, started) in parts.items() if start_time(pid) == started}

    ended = list(living())
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, grace)):
        signal_all(living().values(), number)
        until = time.monotonic() + patience
        while living() and time.monotonic() < until:
            time.sleep(0.05)
    return ended
