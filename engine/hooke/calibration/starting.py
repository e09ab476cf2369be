"""Starts the ranks of a calibration under a cluster's launcher and makes a document of what they measured."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from hooke.calibration.documents import Calibration
from hooke.calibration.fitting import estimate
from hooke.calibration.request import ANSWER, REQUEST, Answer, Request, WorkloadRequest
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.launchers.local import LocalLauncher
from hooke.cluster.runner import RankRunner
from hooke.cluster.tail import last_lines
from hooke.errors import CalibrationError

PROGRAM = ("-m", "mpi4py", "-m", "hooke.calibration.rank")
STARTS = 3
"""Launches: their start-up times, the last one measures the rest."""
_POLL = 0.1
_LIMIT = 10.0
"""Times the requested duration, plus `_START`, after which the ranks are killed."""
_START = 120.0
_LOG_LINES = 15


def calibrate(
    workers: int,
    workloads: Sequence[WorkloadRequest],
    seconds: float = 30.0,
    launcher: Launcher | None = None,
    starts: int = STARTS,
    say: Callable[[str], None] = lambda _: None,
) -> Calibration:
    """Measure with `workers` ranks; `seconds`: for the measurements, without start-up.

    `launcher`: by default mpirun on this machine; its ranks must reach the temporary folder of this host. `say`
    receives what is done. Raises CalibrationError if ranks fail or take too long, LaunchError without an MPI.
    """
    began, at = time.monotonic(), datetime.now(UTC)
    load = os.getloadavg()[0]  # before the first launch: afterwards it is the calibration's own
    waited = []
    for number in range(starts - 1):
        say(f"start-up {number + 1} of {starts}")
        waited.append(_launch(workers, Request(only_start=True), launcher)[0])
    say(f"measuring for about {seconds:.0f} s")
    last, answer = _launch(workers, Request(workloads=list(workloads), seconds=seconds), launcher)
    return Calibration(
        at=at,
        took=time.monotonic() - began,
        workers=workers,
        hosts=answer.hosts,
        cores=answer.cores,
        load=load,
        hardware=answer.hardware,
        versions=answer.versions,
        start=estimate([[each] for each in (*waited, last)]),
        curves=answer.curves,
        compute=answer.compute,
    )


def _launch(workers: int, request: Request, launcher: Launcher | None) -> tuple[float, Answer]:
    """Return the seconds from the command to the last rank's readiness, and what rank 0 wrote."""
    with tempfile.TemporaryDirectory(prefix="hooke-calibration-") as name:
        folder = Path(name)
        (folder / REQUEST).write_text(request.model_dump_json())
        id = f"calibration-{uuid.uuid4().hex[:12]}.1"
        launch = Launch("mpi", workers, (folder,), (id,), PROGRAM)
        began = time.time()
        runner = RankRunner(launch, launcher or LocalLauncher(), folder / "launcher.log", own_session=True)
        try:
            status = _wait(runner, _START + _LIMIT * (0 if request.only_start else request.seconds))
        finally:
            if runner.process.poll() is None:
                runner.kill("ended")
            runner.finish()
        try:
            answer = Answer.model_validate_json((folder / ANSWER).read_text())
        except (OSError, ValidationError) as error:
            raise CalibrationError(_failure(folder, workers, status, error)) from None
    return max(0.0, answer.ready - began), answer


def _wait(runner: RankRunner, limit: float) -> int | None:
    """Return the status of the launcher, or None if it did not end within `limit` seconds."""
    until = time.monotonic() + limit
    while (status := runner.process.poll()) is None and time.monotonic() < until:
        time.sleep(_POLL)
    return status


def _failure(folder: Path, workers: int, status: int | None, error: Exception) -> str:
    ended = "did not end in time" if status is None else f"ended with status {status}"
    logs = [folder / "launcher.log", *(folder / f"rank.{rank}.log" for rank in range(workers))]
    said = [line for log in logs if log.exists() for line in last_lines(log, _LOG_LINES)]
    return f"the {workers} ranks of the calibration {ended}: " + ("\n".join(map(str, said)) or str(error))
