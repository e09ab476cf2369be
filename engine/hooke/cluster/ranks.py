"""One start of ranks: from the command line to the proof that no process is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

from hooke.cluster.attempt import Attempt
from hooke.cluster.job import Timing
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.processes import children, members, start_time, sweep
from hooke.cluster.tail import Source, last_lines
from hooke.cluster.verdict import faults
from hooke.errors import LaunchError

PROXY = "hydra_pmi_proxy"
_PROXY_APPEARS = 10.0
"""Seconds in which Hydra's proxy shows up below mpirun; after that, this MPI has none."""
_PROXY_GRACE = 1.0
"""Seconds after the proxy's end until its ranks are looked for: they ended before it, unless it was killed."""
_FAULT_GRACE = 8.0
"""Seconds that mpirun may go on after a guard has recorded that a rank failed."""
_MPIRUN_GRACE = 20.0
"""Seconds that mpirun may outlive its proxy, ranks or not."""
_PROXY_LOST = ("control_cb", "assert (!closed) failed")
"""How mpirun says that the connection to its proxy broke."""
_COLLECT = 0.5


class Ranks:
    """Runs attempts in one mpirun, or one process that works through several virtual ones."""

    def __init__(
        self,
        attempts: list[Attempt],
        launcher: Launcher,
        program: tuple[str, ...],
        timing: Timing,
        stop: asyncio.Event,
    ) -> None:
        first = attempts[0]
        self._attempts, self._launcher, self._timing, self._stop = attempts, launcher, timing, stop
        self._ids = [a.folder.id for a in attempts]
        self._launch = Launch(
            world="virtual" if first.virtual else "mpi",
            ranks=first.processes,
            folders=tuple(a.folder.path for a in attempts),
            ids=tuple(self._ids),
            program=program,
        )
        self._output = first.folder
        self._sources = [Source(first.folder.rank_log(r), r, "stdout") for r in range(first.processes)]
        self._sources.append(Source(first.folder.launcher_log, -1, "stderr"))
        for source in self._sources:
            source.offset = max(a.book.offsets.get(source.name, 0) for a in attempts)
        self._current = 0
        self._kill_at: float | None = None
        self._asked: Attempt | None = None
        self._proxy: tuple[int, int] | None = None
        self._proxy_seen = 0.0
        self._failed_at: float | None = None
        self._cause = ""

    async def run(self) -> list[Attempt]:
        """Start, watch, end, judge; return the attempts that still wait for their turn."""
        for attempt in self._attempts:
            attempt.prepare()
        try:
            process = self._start()
        except (LaunchError, OSError) as error:
            self._attempts[0].end(None, cause=f"the ranks could not be started: {error}")
            return self._attempts[1:]
        collected = started = time.monotonic()
        while process.poll() is None:
            self._advance()
            self._obey(process)
            self._ask_for_checkpoint(process)
            if self._launch.world == "mpi":
                self._watch_proxy(process, started)
                self._watch_faults(process)
            if time.monotonic() - collected > _COLLECT:
                collected = time.monotonic()
                self._collect()
            await asyncio.sleep(self._timing.look)
        return self._end(process.returncode)

    def _start(self) -> subprocess.Popen[bytes]:
        tether = [sys.executable, "-m", "hooke.guard", "--tether", str(os.getpid()), "--"]
        command = self._launcher.command(self._launch)
        with self._output.launcher_log.open("ab") as log:
            return subprocess.Popen(
                [*tether, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._launcher.environment(self._launch, os.environ),
                cwd=self._output.path,
            )

    def _advance(self) -> None:
        """Follow a shared process to the attempt that it is working on, and judge the one behind it."""
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

    def _obey(self, process: subprocess.Popen[bytes]) -> None:
        """Pass a wish to end on: SIGTERM, and SIGKILL after the grace."""
        current = self._attempts[self._current]
        if self._kill_at is None:
            late = current.virtual and current.witness.all_done  # the signal would hit the one behind it
            if self._stop.is_set() or (current.must_end and not late):
                self._kill_at = time.monotonic() + self._timing.grace
                self._asked = current
                current.book.say("asked to end: SIGTERM to every rank")
                process.send_signal(signal.SIGTERM)
        elif time.monotonic() > self._kill_at:
            self._kill(process, f"not ended {self._timing.grace:g} s after SIGTERM: SIGKILL")

    def _ask_for_checkpoint(self, process: subprocess.Popen[bytes]) -> None:
        """Pass a wish for a checkpoint on, once: mpirun and the guards hand the signal to every rank."""
        current = self._attempts[self._current]
        witness = current.witness
        if current.checkpoints > current.passed_on and witness.all_started and not witness.all_done:
            current.passed_on = current.checkpoints
            current.book.say("asked for a checkpoint: SIGUSR1 to every rank")
            process.send_signal(signal.SIGUSR1)

    def _kill(self, process: subprocess.Popen[bytes], why: str) -> None:
        self._attempts[self._current].book.say(why)
        process.kill()
        process.wait()

    def _watch_proxy(self, process: subprocess.Popen[bytes], started: float) -> None:
        """Notice that Hydra's proxy was killed: mpirun alone would wait for orphaned ranks to the end."""
        now = time.monotonic()
        if self._proxy is None:
            if now - started < _PROXY_APPEARS:
                found = [(p, s.started) for p, s in children(process.pid).items() if s.name == PROXY]
                self._proxy, self._proxy_seen = (found[0] if found else None), now
        elif start_time(self._proxy[0]) == self._proxy[1]:
            self._proxy_seen = now
        elif now - self._proxy_seen > (_PROXY_GRACE if self._orphans(process.pid) else _MPIRUN_GRACE):
            self._cause = f"{PROXY} (pid {self._proxy[0]}) died before its ranks"
            self._kill(process, self._cause)

    def _watch_faults(self, process: subprocess.Popen[bytes]) -> None:
        """End an mpirun that does not notice that a rank failed: Hydra overlooks status 0 now and then."""
        witness = self._attempts[self._current].witness
        exits = witness.exits()
        witness.look()  # after the exits: who was done before them has said so by now
        failed = bool(faults(exits, witness.done))
        self._failed_at = (self._failed_at or time.monotonic()) if failed else None
        if self._failed_at is not None and time.monotonic() - self._failed_at > _FAULT_GRACE:
            self._kill(process, f"mpirun goes on {_FAULT_GRACE:g} s after a rank failed: SIGKILL")

    def _collect(self, last: bool = False) -> None:
        """Number what the ranks printed; a shared process speaks for the attempt it is working on."""
        attempt = self._attempts[self._current]
        for source in self._sources:
            for text, offset in source.read(last):
                attempt.book.add(source, text, offset)

    def _end(self, status: int) -> list[Attempt]:
        if status > 0 and not self._cause and self._proxy and self._mpirun_lost_it():
            self._cause = f"{PROXY} (pid {self._proxy[0]}) died before its ranks"
        left = sweep(self._ids)
        self._advance()
        self._collect(last=True)
        current, waiting = self._attempts[self._current], self._attempts[self._current + 1 :]
        if self._asked not in (None, current) and not self._stop.is_set() and not current.must_end:
            self._cause = "its process was ended for another attempt in it, which was just done"
        current.end(
            status,
            output=self._output,
            cancelled=self._asked is current,
            cause=self._cause,
            cause_at=self._proxy_seen,
            left=left,
        )
        return [attempt for attempt in waiting if not attempt.end_unstarted()]

    def _orphans(self, mpirun: int) -> bool:
        """Return whether ranks live on without the proxy that started them."""
        return any(pid != mpirun for pid in members(self._ids))

    def _mpirun_lost_it(self) -> bool:
        lines = last_lines(self._output.launcher_log, 20)
        return any(all(part in line for part in _PROXY_LOST) for line in lines)
