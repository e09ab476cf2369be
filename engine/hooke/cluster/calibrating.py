"""The agent's order to calibrate: measures in a process of its own and posts the result to the API."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from typing import Protocol

import httpx

from hooke.cluster.places import Home
from hooke.errors import NotFound
from hooke.spec.calibrating import CalibrationOrder, CalibrationReport

LIMIT = 540.0
"""Seconds that a calibration may take."""
_RETRIES, _RETRY_SECONDS = 20, 3.0
_OUTPUT = 1500
_busy: set[str] = set()
_mutex = threading.Lock()
_log = logging.getLogger(__name__)


class ReportsCalibrations(Protocol):
    """The part of the agent's client that this needs."""

    def calibration(self, report: CalibrationReport) -> None:
        """Send the result. Raises httpx.HTTPError or OSError."""


def calibrate(home: Home, order: CalibrationOrder, client: ReportsCalibrations, launcher: str = "local") -> None:
    """Measure and report; a repeated order reports the same result, or nothing while the first one measures."""
    if launcher != "local":
        why = (
            f"calibration starts ranks on the agent's host; under the launcher {launcher} it is not supported yet"
        )
        _report(client, CalibrationReport(id=order.id, why=why))
        return
    with _mutex:
        if order.id in _busy:
            return
        _busy.add(order.id)
    try:
        _report(client, _measured(home, order))
    finally:
        with _mutex:
            _busy.discard(order.id)


def _measured(home: Home, order: CalibrationOrder) -> CalibrationReport:
    folder = home.path / "calibrations"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / f"{order.id}.json"
    if file.parent != folder:
        raise NotFound(f"{order.id!r} cannot be the name of a file")
    if not file.exists() and (why := _run(order, str(file))):
        return CalibrationReport(id=order.id, why=why)
    try:
        return CalibrationReport(id=order.id, document=json.loads(file.read_text()))
    except (OSError, ValueError) as error:
        return CalibrationReport(id=order.id, why=f"{file} cannot be read: {error}"[:4000])


def _run(order: CalibrationOrder, file: str) -> str:
    """Run `hooke calibrate`, which ends with this process; return why it failed, or an empty string."""
    words = ["calibrate", "--workers", str(order.workers), "--seconds", f"{order.seconds:g}", "--save", file]
    for option, values in (("--workload", order.workloads), ("--precision", order.precisions)):
        words += [word for value in values for word in (option, value)]
    tether = [sys.executable, "-m", "hooke.cluster.guard", "--tether", str(os.getpid()), "--"]
    try:
        done = subprocess.run(
            [*tether, sys.executable, "-m", "hooke", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the calibration did not end within {LIMIT:.0f} s"
    except OSError as error:
        return f"the calibration could not be started: {error}"
    if done.returncode == 0:
        return ""
    return f"`hooke {' '.join(words)}` ended with status {done.returncode}: {done.stderr.strip()[-_OUTPUT:]}"


def _report(client: ReportsCalibrations, report: CalibrationReport) -> None:
    for number in range(_RETRIES):
        try:
            client.calibration(report)
        except (httpx.HTTPError, OSError) as error:
            _log.warning("the API did not take calibration %s: %s", report.id, error)
            time.sleep(_RETRY_SECONDS if number + 1 < _RETRIES else 0)
        else:
            return
