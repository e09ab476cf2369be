"""Starts and watches the ranks of one launch, for `hooke run` and for the supervisor of a cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

from hooke.cluster import accounts
from hooke.cluster.guard import remove_segments
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.processes import children, descendants, lives, members, start_time
from hooke.cluster.tail import last_lines
from hooke.cluster.verdict import Outside, faults, signal_name
from hooke.cluster.watchdog import Watchdog
from hooke.cluster.witness import Witnessed

PROXY = "hydra_pmi_proxy"
"""Hydra's process between mpirun and the ranks of a host. Open MPI has none on mpirun's own host: mpirun is it."""
_PROXY_APPEARS = 10.0
"""Seconds within which Hydra's proxy appears below mpirun; after that, this MPI has none."""
_PROXY_GRACE = 1.0
"""Seconds for which ranks may be seen without their proxy: they end before it, unless it was killed."""
_MPIRUN_GRACE = 20.0
"""Seconds that mpirun may outlive its last proxy."""
_PROXY_LOST = ("control_cb", "assert (!closed) failed")
"""Parts of mpirun's message for a broken connection to its proxy."""
FAULT_GRACE = 8.0
"""Seconds that the other ranks may continue after a guard has recorded the failure of a rank."""


def remove_left(folders: Iterable[Path]) -> None:
    """Remove the shared memory that ranks have left whose guards were killed, too; none of them is alive."""
    for folder in folders:
        for note in folder.glob("segments.*"):
            remove_segments(str(note))


class RankRunner:
    """The processes of one launch, from start until none is left.

    mpirun (or the guard of a virtual world) gets SIGTERM when this process dies. The constructor raises
    LaunchError or OSError if it cannot be started.
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
        """`output`: file for the output of mpirun itself. `own_session`: Ctrl-C does not reach the ranks.

        `folder`: working directory of the ranks; None: that of this process. `say`: receives a message for every
        action on the ranks.
        """
        self._launch, self._launcher, self._output = launch, launcher, output
        self._family = launcher.family(launch)
        self._say = say or (lambda _: None)
        self._proxies: list[psutil.Process] = []
        """Those whose ranks have not ended, one for each host, or what the launch agent made of them."""
        self._proxy: psutil.Process | None = None
        """Of these, one that has died, or else any; None: none was seen."""
        self._orphaned_at: float | None = None
        self._killed = False
        self._failed_at: float | None = None
        self.cause = ""
        """Failure detected by this process, for which it ended the ranks."""
        self.cause_at = 0.0
        """Time at which the proxy, or Open MPI's mpirun, was last seen alive (monotonic)."""
        tether = [sys.executable, "-m", "hooke.cluster.guard", "--tether", str(os.getpid()), "--"]
        with accounts.own():
            log = output.open("ab")
        with log:
            self.process = subprocess.Popen(
                [*tether, *launcher.command(launch)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=accounts.environment(launcher.environment(launch, os.environ)),
                cwd=folder,
                start_new_session=own_session,
                **accounts.of_ranks(),
            )
        self._started = time.monotonic()

    def look(self, witness: Witnessed, watchdog: Watchdog | None) -> bool:
        """Read new records of the current attempt; return whether its ranks are still running.

        Ends the ranks if one has failed and the others wait for it, if Hydra's proxy has died, or if the watchdog
        demands it.
        """
        running = self.process.poll() is None
        exits = witness.exits() if self._launch.world == "mpi" else {}
        witness.look()  # after the exits: a rank that was done before its exit has written so by now
        if not running:
            return False
        if self._launch.world == "mpi":
            self._watch_proxy(all_ended=len(exits) == self._launch.ranks)
            self._watch_faults(bool(faults(exits, witness.done, witness.dropped)))
        if not self.cause and (why := self._launcher.cut_off()):
            self._end_for(why)
        if not self.cause and watchdog is not None and (why := watchdog.look()):
            self._end_for("; ".join([why, *self._launcher.stopped(self._launch.ids)]))
        return self.process.poll() is None

    waiting = ""
    """Why the ranks wait to be started: here they start at once."""
    outside: Outside | None = None
    """Here no scheduler ends them."""
    running = True
    """Whether the ranks have been started: here at once."""

    def signal(self, number: int, why: str = "") -> None:
        """Send a signal to mpirun, which forwards it to every rank; no effect after its end."""
        if why:
            self._say(why)
        if self._family == "openmpi" and number == signal.SIGTERM:
            number = signal.SIGUSR2  # on SIGTERM Open MPI kills its ranks; their guards make SIGTERM of this
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self, why: str) -> None:
        """Kill mpirun (SIGKILL); `finish` kills the remaining processes."""
        self._killed = True
        self.process.kill()
        self.process.wait()
        self._say(why)  # last, because it fails on a full disk

    def finish(self) -> tuple[int, list[int]]:
        """Wait for the end; return the status and the processes that could not be killed."""
        status = self.process.wait()
        if self._family == "openmpi" and status < 0 and not (self.cause or self._killed):
            self.cause = f"mpirun was killed by {signal_name(-status)}; its ranks ended because of that"
        if status > 0 and not self.cause and self._proxy and self._mpirun_lost_it():
            self.cause = self._proxy_died()
        left = self._launcher.sweep(self._launch.ids)
        if not left:
            remove_left(self._launch.folders)
        return status, left

    def _end_for(self, cause: str) -> None:
        self.cause = cause
        self.kill(cause)

    def _watch_proxy(self, all_ended: bool) -> None:
        """Detect that Hydra's proxy was killed: mpirun alone would wait for the orphaned ranks.

        Of several hosts, each proxy ends with its own ranks, and others may take longer. `all_ended`: every rank
        has an exit record, so that none can be orphaned.
        """
        if self._family != "hydra":
            self.cause_at = time.monotonic()
            return  # the end of Open MPI's mpirun is that of its daemon on this host
        now = time.monotonic()
        gone = [each for each in self._proxies if not lives(each)]
        if gone or now - self._started < _PROXY_APPEARS:
            self._find_proxies()
        if not self._proxies:
            return
        self._proxy = gone[0] if gone else self._proxies[0]
        if not gone:
            self.cause_at, self._orphaned_at = now, None
        elif not all_ended and self._orphans():
            self._orphaned_at = self._orphaned_at or now
            if now - self._orphaned_at > _PROXY_GRACE:
                self._end_for(self._proxy_died())
        elif rest := [each for each in self._proxies if each not in gone]:
            self._proxies, self._proxy = rest, rest[0]
            self.cause_at, self._orphaned_at = now, None
        elif now - self.cause_at > _MPIRUN_GRACE and all_ended:
            self.kill(f"mpirun still running {_MPIRUN_GRACE:g} s after all its ranks ended: SIGKILL")
        elif now - self.cause_at > _MPIRUN_GRACE:
            self._end_for(self._proxy_died())

    def _find_proxies(self) -> None:
        """Add the proxies that have appeared; where there is one, the other children of mpirun stand for some."""
        found = children(self.process.pid)
        if self._proxies or children(self.process.pid, PROXY):
            self._proxies += [each for each in found if each not in self._proxies]

    def _proxy_died(self) -> str:
        return f"{PROXY} (pid {self._proxy.pid if self._proxy else '?'}) died before its ranks"

    def _orphans(self) -> bool:
        """Return whether ranks have survived the proxy that started them: they descend from mpirun no longer."""
        found = members(self._launch.ids)
        kept = {self.process.pid, *descendants(self.process.pid)}
        return any(pid not in kept and start_time(pid) is not None for pid in found)  # it may have ended meanwhile

    def _mpirun_lost_it(self) -> bool:
        return any(all(part in line for part in _PROXY_LOST) for line in last_lines(self._output, 20))

    def _watch_faults(self, failed: bool) -> None:
        """End an mpirun that does not notice a failed rank: Hydra sometimes overlooks status 0."""
        self._failed_at = (self._failed_at or time.monotonic()) if failed else None
        if self._failed_at is not None and time.monotonic() - self._failed_at > FAULT_GRACE:
            self.kill(f"mpirun still running {FAULT_GRACE:g} s after a rank failed: SIGKILL")
