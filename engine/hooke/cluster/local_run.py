"""Executes one run on this machine, without a server.

The functions behind `hooke run`: `prepare` a folder, `start` the ranks, `poll` until they have ended, `finish`.
The folder has the layout of an attempt on a cluster (`hooke.cluster.places`), and the same runner
(`hooke.cluster.runner`) and `judge` are used.
"""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from pathlib import Path
from typing import Any

from hooke.catalogue.algorithm import ranks_of
from hooke.cluster.earlier import COMPLETE
from hooke.cluster.energy import EnergyMeter
from hooke.cluster.gpus import GpuMeter, of_both
from hooke.cluster.launchers.base import TRAIN, Launch, Launcher
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.places import AttemptFolder, write_atomically
from hooke.cluster.processes import members, signal_all
from hooke.cluster.runner import RankRunner
from hooke.cluster.tail import last_lines, last_words
from hooke.cluster.verdict import Evidence, judge
from hooke.cluster.watchdog import BACKSTOP, Watchdog
from hooke.cluster.witness import Witness
from hooke.errors import CheckpointError, LaunchError
from hooke.spec.events import StateReport
from hooke.spec.resuming import identity
from hooke.spec.specification import RunSpec, canonical

LEFT_BEHIND = (
    "journal.*.jsonl", "trace.*.bin", "final.*.npz", "exit.*.json", "rank.*.log", "launcher.log", "spec.json"
)  # fmt: skip
"""Files of the earlier execution, which a resumed run moves into a folder `before.<n>`."""
LOG_LINES = 60
"""Number of last lines of each rank's output used as evidence."""


def prepare(folder: Path, spec: RunSpec, resume: bool = False) -> None:
    """Create `folder`, private, with spec.json.

    Raises LaunchError if it is not empty or cannot be written, or, with `resume`, CheckpointError if it has no
    checkpoint of this run; nothing is changed then. On `resume`, files of the earlier execution are moved to
    `before.<n>`, except the checkpoints.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if resume:
            resumes_from(folder, spec)
            _set_aside(folder)
        elif any(folder.iterdir()):
            raise LaunchError(f"{folder} is not empty: use another one, or resume from its checkpoint (--resume)")
        write_atomically(folder / "spec.json", canonical(spec))
    except OSError as error:
        raise LaunchError(f"{folder} cannot be written: {error.strerror}; use another folder") from None


def resumes_from(folder: Path, spec: RunSpec) -> str:
    """Return where a run in this folder resumes, in a sentence with what else there is.

    Raises CheckpointError if it has no complete checkpoint, or that of another run.
    """
    places = [place for place in folder.glob("checkpoints/*") if place.name.isdigit()]
    complete, partial = [], []
    for place in sorted(places, key=lambda place: int(place.name)):
        ranks = sum(1 for _ in place.glob("rank.*.npz"))
        whole = (place / COMPLETE).exists()
        partial += [] if whole else [f"{int(place.name):,} samples ({ranks} of {ranks_of(spec)} ranks)"]
        complete += [int(place.name)] if whole else []
    left_out = f"; incomplete and not used: {', '.join(partial)}" if partial else ""
    if not complete:
        raise CheckpointError(
            f"{folder} has no complete checkpoint to resume from{left_out or ': none was written'}; "
            "start the run again, in another folder"
        )
    *earlier, newest = complete
    _check_identity(folder / "checkpoints" / str(newest), spec)
    kept = f"; an earlier one is at {earlier[-1]:,}" if earlier else ""
    return f"resuming at {newest:,} of {spec.budget.samples:,} samples, from a checkpoint{kept}{left_out}"


def _check_identity(checkpoint: Path, spec: RunSpec) -> None:
    """Raise CheckpointError if a checkpoint says that it belongs to another run: before anything is moved."""
    try:
        told = json.loads((checkpoint / COMPLETE).read_text()).get("identity")
    except (OSError, ValueError, AttributeError):
        return  # its ranks say what is wrong with it
    if told not in (None, identity(spec)):
        raise CheckpointError(
            f"{checkpoint} belongs to another run: only budget, target and checkpoints may differ"
        )


def _set_aside(folder: Path) -> None:
    earlier = folder / f"before.{sum(1 for _ in folder.glob('before.*')) + 1}"
    earlier.mkdir()
    for pattern in LEFT_BEHIND:
        for path in folder.glob(pattern):
            path.rename(earlier / path.name)


class LocalRun:
    """A started run: its processes and the state read from its files."""

    def __init__(self, spec: RunSpec, folder: AttemptFolder, runner: RankRunner, backstop: float) -> None:
        self.spec = spec
        self.folder = folder
        self.witness = Witness(folder, ranks_of(spec))
        self._runner = runner
        self._watchdog = Watchdog(spec, self.witness, backstop)
        self._cancelled = False
        self._meter, self._gpus = EnergyMeter(), GpuMeter()
        self._metered = False

    def poll(self) -> bool:
        """Read new records and end ranks that cannot continue; return whether the run is still active."""
        active = self._runner.look(self.witness, self._watchdog)
        now = time.monotonic()
        if self.spec.world == "mpi" and self.witness.started and (not self._metered or self._meter.due(now)):
            self._metered = True
            self._meter.read(now)
        if self.spec.world == "mpi":
            self._gpus.look(now, self.witness.started.values(), os.uname().nodename)
        return active

    def energy(self) -> dict[str, Any]:
        """Return `energy_j`, joules of the whole machine while the ranks ran, or null, and a note about it.

        After `finish`. Of a virtual run there is none: it would be that of the simulation.
        """
        if self.spec.world == "virtual":
            return {"energy_j": None, "energy_note": "simulated"}
        told = f"of the whole machine in {self._meter.seconds:.1f} s"
        joules, note = of_both(self._meter.joules, self._meter.lacking, self._gpus)
        if joules is not None:
            note = f"{told}; {note}" if note else told
        return {"energy_j": joules, "energy_note": note}

    def cancel(self) -> None:
        """Cancel the run: SIGTERM, ranks end together with a checkpoint. No effect after the end of the run."""
        if self._runner.process.poll() is None:
            self._cancelled = True
            self._runner.signal(signal.SIGTERM)

    def checkpoint(self) -> None:
        """Request a checkpoint; the run continues. No effect after the end of the run."""
        self._runner.signal(signal.SIGUSR1)

    def kill(self) -> None:
        """End every process of the run at once (SIGKILL)."""
        signal_all(members([self.folder.id]), signal.SIGKILL)
        self._runner.process.kill()

    def finish(self) -> StateReport:
        """Wait for the end, kill remaining processes, and return how the run ended."""
        if self._metered:
            self._meter.read(time.monotonic())
            self._gpus.read(self.witness.started.values(), os.uname().nodename)
        status, left = self._runner.finish()
        self.witness.look()
        ranks = range(ranks_of(self.spec) if self.spec.world == "mpi" else 1)
        words = last_words(self.folder.launcher_log)
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
                launcher=() if self.witness.started else words,
                words=words,
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
    """Start the ranks of a prepared folder. Raises LaunchError if mpirun is missing.

    `program`: the program of a rank, as arguments of Python; the folder is appended. `replay`: folder with the
    journals whose order of exchanges the server repeats (see `hooke.loop.replay`). `launcher`: starts the ranks,
    by default with mpirun on this machine; its ranks must be able to access this folder, and must be processes of
    this machine for `kill` to reach them. `backstop`: seconds after the wall limit until ranks are killed.
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
    # Ctrl-C reaches only the caller, which cancels the run
    runner = RankRunner(launch, launcher or LocalLauncher(), attempt.launcher_log, own_session=True)
    return LocalRun(spec, attempt, runner, backstop)
