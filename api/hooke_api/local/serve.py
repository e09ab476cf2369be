"""The main loop of `hooke up`: start, print the address, run the task if there is one, wait for Ctrl-C, stop."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Protocol

from hooke.errors import HookeError

from hooke_api.local.platform import Platform, say

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
FAILED = 1
INTERRUPTED = 130
"""Exit status if the user interrupts the task, as in shells."""


class ServedTask(Protocol):
    """A task to run when the platform is ready."""

    def run(self, platform: Platform) -> Coroutine[object, object, bool]:
        """Run the task; return whether it succeeded. Cancelled when the user interrupts it."""


def serve(home: Path, host: str, port: int | None, task: ServedTask | None = None, end: bool = False) -> int:
    """Run the platform until a signal (or the end of the task, with `end`); return the exit status."""
    try:
        platform = Platform(home, host, port, say)
        return asyncio.run(_life(platform, task, end))
    except HookeError as error:
        say(f"hooke: {error}")
        return FAILED


async def _life(platform: Platform, task: ServedTask | None, end: bool) -> int:
    leave = asyncio.Event()

    def on_signal() -> None:
        if leave.is_set():  # second request: no grace period
            platform.hurry()
        leave.set()

    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    try:
        await platform.start()
        if not await _unless(leave, platform.ready()):
            return 0 if task is None else INTERRUPTED
        print(f"Hooke is ready: {platform.login}", flush=True)
        if task is not None:
            well = await _unless(leave, task.run(platform))
            if well is None:
                return INTERRUPTED
            if end:
                return 0 if well else FAILED
        print("Press Ctrl-C to stop it.", flush=True)
        await leave.wait()
        return 0
    finally:
        if sys.stderr.isatty():
            say("\nStopping ...")
        await platform.stop()


async def _unless(leave: asyncio.Event, work: Coroutine[object, object, bool]) -> bool | None:
    """Return the result of `work`; None, with `work` cancelled, if the user interrupts it first."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(leave.wait())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
