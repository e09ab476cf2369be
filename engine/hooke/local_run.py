"""Start the ranks of one run on this machine and see it to its end, without any server.

What `hooke run` does, as functions: `prepare` a folder, `start` it, `poll` until it has ended, `finish`. The
folder looks like an attempt's on a cluster (docs: `hooke.cluster.places`), the ranks are started by the same
launcher, and the same `judge` says how it ended. mpirun runs in its own session, so that Ctrl-C reaches only
the caller; it gets SIGTERM when the caller dies.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections import deque
from pathlib import Path

from hooke.cluster.launchers.base import TRAIN, Launch, Launcher
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.places import AttemptFolder, write_atomically
from hooke.cluster.processes import members, signal_all, sweep
from hooke.cluster.verdict import Evidence, judge
from hooke.cluster.witness import Witness
from hooke.errors import CheckpointError, LaunchError
from hooke.events import RankExit, StateReport
from hooke.spec import RunSpec, canonical

LEFT_BEHIND = (
    "journal.*.jsonl", "trace.*.bin", "final.*.npz", "exit.*.json", "rank.*.log", "launcher.log", "spec.json"
)  # fmt: skip
"""What a resumed run would mix up with its own; it is moved into a folder `before.<n>`."""
PATIENCE = 3.0
"""Seconds between a rank's end without its last record and the end of the others, who may wait for it."""
BACKSTOP = 60.0
"""Seconds behind its wall limit after which a run is ended from outside: a rank that hangs cannot stop itself."""
LOG_LINES = 60
"""Last lines of each rank's output that are evidence."""


def prepare(folder: Path, spec: RunSpec, resume: bool = False) -> None:
    """Make `folder` ready: private, with spec.json in it.

    Raises LaunchError if it holds anything, or, to `resume`, CheckpointError if it holds no complete checkpoint.
    What the run left there before a resume moves into its folder `before.<n>`; the checkpoints stay.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if resume:
        if not any(folder.glob("checkpoints/*/complete.json")):
            raise CheckpointError(f"{folder} holds no complete checkpoint to go on from")
        _set_aside(folder)
    elif any(folder.iterdir()):
        raise LaunchError(f"{folder} is not empty: name another folder, or go on from its checkpoint (--resume)")
    write_atomically(folder / "spec.json", canonical(spec))


def _set_aside(folder: Path) -> None:
    earlier = folder / f"before.{sum(1 for _ in folder.glob('before.*')) + 1}"
    earlier.mkdir()
    for pattern in LEFT_BEHIND:
        for path in folder.glob(pattern):
            path.rename(earlier / path.name)


class LocalRun:
    """A run that has been started: its processes, and what its files say so far."""

    def __init__(self, spec: RunSpec, folder: AttemptFolder, process: subprocess.Popen[bytes]) -> None:
        self.spec = spec
        self.folder = folder
        self.witness = Witness(folder, spec.ranks)
        self._process = process
        self._cancelled = False
        self._unfinished_since: float | None = None
        self._running_since: float | None = None
        self._cause = ""

    def poll(self) -> bool:
        """Read what is new; return whether the run is still going on.

        A rank that ended without its last record leaves the others waiting: they are ended after PATIENCE. So
        is a run that goes on BACKSTOP seconds behind its wall limit.
        """
        running = self._process.poll() is None
        self.witness.look()
        if running and any(x.rank not in self.witness.done for x in self._mpi_exits()):
            now = time.monotonic()
            self._unfinished_since = self._unfinished_since or now
            if now - self._unfinished_since > PATIENCE:
                self.kill()
        if running and not self._cause:
            self._watch_limit()
        return running

    def _watch_limit(self) -> None:
        limit = self.spec.budget.max_seconds if self.spec.world == "mpi" else None  # else they are virtual seconds
        if limit is None or not self.witness.all_started:
            return
        now = time.monotonic()
        self._running_since = self._running_since or now
        if now - self._running_since > limit + BACKSTOP:
            self._cause = f"still running {BACKSTOP:g} s behind its wall limit of {limit:g} s: a rank hangs"
            self.kill()

    def _mpi_exits(self) -> list[RankExit]:
        """A virtual world's one process stands for all of its ranks: its end is the end of the run."""
        return list(self.witness.exits().values()) if self.spec.world == "mpi" else []

    def cancel(self) -> None:
        """Ask all ranks to stop together, and to leave a checkpoint; nothing if the run has ended already."""
        if self._process.poll() is None:
            self._cancelled = True
            self._process.send_signal(signal.SIGTERM)

    def checkpoint(self) -> None:
        """Ask for a checkpoint; the run goes on. Nothing if it has ended already."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End every process of the run at once."""
        signal_all(members([self.folder.id]), signal.SIGKILL)
        self._process.kill()

    def finish(self) -> StateReport:
        """Wait for the end, leave no process behind, and return how the run ended."""
        status = self._process.wait()
        left = sweep([self.folder.id])
        self.witness.look()
        ranks = range(self.spec.ranks if self.spec.world == "mpi" else 1)
        return judge(
            Evidence(
                ranks=self.spec.ranks,
                status=status,
                exits=self.witness.exits(),
                done=self.witness.done,
                logs={rank: _last_lines(self.folder.rank_log(rank)) for rank in ranks},
                host=os.uname().nodename,
                cancelled=self._cancelled,
                cause=self._cause,
                damaged=self.witness.damaged,
                left=left,
            )
        )


def start(
    folder: Path,
    spec: RunSpec,
    resume: bool = False,
    program: tuple[str, ...] = TRAIN,
    replay: Path | None = None,
    launcher: Launcher | None = None,
) -> LocalRun:
    """Start the ranks of a prepared folder; raises LaunchError where mpirun is missing.

    `program` is what a rank runs, as arguments of Python that the folder follows. `replay`: the server is to
    answer in the order that the journals in this folder tell (see `hooke.replay`). `launcher`: who starts the
    ranks, by default mpirun on this machine; wherever it starts them, they must see this folder, and their
    processes must be this machine's for `kill` to reach them.
    """
    if replay is not None:
        program = (*program, "--replay", str(replay.resolve()))
    attempt = AttemptFolder(folder.resolve(), f"local-{uuid.uuid4().hex[:12]}", 1)
    launch = Launch(
        world=spec.world,
        ranks=spec.ranks,
        folders=(attempt.path,),
        ids=(attempt.id,),
        program=(*program, "--resume") if resume else program,
    )
    launcher = launcher or LocalLauncher()
    tether = [sys.executable, "-m", "hooke.guard", "--tether", str(os.getpid()), "--"]
    with attempt.launcher_log.open("ab") as output:
        process = subprocess.Popen(
            [*tether, *launcher.command(launch)],
            env=launcher.environment(launch, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return LocalRun(spec, attempt, process)


def _last_lines(path: Path) -> list[str]:
    try:
        with path.open(errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, LOG_LINES)]
    except FileNotFoundError:
        return []
