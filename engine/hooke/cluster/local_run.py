"""Start the ranks of one run on this machine and see it to its end, without any server.

What `hooke run` does, as functions: `prepare` a folder, `start` it, `poll` until it has ended, `finish`. The
folder looks like an attempt's on a cluster (docs: `hooke.cluster.places`), the ranks are started by the same
runner (`hooke.cluster.runner`), and the same `judge` says how it ended.
"""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

from hooke.catalogue.algorithm import ranks_of
from hooke.cluster.launchers.base import TRAIN, Launch, Launcher
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.places import AttemptFolder, write_atomically
from hooke.cluster.processes import members, signal_all
from hooke.cluster.runner import RankRunner
from hooke.cluster.tail import last_lines
from hooke.cluster.verdict import Evidence, judge
from hooke.cluster.watchdog import BACKSTOP, Watchdog
from hooke.cluster.witness import Witness
from hooke.errors import CheckpointError, LaunchError
from hooke.spec.events import StateReport
from hooke.spec.specification import RunSpec, canonical

LEFT_BEHIND = (
    "journal.*.jsonl", "trace.*.bin", "final.*.npz", "exit.*.json", "rank.*.log", "launcher.log", "spec.json"
)  # fmt: skip
"""What a resumed run would mix up with its own; it is moved into a folder `before.<n>`."""
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

    def __init__(self, spec: RunSpec, folder: AttemptFolder, runner: RankRunner, backstop: float) -> None:
        self.spec = spec
        self.folder = folder
        self.witness = Witness(folder, ranks_of(spec))
        self._runner = runner
        self._watchdog = Watchdog(spec, self.witness, backstop)
        self._cancelled = False

    def poll(self) -> bool:
        """Read what is new, and end ranks that cannot go on; return whether the run is still going on."""
        return self._runner.look(self.witness, self._watchdog)

    def cancel(self) -> None:
        """Have all ranks end together, and leave a checkpoint (SIGTERM); nothing if the run has ended already."""
        if self._runner.process.poll() is None:
            self._cancelled = True
            self._runner.signal(signal.SIGTERM)

    def checkpoint(self) -> None:
        """Ask for a checkpoint; the run goes on. Nothing if it has ended already."""
        self._runner.signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End every process of the run at once (SIGKILL)."""
        signal_all(members([self.folder.id]), signal.SIGKILL)
        self._runner.process.kill()

    def finish(self) -> StateReport:
        """Wait for the end, leave no process behind, and return how the run ended."""
        status, left = self._runner.finish()
        self.witness.look()
        ranks = range(ranks_of(self.spec) if self.spec.world == "mpi" else 1)
        return judge(
            Evidence(
                ranks=ranks_of(self.spec),
                status=status,
                exits=self.witness.exits(),
                done=self.witness.done,
                logs={rank: last_lines(self.folder.rank_log(rank), LOG_LINES) for rank in ranks},
                host=os.uname().nodename,
                cancelled=self._cancelled,
                cause=self._runner.cause,
                cause_at=self._runner.cause_at,
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
    backstop: float = BACKSTOP,
) -> LocalRun:
    """Start the ranks of a prepared folder; raises LaunchError where mpirun is missing.

    `program` is what a rank runs, as arguments of Python that the folder follows. `replay`: the server is to
    answer in the order that the journals in this folder tell (see `hooke.loop.replay`). `launcher`: who starts the
    ranks, by default mpirun on this machine; wherever it starts them, they must see this folder, and their
    processes must be this machine's for `kill` to reach them. `backstop`: seconds that they have behind the run's
    wall limit to end by themselves.
    """
    if replay is not None:
        program = (*program, "--replay", str(replay.resolve()))
    attempt = AttemptFolder(folder.resolve(), f"local-{uuid.uuid4().hex[:12]}", 1)
    launch = Launch(
        world=spec.world,
        ranks=ranks_of(spec),
        folders=(attempt.path,),
        ids=(attempt.id,),
        program=(*program, "--resume") if resume else program,
    )
    # Ctrl-C reaches only the caller, who cancels
    runner = RankRunner(launch, launcher or LocalLauncher(), attempt.launcher_log, own_session=True)
    return LocalRun(spec, attempt, runner, backstop)
