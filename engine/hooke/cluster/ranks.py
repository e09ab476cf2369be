"""One launch of ranks under a supervisor: current attempt, requests to the ranks, and their output."""

from __future__ import annotations

import asyncio
import signal
import time

from hooke.cluster.attempt import SupervisedAttempt
from hooke.cluster.job import Timing
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.runner import RankRunner
from hooke.cluster.tail import OutputSource
from hooke.cluster.watchdog import Watchdog
from hooke.errors import LaunchError

_COLLECT = 0.5


class Ranks:
    """Runs one attempt under mpirun, or several virtual ones in one process."""

    def __init__(
        self,
        attempts: list[SupervisedAttempt],
        launcher: Launcher,
        program: tuple[str, ...],
        timing: Timing,
        cancel_requested: asyncio.Event,
    ) -> None:
        first = attempts[0]
        self._attempts, self._launcher, self._timing = attempts, launcher, timing
        self._cancel_requested = cancel_requested
        self._launch = Launch(
            world="virtual" if first.virtual else "mpi",
            ranks=first.processes,
            folders=tuple(a.folder.path for a in attempts),
            ids=tuple(a.folder.id for a in attempts),
            program=program,
        )
        self._output = first.folder
        self._sources = [OutputSource(first.folder.rank_log(r), r, "stdout") for r in range(first.processes)]
        self._sources.append(OutputSource(first.folder.launcher_log, -1, "stderr"))
        for source in self._sources:
            source.offset = max(a.book.offsets.get(source.name, 0) for a in attempts)
        self._watchdogs = [Watchdog(a.spec, a.witness, timing.backstop) if a.spec else None for a in attempts]
        self._current = 0
        self._kill_at: float | None = None
        self._cancelled: SupervisedAttempt | None = None

    async def run(self) -> list[SupervisedAttempt]:
        """Start, watch and end the ranks, and report; return the attempts that have not run yet."""
        for attempt in self._attempts:
            attempt.prepare()
        try:
            runner = RankRunner(
                self._launch, self._launcher, self._output.launcher_log, self._say, folder=self._output.path
            )
        except (LaunchError, OSError) as error:
            self._attempts[0].end(None, cause=f"the ranks could not be started: {error}")
            return self._attempts[1:]
        collected = time.monotonic()
        while runner.look(self._attempts[self._current].witness, self._watchdogs[self._current]):
            self._advance()
            self._cancel(runner)
            self._ask_for_checkpoint(runner)
            if time.monotonic() - collected > _COLLECT:
                collected = time.monotonic()
                self._collect()
            await asyncio.sleep(self._timing.look)
        return self._end(runner)

    def _say(self, text: str) -> None:
        self._attempts[self._current].book.say(text)

    def _advance(self) -> None:
        """Follow a shared process to its current attempt, and report the end of the previous one."""
        self._attempts[self._current].look()
        for i in range(self._current + 1, len(self._attempts)):
            if self._attempts[i].folder.begun():
                self._collect()
                for passed in self._attempts[self._current : i]:
                    if passed.folder.begun() or not passed.end_unstarted():
                        passed.end(0, output=self._output)
                self._current = i
                self._attempts[i].look()
            elif not self._attempts[i].folder.cancel.exists():
                return

    def _cancel(self, runner: RankRunner) -> None:
        """Forward a cancel to the ranks: SIGTERM, and SIGKILL after the grace period."""
        current = self._attempts[self._current]
        if self._kill_at is None:
            late = current.virtual and current.witness.all_done  # the signal would hit the next attempt
            if self._cancel_requested.is_set() or (current.must_end and not late):
                self._kill_at = time.monotonic() + self._timing.grace
                self._cancelled = current
                why = "fenced" if current.fenced else "cancelled"
                runner.signal(signal.SIGTERM, f"{why}: SIGTERM to every rank")
        elif time.monotonic() > self._kill_at:
            runner.kill(f"not ended {self._timing.grace:g} s after SIGTERM: SIGKILL")

    def _ask_for_checkpoint(self, runner: RankRunner) -> None:
        """Forward a request for a checkpoint, once: mpirun and the guards pass the signal to every rank."""
        current = self._attempts[self._current]
        witness = current.witness
        if current.checkpoints > current.passed_on and witness.all_started and not witness.all_done:
            current.passed_on = current.checkpoints
            runner.signal(signal.SIGUSR1, "asked for a checkpoint: SIGUSR1 to every rank")

    def _collect(self, last: bool = False) -> None:
        """Number the output of the ranks; that of a shared process belongs to its current attempt."""
        attempt = self._attempts[self._current]
        for source in self._sources:
            for text, offset in source.read(last):
                attempt.book.add(source, text, offset)

    def _end(self, runner: RankRunner) -> list[SupervisedAttempt]:
        status, left = runner.finish()
        cause = runner.cause
        self._advance()
        self._collect(last=True)
        current, waiting = self._attempts[self._current], self._attempts[self._current + 1 :]
        if self._cancelled not in (None, current) and not self._cancel_requested.is_set() and not current.must_end:
            cause = "its process was ended because of another attempt in it, which had just completed"
        current.end(
            status,
            output=self._output,
            cancelled=self._cancelled is current,
            cause=cause,
            cause_at=runner.cause_at,
            left=left,
        )
        return [attempt for attempt in waiting if not attempt.end_unstarted()]
