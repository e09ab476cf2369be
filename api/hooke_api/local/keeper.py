"""Starts processes, restarts them when they end, and stops them in order.

Every part runs under `hooke.cluster.guard --tether`: the kernel sends it SIGTERM when this process dies, so even a
`kill -9` leaves none of them behind.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hooke.cluster.http_client import client_options, httpx
from hooke.cluster.processes import halted, signal_all, start_time
from hooke.errors import HookeError

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
HEALTHY = 20.0
"""Uptime in seconds after which the count of consecutive ends restarts."""
GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
HANGS_AFTER = 60.0
"""Default of `KeptProcess.hangs_after`; a loaded machine may well keep an answer for some seconds."""
LOG_BYTES = 32 * 2**20
"""Size of a log from which on it begins anew; the one before stays as *.log.1."""
_LOG_SECONDS = 10.0
_STOPPED = (
    "{name} is stopped by a signal, as by `kill -STOP`, and answers nobody; it is left alone until it goes on: "
    "kill -CONT {pid}"
)
_LEAST_PROBES = 3
"""Number of probes without an answer before a part counts as hanging, whatever the clock says."""


@dataclass(frozen=True)
class KeptProcess:
    """One part: a process of the instance."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    log: Path
    probe: str | None = None
    """URL that it answers while it works; None: only its end is noticed."""
    hangs_after: float = HANGS_AFTER
    """Seconds without an answer, after it has answered before, after which it is ended and starts again."""
    socket: Path | None = None
    """Socket through which alone it can be reached: where that was removed, the part is ended and starts again."""
    prepare: Callable[[], None] = lambda: None
    """Called before each start; may raise OSError."""


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
        self._limiting: asyncio.Task[None] | None = None

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
        self._limiting = asyncio.create_task(self._limit_log(), name=f"limit the log of {self.part.name}")

    async def _spawn(self) -> None:
        self.part.prepare()
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
        with suppress(OSError):  # a full disk: the part works, only the next start does not know of it
            self._changed(self.part.name, self._process.pid)

    async def _keep(self) -> None:
        while self._process is not None:
            began = time.monotonic()
            code = await self._ended(self._process)
            if self._stopping:
                return
            self.ends = 1 if time.monotonic() - began > HEALTHY else self.ends + 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self.ends - 1))
            self._say(f"{self.part.name} {_ending(code)}; it starts again in {pause:g} s ({self.part.log})")
            await asyncio.sleep(pause)
            if self._stopping:
                return
            try:
                await self._spawn()
            except (OSError, HookeError) as error:  # no memory, no space for the log: again, later and later
                why = error.strerror if isinstance(error, OSError) else error
                self._say(f"{self.part.name} cannot be started: {why}")

    async def _limit_log(self) -> None:
        while True:
            await asyncio.sleep(_LOG_SECONDS)
            await asyncio.to_thread(limit_log, self.part.log)

    async def _ended(self, process: asyncio.subprocess.Process) -> int:
        """Return the status of a part when it has ended, by itself or because it was hanging."""
        watching = []
        if self.part.probe is not None:
            watching.append(asyncio.create_task(self._watch(process, self.part.probe)))
        if self.part.socket is not None:
            watching.append(asyncio.create_task(self._watch_socket(process, self.part.socket)))
        try:
            return await process.wait()
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)

    async def _watch_socket(self, process: asyncio.subprocess.Process, place: Path) -> None:
        """End a part whose socket was there and is not any more, at two looks: it makes it anew when it starts."""
        was_there, missing = False, 0
        while process.returncode is None:
            there = place.is_socket()
            was_there, missing = was_there or there, 0 if there else missing + 1
            if was_there and missing > 1:
                self._say(
                    f"{self.part.name} cannot be reached, as {place} was removed; it is stopped, and starts again"
                )
                await self._end(process, signal.SIGTERM, signal.SIGKILL)
                return
            await asyncio.sleep(self.part.hangs_after / 12)

    async def _watch(self, process: asyncio.subprocess.Process, url: str) -> None:
        """End a part that has answered and then does not for too long; `_keep` starts it again.

        One that a signal has stopped is left alone until it goes on: who stopped it wants it as it is.
        """
        interval = self.part.hangs_after / 12
        heard: float | None = None
        unheard, stopped = 0, False
        options = client_options(url) | {"trust_env": False}
        async with httpx.AsyncClient(timeout=interval, **options) as client:
            while process.returncode is None:
                if await _answers(client, url):
                    heard, unheard = time.monotonic(), 0
                elif halted(process.pid):
                    heard, unheard = heard and time.monotonic(), 0
                    if not stopped:
                        self._say(_STOPPED.format(name=self.part.name, pid=process.pid))
                    stopped = True
                else:
                    unheard += 1
                if stopped and not unheard and not halted(process.pid):
                    stopped = False
                    self._say(f"{self.part.name} goes on")
                if heard is not None and unheard >= _LEAST_PROBES:
                    silent = time.monotonic() - heard
                    if silent > self.part.hangs_after:
                        self._say(f"{self.part.name} has not answered for {silent:.0f} s and was stopped")
                        # on the first, Python logs where every thread is
                        await self._end(process, signal.SIGABRT, signal.SIGKILL)
                        return
                await asyncio.sleep(interval)

    async def _end(self, process: asyncio.subprocess.Process, *signals: int) -> None:
        """Send one signal after the other until the process has ended."""
        for number in signals:
            with suppress(ProcessLookupError):
                process.send_signal(number)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.wait()), GRACE)
                return

    async def stop(self, grace: float = GRACE) -> None:
        """Stop the part: SIGTERM, then SIGKILL after `grace` seconds; return when it has ended."""
        self._stopping = True
        if self._process is not None and self._process.returncode is None:
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # one that is stopped would not hear it
            try:
                await asyncio.wait_for(self._process.wait(), grace)
            except TimeoutError:
                self.kill()
                await self._process.wait()
        tasks = [task for task in (self._task, self._limiting) if task is not None]
        for task in tasks:
            task.cancel()  # the first may be in the delay before a restart
        await asyncio.gather(*tasks, return_exceptions=True)

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


def limit_log(log: Path, most: int = LOG_BYTES) -> None:
    """Let a log that is larger than `most` bytes begin anew; the part that writes it, at its end, goes on.

    What it writes between the copy and the cut is lost, and all of it where there is no space for a copy.
    """
    with suppress(OSError):
        if log.stat().st_size <= most:
            return
        earlier = log.with_suffix(".log.1")
        try:
            shutil.copyfile(log, earlier)
        except OSError:
            earlier.unlink(missing_ok=True)
        os.truncate(log, 0)


async def _answers(client: httpx.AsyncClient, url: str) -> bool:
    try:
        await client.get(url)  # whatever it says, it works
    except httpx.HTTPError:
        return False
    return True


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
