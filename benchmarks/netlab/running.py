"""Executes a Hooke run, or any other program, on the hosts of a lab, and measures the traffic of the links.

Everything but the launcher is that of `hooke run`: folder, guards, journals, verdict and result.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hooke.catalogue.algorithm import ranks_of
from hooke.cli import outcome
from hooke.cli.display import display
from hooke.cli.progress import Follower
from hooke.cli.run import write_trace
from hooke.cluster import local_run
from hooke.cluster.launchers.base import TRAIN
from hooke.cluster.local_run import LocalRun
from hooke.cluster.processes import members, signal_all, sweep
from hooke.spec.events import StateReport
from hooke.spec.specification import RunSpec

from benchmarks.netlab.lab import Lab
from benchmarks.netlab.starting import NetlabLauncher, command, emulation, environment

ENDING = (signal.SIGINT, signal.SIGTERM)
GRACE = 30.0
"""Seconds between asking the ranks to stop and ending them: enough to write a checkpoint."""
LOOK = 0.1
TICKS = os.sysconf("SC_CLK_TCK")


class Meter:
    """Measures a run from outside: bytes on the links, processor time of its processes.

    Links are read at the start and at the end. Processor time is read every 0.25 s while all ranks are in their
    loop, because the processes do not exist any more at the end; it includes evaluation.
    """

    def __init__(self, lab: Lab | None) -> None:
        self._lab = lab
        self._before = lab.traffic() if lab else {}
        self._seconds: dict[int, float] = {}
        self._at_start: dict[int, float] = {}
        self._looked = 0.0

    def look(self, attempt: str, training: bool) -> None:
        """Read the processor time of every process of the attempt, as long as all ranks are in their loop."""
        now = time.monotonic()
        if not training or now - self._looked < 0.25:
            return
        self._looked = now
        for pid in members([attempt]):
            if (seconds := cpu_seconds(pid)) is not None:
                self._seconds[pid] = seconds
        if not self._at_start:
            self._at_start = dict(self._seconds)

    def result(self) -> dict[str, Any]:
        """Return `cpu_seconds` (of all processes, while all ranks were in their loop) and `link`."""
        begun = self._at_start
        cpu = sum(s - begun.get(pid, 0.0) for pid, s in self._seconds.items()) if begun else None
        found: dict[str, Any] = {"cpu_seconds": cpu}
        if self._lab:
            after = self._lab.traffic()
            sent = {host: after[host].since(self._before[host]) for host in after}
            found["link"] = {
                "frame_bytes": sum(t.frames for t in sent.values()),
                "wire_bytes": sum(t.wire for t in sent.values()),
                "dropped": sum(t.dropped for t in sent.values()),
                "frame_bytes_by_host": [sent[host].frames for host in sorted(sent)],
            }
        return found


def cpu_seconds(pid: int) -> float | None:
    """Return the user and system seconds of a process and its threads, or None where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS


def hooke(
    lab: Lab, spec: RunSpec, folder: Path, save: Path | None = None, trace: Path | None = None
) -> tuple[StateReport, dict[str, Any]]:
    """Run `spec` on the lab's hosts to its end; return how it ended, and the result of `hooke run --json`.

    The result also has `cpu_seconds`, `link` and `emulated`. Ctrl-C cancels the run, twice kills its ranks.
    """
    local_run.prepare(folder, spec)
    meter = Meter(lab)
    asked: list[float] = []
    handlers = {n: signal.signal(n, lambda *_: asked.append(time.monotonic())) for n in ENDING}
    try:
        program = TRAIN if trace is None else (*TRAIN, "--trace")
        run = local_run.start(folder, spec, program=program, launcher=NetlabLauncher(lab))
        try:
            scores, report = _follow(run, meter, asked)
        except BaseException:  # also Ctrl-C: no rank outlives the error, which goes on upwards
            run.kill()
            raise
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    found = outcome.result(spec, report, run.witness.started, run.witness.done, scores)
    found |= meter.result() | {"emulated": emulation(lab, ranks_of(spec)), "folder": str(folder)}
    if save is not None and report.state == "succeeded":
        outcome.save(save, spec, folder)
    if trace is not None:
        found["trace"] = write_trace(folder, ranks_of(spec), trace)
    return report, found


def _follow(run: LocalRun, meter: Meter, asked: list[float]) -> tuple[list[Any], StateReport]:
    follower, cancelled = Follower(run), False
    with display(run) as shown:
        while run.poll():
            shown.show(follower, follower.look())
            meter.look(run.folder.id, run.witness.all_started and not run.witness.done)
            if asked and not cancelled:
                cancelled = True
                run.cancel()
            elif len(asked) > 1 or (asked and time.monotonic() - asked[0] > GRACE):
                run.kill()
            time.sleep(LOOK)
    report = run.finish()
    follower.look()
    return follower.evaluations, report


def program(
    lab: Lab | None,
    ranks: int,
    words: Sequence[str],
    training: Callable[[], bool] = lambda: True,
    output: Any = None,
) -> tuple[int, dict[str, Any]]:
    """Run any program as MPI ranks; return its status, and what it cost. No process of it is left.

    Without a lab its ranks run on this machine. `training`: whether all ranks are in their loop.
    """
    attempt = f"netlab-{uuid.uuid4().hex[:12]}.1"
    kept = dict(os.environ) | {"HOOKE_ATTEMPT": attempt, "PYTHONUNBUFFERED": "1"}
    line = command(lab, ranks, words) if lab else _here(ranks, words)
    meter = Meter(lab)
    process = subprocess.Popen(
        [*tether(), *line],
        env=environment(lab, kept) if lab else kept | {"OMP_NUM_THREADS": "1", "UCX_LOG_LEVEL": "error"},
        stdin=subprocess.DEVNULL,
        stdout=output,
        start_new_session=True,
    )
    try:
        while process.poll() is None:
            meter.look(attempt, training())
            time.sleep(LOOK)
    finally:
        signal_all(members([attempt]), signal.SIGKILL) if process.poll() is None else None
        sweep([attempt])
    return process.returncode, meter.result() | ({"emulated": emulation(lab, ranks)} if lab else {})


def tether() -> list[str]:
    """Return the words before a command that gets SIGTERM when this process dies."""
    return [sys.executable, "-m", "hooke.cluster.guard", "--tether", str(os.getpid()), "--"]


def _here(ranks: int, words: Sequence[str]) -> list[str]:
    from hooke.cluster.launchers.local import mpirun

    return [mpirun(), "-launcher", "fork", "-n", str(ranks), *words]
