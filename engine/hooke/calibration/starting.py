"""Makes a calibration: starts its ranks under a cluster's launcher and keeps what they measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hooke.calibration.documents import Calibration
from hooke.calibration.fitting import estimate
from hooke.calibration.launching import launch, limit
from hooke.calibration.request import Request, WorkloadRequest
from hooke.cluster.launchers.base import Launcher
from hooke.cluster.launchers.batch import BatchLauncher
from hooke.cluster.launchers.local import LocalLauncher

STARTS = 3
"""Launches: their start-up times, the last one measures the rest."""


def longest(seconds: float) -> float:
    """Return after how many seconds the ranks of a calibration of so many seconds are killed."""
    return limit(Request(seconds=seconds))


def calibrate(
    workers: int,
    workloads: Sequence[WorkloadRequest],
    seconds: float = 30.0,
    launcher: Launcher | None = None,
    starts: int = STARTS,
    say: Callable[[str], None] = lambda _: None,
    place: Path | None = None,
) -> Calibration:
    """Measure with `workers` ranks; `seconds`: for the measurements, without start-up.

    `launcher`: by default mpirun on this machine; under a batch scheduler there is one launch, because each would
    wait in the queue. `place`: folder for files of the ranks, which all hosts see; None: the temporary folder.
    `say` receives what is done. Raises CalibrationError if ranks fail or take too long, LaunchError without MPI.
    """
    launcher = launcher or LocalLauncher()
    queued = isinstance(launcher, BatchLauncher)  # on other hosts than this one
    starts = 1 if queued else starts
    began, at = time.monotonic(), datetime.now(UTC)
    load = os.getloadavg()[0]  # before the first launch: afterwards it is the calibration's own
    waited = []
    for number in range(starts - 1):
        say(f"start-up {number + 1} of {starts}")
        waited.append(launch(workers, Request(only_start=True), launcher, place, say)[0])
    say(f"measuring for about {seconds:.0f} s")
    wanted = Request(workloads=list(workloads), seconds=seconds)
    last, answer = launch(workers, wanted, launcher, place, say)
    return Calibration(
        at=at,
        took=time.monotonic() - began,
        workers=workers,
        hosts=answer.hosts,
        cores=answer.cores,
        load=answer.load if queued else load,
        oversubscribed=answer.oversubscribed,
        hardware=answer.hardware,
        versions=answer.versions,
        start=estimate([[each] for each in (*waited, last)]),
        curves=answer.curves,
        compute=answer.compute,
    )
