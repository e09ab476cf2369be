"""One start of ranks, watched: what `hooke run` and the supervisor of a cluster have in common."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.processes import children, lives, members, sweep
from hooke.cluster.tail import last_lines
from hooke.cluster.verdict import faults
from hooke.cluster.watchdog import Watchdog
from hooke.cluster.witness import Witness

PROXY = "hydra_pmi_proxy"
_PROXY_APPEARS = 10.0
"""Seconds in which Hydra's proxy shows up below mpirun; after that, this MPI has none."""
_PROXY_GRACE = 1.0
"""Seconds after the proxy's end until its ranks are looked for: they ended before it, unless it was killed."""
_MPIRUN_GRACE = 20.0
"""Seconds that mpirun may outlive its proxy, ranks or not."""
_PROXY_LOST = ("control_cb", "assert (!closed) failed")
"""How mpirun says that the connection to its proxy broke."""
FAULT_GRACE = 8.0
"""Seconds that the others may go on after a guard has recorded that a rank failed."""


class RankRunner:
    """The processes of one launch, from the command line to the proof that none is left.

    mpirun (or the guard of a virtual world) gets SIGTERM when this process dies. Making one raises LaunchError,
    or OSError, where it cannot be started.
    """

    def __init__(
        self,
        launch: Launch,
        launcher: Launcher,
        output: Path,
        say: Callable[[str], None] | None = None,
        *,
        own_session: bool = False,
        folder: Path | None = None,
    ) -> None:
        """`output`: the file that gets what mpirun itself says. `own_session`: Ctrl-C does not reach the ranks.

        `folder`: where they start; None: where this process is. `say` is told what is done to the ranks.
        """
        self._launch, self._output = launch, output
        self._say = say or (lambda _: None)
        self._proxy: psutil.Process | None = None
        self._failed_at: float | None = None
        self.cause = ""
        """What this process itself saw go wrong, and ended the ranks for."""
        self.cause_at = 0.0
        """Until when the proxy was seen alive (monotonic)."""
        tether = [sys.executable, "-m", "hooke.cluster.guard", "--tether", str(os.getpid()), "--"]
        with output.open("ab") as log:
            self.process = subprocess.Popen(
                [*tether, *launcher.command(launch)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=launcher.environment(launch, os.environ),
                cwd=folder,
                start_new_session=own_session,
            )
        self._started = time.monotonic()

    def look(self, witness: Witness, watchdog: Watchdog | None) -> bool:
        """Read what is new of the attempt that the ranks work on; return whether they still run.

        Ends them where a rank has failed and the others wait for it, where Hydra's proxy is gone, and where the
        watchdog says so.
        """
        running = self.process.poll() is None
        exits = witness.exits() if self._launch.world == "mpi" else {}
        witness.look()  # after the exits: who was done before them has said so by now
        if not running:
            return False
        if self._launch.world == "mpi":
            self._watch_proxy()
            self._watch_faults(bool(faults(exits, witness.done)))
        if not self.cause and watchdog is not None and (why := watchdog.look()):
            self._end_for(why)
        return self.process.poll() is None

    def signal(self, number: int, why: str = "") -> None:
        """Send a signal to mpirun, which hands it to every rank; nothing where it has ended."""
        if why:
            self._say(why)
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self, why: str) -> None:
        """End mpirun at once (SIGKILL); `finish` ends whatever it leaves behind."""
        self.process.kill()
        self.process.wait()
        self._say(why)  # on a full disk this fails, and they are gone all the same

    def finish(self) -> tuple[int, list[int]]:
        """Wait for the end; return its status, and the processes that no signal could end."""
        status = self.process.wait()
        if status > 0 and not self.cause and self._proxy and self._mpirun_lost_it():
            self.cause = self._proxy_died()
        return status, sweep(self._launch.ids)

    def _end_for(self, cause: str) -> None:
        self.cause = cause
        self.kill(cause)

    def _watch_proxy(self) -> None:
        """Notice that Hydra's proxy was killed: mpirun alone would wait for orphaned ranks to the end."""
        now = time.monotonic()
        if self._proxy is None:
            if now - self._started < _PROXY_APPEARS:
                self._proxy, self.cause_at = next(iter(children(self.process.pid, PROXY)), None), now
        elif lives(self._proxy):
            self.cause_at = now
        elif now - self.cause_at > (_PROXY_GRACE if self._orphans() else _MPIRUN_GRACE):
            self._end_for(self._proxy_died())

    def _proxy_died(self) -> str:
        return f"{PROXY} (pid {self._proxy.pid if self._proxy else '?'}) died before its ranks"

    def _orphans(self) -> bool:
        """Return whether ranks live on without the proxy that started them."""
        return any(pid != self.process.pid for pid in members(self._launch.ids))

    def _mpirun_lost_it(self) -> bool:
        return any(all(part in line for part in _PROXY_LOST) for line in last_lines(self._output, 20))

    def _watch_faults(self, failed: bool) -> None:
        """End an mpirun that does not notice that a rank failed: Hydra overlooks status 0 now and then."""
        self._failed_at = (self._failed_at or time.monotonic()) if failed else None
        if self._failed_at is not None and time.monotonic() - self._failed_at > FAULT_GRACE:
            self.kill(f"mpirun goes on {FAULT_GRACE:g} s after a rank failed: SIGKILL")
