"""One launch of ranks under a supervisor: current attempt, requests to the ranks, and their output."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from hooke.cluster.attempt import SupervisedAttempt, described_error
from hooke.cluster.batch import BatchRunner, Launched
from hooke.cluster.job import Timing
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.launchers.batch import BatchLauncher
from hooke.cluster.places import AttemptFolder, described
from hooke.cluster.runner import RankRunner
from hooke.cluster.sampling import Sampler
from hooke.cluster.tail import OutputSource
from hooke.cluster.watchdog import Watchdog
from hooke.errors import LaunchError

_COLLECT = 0.5
Runner = RankRunner | BatchRunner
Found = tuple[AttemptFolder, Launched]
"""A job of an earlier supervisor, with the folder of its first attempt."""


def _sources(attempt: SupervisedAttempt) -> list[OutputSource]:
    found = [OutputSource(attempt.folder.rank_log(r), r, "stdout") for r in range(attempt.processes)]
    for source in found:
        source.offset = attempt.book.offsets.get(source.name, 0)
    return found


def _logs(attempt: SupervisedAttempt) -> set[Path]:
    """Return the logs that exist: a rank opens its own at the beginning of a run."""
    return {path for r in range(attempt.processes) if os.access(path := attempt.folder.rank_log(r), os.F_OK)}


class Ranks:
    """Runs one attempt, or several that share its processes, one after the other."""

    def __init__(
        self,
        attempts: list[SupervisedAttempt],
        launcher: Launcher,
        program: tuple[str, ...],
        timing: Timing,
        cancel_requested: asyncio.Event,
        found: Found | None = None,
    ) -> None:
        """`found`: go on watching the job of an earlier supervisor instead of starting one."""
        first, processes = attempts[0], max(attempt.processes for attempt in attempts)
        self._attempts, self._launcher, self._timing = attempts, launcher, timing
        self._cancel_requested, self._found = cancel_requested, found
        self._launch = Launch(
            world="virtual" if first.virtual else "mpi",
            ranks=processes,
            folders=tuple(a.folder.ranks for a in attempts),
            ids=tuple(a.folder.id for a in attempts),
            program=program,
        )
        self._launcher_log = first.folder.launcher_log
        self._launcher_output = OutputSource(self._launcher_log, -1, "stderr")
        self._launcher_output.offset = first.book.offsets.get(self._launcher_output.name, 0)
        self._rank_output = [_sources(attempt) for attempt in attempts]
        self._watchdogs = [
            Watchdog(a.spec, a.witness, timing.backstop, last=a is attempts[-1]) if a.spec else None
            for a in attempts
        ]
        self._samplers = [Sampler(attempt.folder.system, attempt.witness.started) for attempt in attempts]
        self._old_logs = set[Path]().union(*map(_logs, attempts))
        self._current = 0
        self._kill_at: float | None = None
        self._cancelled: SupervisedAttempt | None = None

    async def run(self) -> list[SupervisedAttempt]:
        """Start, watch and end the ranks, and report; return the attempts that have not run yet."""
        self._attempts[0].starting()
        try:
            prepared = [attempt.prepare() for attempt in self._attempts if self._found is None]
            if any(prepared):  # a run without a checkpoint starts from the beginning all the same
                self._launch = replace(self._launch, program=(*self._launch.program, "--resume"))
            runner = self._start()
        except (LaunchError, OSError) as error:
            why = described(error) if isinstance(error, OSError) else str(error)
            self._attempts[0].end(None, cause=f"the ranks could not be started: {why}")
            return self._attempts[1:]
        try:
            await self._watch(runner)
        except Exception as error:  # any error: its ranks must not go on without a supervisor
            why = f"its supervisor could not go on: {described_error(error)}"
            runner.kill(why)
            return self._cut_off(runner, why)
        return self._end(runner)

    async def _watch(self, runner: Runner) -> None:
        collected = time.monotonic()
        while runner.look(self._attempts[self._current].witness, self._watchdogs[self._current]):
            self._advance()
            if runner.waiting:
                self._attempts[self._current].wait(runner.waiting)
            self._end_cancelled()
            self._cancel(runner)
            self._ask_for_checkpoint(runner)
            if time.monotonic() - collected > _COLLECT:
                collected = time.monotonic()
                self._collect(self._current)
                self._samplers[self._current].look()
            await asyncio.sleep(self._timing.look)

    def _start(self) -> Runner:
        """Start the ranks, or find their job again. Raises LaunchError or OSError."""
        first = self._attempts[0].folder
        if isinstance(self._launcher, BatchLauncher):
            place, note = self._found or (first, None)
            if note is not None:
                self._launch = replace(self._launch, ids=note.ids)
            return BatchRunner(self._launch, self._launcher, self._say, folder=place, found=note)
        return RankRunner(self._launch, self._launcher, self._launcher_log, self._say, folder=first.ranks)

    def _say(self, text: str) -> None:
        self._attempts[self._current].book.say(text)

    def _advance(self) -> None:
        """Follow a shared process to its current attempt, and report the end of the previous one."""
        self._attempts[self._current].look()
        for i in range(self._current + 1, len(self._attempts)):
            if self._attempts[i].folder.begun():
                for k, passed in enumerate(self._attempts[self._current : i], self._current):
                    if passed.folder.begun() or not passed.end_unstarted():
                        self._samplers[k].end()
                        self._collect(k, last=True)
                        passed.starting()
                        passed.end(0)
                self._current = i
                self._attempts[i].starting()
                self._attempts[i].look()
            elif not self._attempts[i].cancelled:
                return

    def _end_cancelled(self) -> None:
        """Report the end of attempts that were cancelled while they wait; the next one may be about to begin."""
        for attempt in self._attempts[self._current + 2 :]:
            if attempt.must_end and not attempt.folder.begun():
                attempt.end_unstarted()

    def _cancel(self, runner: Runner) -> None:
        """Forward a cancel to the ranks: SIGTERM, and SIGKILL after the grace period."""
        current = self._attempts[self._current]
        if self._kill_at is None:
            late = len(self._attempts) > 1 and current.witness.all_done  # the signal would hit the next attempt
            if self._cancel_requested.is_set() or (current.must_end and not late):
                self._kill_at = time.monotonic() + self._timing.grace
                self._cancelled = current
                why = "fenced" if current.fenced else "cancelled"
                runner.signal(signal.SIGTERM, f"{why}: SIGTERM to every rank")
        elif time.monotonic() > self._kill_at:
            self._kill_at = time.monotonic() + self._timing.grace  # a scheduler may take its time, or not listen
            runner.kill(f"not ended {self._timing.grace:g} s after SIGTERM: SIGKILL")

    def _ask_for_checkpoint(self, runner: Runner) -> None:
        """Forward a request for a checkpoint, once: mpirun and the guards pass the signal to every rank."""
        current = self._attempts[self._current]
        witness = current.witness
        if current.checkpoints > current.passed_on and witness.all_started and not witness.all_done:
            current.passed_on = current.checkpoints
            runner.signal(signal.SIGUSR1, "asked for a checkpoint: SIGUSR1 to every rank")

    def _collect(self, which: int, last: bool = False, launcher_ended: bool = False) -> None:
        """Number the output of an attempt's ranks, and that of the launcher meanwhile."""
        book = self._attempts[which].book
        outputs = [(source, last) for source in self._rank_output[which]]
        for source, complete in [*outputs, (self._launcher_output, launcher_ended)]:
            for text, offset in source.read(complete):
                book.add(source, text, offset)

    def _pass_over_completed(self) -> None:
        """If the current attempt had completed and the next one had opened its log, that one has failed."""
        current = self._attempts[self._current]
        if not current.witness.all_done or self._cancelled is not None:
            return
        for i in range(self._current + 1, len(self._attempts)):
            if _logs(self._attempts[i]) - self._old_logs:
                current.end(0)
                self._current = i
                self._attempts[i].starting()
                self._collect(i, last=True)
                return

    def _cut_off(self, runner: Runner, why: str) -> list[SupervisedAttempt]:
        """Report the end of the current attempt, whose files are not read any further."""
        status, left = runner.finish()
        current, waiting = self._attempts[self._current], self._attempts[self._current + 1 :]
        current.end(status, cancelled=self._cancelled is current, cause=why, left=left, outside=runner.outside)
        return [attempt for attempt in waiting if not attempt.end_unstarted()]

    def _end(self, runner: Runner) -> list[SupervisedAttempt]:
        self._samplers[self._current].end()
        status, left = runner.finish()
        cause = runner.cause
        self._advance()
        self._samplers[self._current].end()
        self._collect(self._current, last=True, launcher_ended=True)
        if status != 0:
            self._pass_over_completed()
        current, waiting = self._attempts[self._current], self._attempts[self._current + 1 :]
        if self._cancelled not in (None, current) and not self._cancel_requested.is_set() and not current.must_end:
            cause = "its process was ended because of another attempt in it, which had just completed"
        current.end(
            status,
            cancelled=self._cancelled is current,
            cause=cause,
            cause_at=runner.cause_at,
            left=left,
            outside=runner.outside,
        )
        return [attempt for attempt in waiting if not attempt.end_unstarted()]
