"""Owns the attempts of one job: `python -m hooke.cluster.supervisor JOBDIR [--foreground]`.

It starts and watches the ranks, delivers their journals, and ends them on request. It detaches from its agent's
session and outlives the agent. If it dies, mpirun gets SIGTERM, and the next supervisor of the same job, started
by the agent, ends the remaining processes and reports the end. A supervisor whose attempts have an owner exits.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    gc.disable()  # until all is imported

import asyncio
import hashlib
import json
import os
import signal
import sys
import time
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from hooke.cluster import accounts, checking
from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.batch import read_launched
from hooke.cluster.delivery import Delivery, Tokens, make_client
from hooke.cluster.http_client import httpx
from hooke.cluster.job import Job, Order, read_job, read_tokens
from hooke.cluster.launchers.batch import BatchLauncher
from hooke.cluster.launchers.make import make
from hooke.cluster.lock import Lock
from hooke.cluster.places import AttemptFolder, Home, JobFolder, write_atomically
from hooke.cluster.processes import become_subreaper, members
from hooke.cluster.ranks import Found, Ranks
from hooke.cluster.runner import remove_left
from hooke.cluster.tail import OutputSource

MOST_PER_PROCESS = 64
"""Maximum number of attempts that share processes, because they are listed on their command line."""


class Supervisor:
    """Executes one job, from taking the locks to the last acknowledgement."""

    def __init__(self, home: Home, folder: JobFolder) -> None:
        self._home, self._folder = home, folder
        self._job: Job
        self._job, self._tokens = read_job(folder)
        if self._job.account is not None:
            accounts.take(accounts.find(self._job.account, self._job.path))
        self._launcher = make(self._job.launcher)
        self._locks: list[Lock] = []
        self.cancel_requested = asyncio.Event()
        """Set (by SIGTERM) to cancel the current run, report, try a short while to deliver, and return.

        Attempts that have not begun are left to the next supervisor of the job.
        """

    async def run(self) -> None:
        """Run, report and deliver all attempts that have no other owner."""
        attempts = self._claim()
        if attempts:
            async with make_client(self._job.api) as client:
                shipping = [asyncio.create_task(self._delivery(a, client).run()) for a in attempts]
                try:
                    await self._oversee(attempts)
                    ended = [task for task, attempt in zip(shipping, attempts, strict=True) if attempt.ended]
                    await self._until_delivered(asyncio.gather(*ended))
                finally:
                    for task in shipping:
                        task.cancel()
                    await asyncio.gather(*shipping, return_exceptions=True)
        orders = [self._home.attempt(o.run, o.attempt) for o in self._job.orders]
        told = {attempt.folder.id for attempt in attempts if attempt.delivered}
        if all(folder.id in told or folder.delivered.exists() for folder in orders):
            with accounts.own(), suppress(OSError):  # the agent's home can only be read
                self._folder.delivered.touch()
                self._folder.tokens.unlink(missing_ok=True)
                self._folder.offered.unlink(missing_ok=True)

    def _claim(self) -> list[SupervisedAttempt]:
        """Lock and return the undelivered attempts that no living supervisor owns."""
        claimed = []
        for order in self._job.orders:
            folder = self._home.attempt(order.run, order.attempt)
            accounts.make_folder(folder.path)
            if folder.delivered.exists():
                continue
            with accounts.own():
                lock = Lock.acquire(folder.lock)
            if lock is not None:
                self._locks.append(lock)
                claimed.append((folder, order))
        if self._job.account is None:
            return [SupervisedAttempt(folder, order) for folder, order in claimed]
        return _under_account(claimed)

    def _delivery(self, attempt: SupervisedAttempt, client: httpx.AsyncClient) -> Delivery:
        id = attempt.folder.id

        def offered() -> str | None:
            with accounts.own(), suppress(OSError, ValueError):
                return read_tokens(self._folder.offered).get(id)
            return None

        def adopted(token: str) -> None:
            self._tokens[id] = token
            with accounts.own(), suppress(OSError):  # a full disk: the next supervisor adopts it once more
                sha256 = hashlib.sha256(token.encode()).hexdigest()
                write_atomically(attempt.folder.token_sha256, sha256, 0o600)
                write_atomically(self._folder.tokens, json.dumps(self._tokens), 0o600)

        tokens = Tokens(self._tokens.get(id, ""), offered, adopted)
        return Delivery(attempt, self._job.api, tokens, self._job.timing, client)

    async def _until_delivered(self, shipping: asyncio.Future[list[bool]]) -> None:
        cancelled = asyncio.create_task(self.cancel_requested.wait())
        both: set[asyncio.Future[Any]] = {shipping, cancelled}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        cancelled.cancel()
        if not shipping.done():
            await asyncio.wait([shipping], timeout=self._job.timing.farewell)
        if shipping.done():
            shipping.result()

    async def _oversee(self, attempts: list[SupervisedAttempt]) -> None:
        """Run every attempt to its end, one launch after the other."""
        if isinstance(self._launcher, BatchLauncher):
            await self._find_again(attempts)
        await self._take_over(attempts)
        waiting = [a for a in attempts if not a.end_unstarted()]
        while waiting and not self.cancel_requested.is_set():
            group = _same_process(waiting)
            again = await self._ranks(group).run()
            waiting = [a for a in [*again, *waiting[len(group) :]] if not a.end_unstarted()]

    def _ranks(self, group: list[SupervisedAttempt], found: Found | None = None) -> Ranks:
        job = self._job
        return Ranks(group, self._launcher, job.program, job.timing, self.cancel_requested, found)

    async def _find_again(self, attempts: list[SupervisedAttempt]) -> None:
        """Go on watching the batch jobs of a dead predecessor to their ends: the scheduler kept them."""
        for order in self._job.orders:
            folder = self._home.attempt(order.run, order.attempt)
            if (note := read_launched(folder)) is None:
                continue
            group = [a for a in attempts if a.folder.id in note.ids and not a.ended and a.spec is not None]
            if group:
                await self._ranks(group, (folder, note)).run()

    async def _take_over(self, attempts: list[SupervisedAttempt]) -> None:
        """End the processes left by a dead predecessor, and report how its attempts ended."""
        ids = [a.folder.id for a in attempts]
        until = time.monotonic() + self._job.timing.grace
        while members(ids) and time.monotonic() < until:  # mpirun got SIGTERM when its supervisor died
            await asyncio.sleep(self._job.timing.look)
        if not (left := self._launcher.sweep(ids)):
            remove_left(a.folder.ranks for a in attempts)
        begun = [a for a in attempts if a.folder.begun() and not a.ended]
        for i, attempt in enumerate(begun):
            attempt.starting()
            well = False
            with suppress(Exception):  # any error of what users' code has written: `end` tells it
                _collect_rest(attempt)
                attempt.look()
                well = _ended_well(attempt, passed=i + 1 < len(begun))
            if well:
                attempt.end(0, left=left)
            else:
                attempt.end(None, cause="its supervisor died; every process is gone", left=left)


def _under_account(claimed: list[tuple[AttemptFolder, Order]]) -> list[SupervisedAttempt]:
    """Return attempts whose ranks run under another account: this process must not read users' files."""
    if not claimed:
        return []
    checked = checking.elsewhere([order.spec for _, order in claimed], [folder.id for folder, _ in claimed])
    return [SupervisedAttempt(*each, found) for each, found in zip(claimed, checked, strict=True)]


def _same_process(waiting: list[SupervisedAttempt]) -> list[SupervisedAttempt]:
    """Return the attempts at the head of the queue that can share a launch."""
    first, *others = waiting[:MOST_PER_PROCESS]
    alike = takewhile(lambda other: other.shareable and other.virtual == first.virtual, others)
    return [first, *alike] if first.shareable else [first]


def _ended_well(attempt: SupervisedAttempt, *, passed: bool) -> bool:
    """Return whether an attempt had completed normally before its supervisor died."""
    exits = attempt.witness.exits()
    witnessed = len(exits) == attempt.processes and all(e.code == 0 for e in exits.values())
    meant = all(done.reason in ("budget", "target") for done in attempt.witness.done.values())
    return attempt.witness.all_done and meant and (witnessed or passed)


def _collect_rest(attempt: SupervisedAttempt) -> None:
    """Number the output that a dead predecessor had not numbered."""
    sources = [OutputSource(attempt.folder.rank_log(r), r, "stdout") for r in range(attempt.processes)]
    for source in [*sources, OutputSource(attempt.folder.launcher_log, -1, "stderr")]:
        source.offset = attempt.book.offsets.get(source.name, 0)
        for text, offset in source.read(last=True):
            attempt.book.add(source, text, offset)


def detach(log: Path) -> None:
    """Daemonize: return in a process whose parent is init, with its output in `log`."""
    for step in range(2):
        if os.fork():
            os._exit(0)
        if step == 0:
            os.setsid()
    quiet = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, quiet), (1, output), (2, output)):
        os.dup2(source, target)


async def _main(home: Home, folder: JobFolder) -> None:
    supervisor = Supervisor(home, folder)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.cancel_requested.set)
    await supervisor.run()


def main(arguments: list[str]) -> None:
    """Entry point; JOBDIR is HOME/jobs/<job>."""
    paths = [a for a in arguments if a != "--foreground"]
    if len(paths) != 1:
        sys.exit("usage: python -m hooke.cluster.supervisor JOBDIR [--foreground]")
    path = Path(paths[0]).absolute()
    home = Home(path.parent.parent)
    folder = home.job(path.name)
    if "--foreground" not in arguments:
        detach(folder.supervisor_log)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    become_subreaper()
    asyncio.run(_main(home, folder))


if __name__ == "__main__":
    gc.freeze()  # modules stay to the end
    gc.enable()
    main(sys.argv[1:])
