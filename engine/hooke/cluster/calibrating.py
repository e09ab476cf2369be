"""The agent's order to calibrate: measures in a process of its own and posts the result to the API.

The ranks start under the launcher of the site, in a folder of the agent's home, which all hosts see. Until there
is a result, the API is told what is done, a scheduler's words among it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from hooke.catalogue.discovery import built_in
from hooke.cluster.agent_client import Refused
from hooke.cluster.environment import for_user_code
from hooke.cluster.http_client import httpx
from hooke.cluster.launchers.settings import BatchSettings, LauncherSettings, LocalSettings
from hooke.cluster.places import Home, write_atomically
from hooke.cluster.retrying import asked_to_wait
from hooke.cluster.tail import last_lines
from hooke.errors import HookeError, NotFound
from hooke.spec.calibrating import CalibrationOrder, CalibrationReport

LIMIT = 540.0
"""Seconds that a calibration may take; under a batch scheduler its ranks have a limit, and the queue has none."""
NEWS_SECONDS = 60.0
"""After so long the API is told again what is done: without news it counts a calibration as failed."""
GRACE = 120.0
"""Seconds from the request to end, in which ranks are killed and a job leaves its queue, to SIGKILL."""
CANCELLED = "cancelled on request; every process of it is gone"
ABANDONED = "the agent ended while it measured"
_SEPARATED = (
    "users' workloads are not measured where users' code runs under another account (--user-code-account): "
    "calibrate with built-in ones"
)
_LOOK = 0.2
_RETRIES, _RETRY_SECONDS = 20, 3.0
_OUTPUT = 1500
_busy: set[str] = set()
_cancelled: set[str] = set()
_mutex = threading.Lock()
_log = logging.getLogger(__name__)


class ReportsCalibrations(Protocol):
    """The part of the agent's client that this needs."""

    def calibration(self, report: CalibrationReport) -> None:
        """Send the result, or what is done. Raises httpx.HTTPError, OSError or HookeError."""


def calibrate(
    home: Home,
    order: CalibrationOrder,
    client: ReportsCalibrations,
    launcher: LauncherSettings | None = None,
    *,
    separated: bool = False,
) -> None:
    """Measure and report; a repeated order reports the same result, or nothing while the first one measures.

    `separated`: users' code runs under another account here, and none of it is measured.
    """
    with _mutex:
        if order.id in _busy:
            return
        _busy.add(order.id)
    try:
        if separated and (own := [name for name in order.workloads if name not in built_in("workload")]):
            _report(client, CalibrationReport(id=order.id, why=f"{', '.join(own)}: {_SEPARATED}"[:4000]))
            return
        _report(client, _measured(home, order, launcher or LocalSettings(), client))
    finally:
        with _mutex:
            _busy.discard(order.id)
            _cancelled.discard(order.id)


def cancel(id: str, client: ReportsCalibrations) -> None:
    """End a calibration that measures or waits; one that is not here is told to be over."""
    with _mutex:
        if id in _busy:
            _cancelled.add(id)
            return
    _report(client, CalibrationReport(id=id, why="cancelled: nothing of it runs here"))


def recover(home: Home, client: ReportsCalibrations) -> None:
    """Report the calibrations that an agent did not bring to an end: their processes ended with it."""
    for log in sorted(_folder(home).glob("*.log")):
        if log.stem not in _busy:
            log.unlink(missing_ok=True)
            _report(client, CalibrationReport(id=log.stem, why=ABANDONED))


def _folder(home: Home) -> Path:
    return home.path / "calibrations"


def _measured(
    home: Home, order: CalibrationOrder, launcher: LauncherSettings, client: ReportsCalibrations
) -> CalibrationReport:
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / f"{order.id}.json"
    if file.parent != folder:
        raise NotFound(f"{order.id!r} cannot be the name of a file")
    if not file.exists() and (why := _run(order, file, launcher, _Told(order.id, client))):
        return CalibrationReport(id=order.id, why=why)
    try:
        return CalibrationReport(id=order.id, document=json.loads(file.read_text()))
    except (OSError, ValueError) as error:
        return CalibrationReport(id=order.id, why=f"{file} cannot be read: {error}"[:4000])


class _Told:
    """What the API has been told of a calibration that has not ended."""

    def __init__(self, id: str, client: ReportsCalibrations) -> None:
        self._id, self._client = id, client
        self._latest, self._at = "", 0.0

    def look(self, words: str) -> None:
        """Tell the API what is done if it has changed, or was told long ago; a failure is tried again later.

        If the API refuses it, the calibration is cancelled: runs may start on the cluster.
        """
        now = time.monotonic()
        if not words or (words == self._latest and now - self._at < NEWS_SECONDS):
            return
        self._latest, self._at = words, now
        try:
            self._client.calibration(CalibrationReport(id=self._id, doing=words[:1000]))
        except Refused as error:
            _log.warning("calibration %s is not wanted any more, and is ended: %s", self._id, error)
            with _mutex:
                _cancelled.add(self._id)
        except (httpx.HTTPError, OSError, HookeError) as error:
            _log.warning("the API was not told of calibration %s: %s", self._id, error)


def _run(order: CalibrationOrder, file: Path, launcher: LauncherSettings, told: _Told) -> str:
    """Run `hooke calibrate`, which ends with this process; return why it failed, or an empty string."""
    log, config = file.with_suffix(".log"), file.with_suffix(".config.json")
    write_atomically(config, json.dumps({"launcher": launcher.model_dump(mode="json", by_alias=True)}))
    words = ["calibrate", "--workers", str(order.workers), "--seconds", f"{order.seconds:g}", "--save", str(file)]
    words += ["--config", str(config), "--folder", str(file.parent)]
    for option, values in (("--workload", order.workloads), ("--precision", order.precisions)):
        words += [word for value in values for word in (option, value)]
    tether = [sys.executable, "-m", "hooke.cluster.guard", "--tether", str(os.getpid()), "--"]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*tether, sys.executable, "-m", "hooke", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                env=for_user_code(os.environ),
            )
        limit = float("inf") if isinstance(launcher, BatchSettings) else LIMIT
        why = _watch(process, limit, lambda: order.id in _cancelled, lambda: told.look(_words(log)))
        said = "\n".join(last_lines(log, 40)).strip()[-_OUTPUT:]
    except OSError as error:
        return f"the calibration could not be started: {error}"
    finally:
        for each in (log, config):
            each.unlink(missing_ok=True)
    if why or process.returncode == 0:
        return why
    return f"`hooke {' '.join(words)}` ended with status {process.returncode}: {said}"


def _watch(
    process: subprocess.Popen[bytes], limit: float, cancelled: Callable[[], bool], look: Callable[[], None]
) -> str:
    """Wait for the end of the process, which is asked to end if it must; return why it had to, or nothing."""
    until, why = time.monotonic() + limit, ""
    while process.poll() is None:
        now = time.monotonic()
        if not why and (cancelled() or now > until):
            why = CANCELLED if cancelled() else f"the calibration did not end within {limit:.0f} s"
            process.terminate()
            until = now + GRACE
        elif why and now > until:
            process.kill()
        if not why:
            look()
        time.sleep(_LOOK)
    return why


def _words(log: Path) -> str:
    """Return what the command did last, as it said."""
    return next((line.removesuffix(" ...") for line in reversed(last_lines(log, 5)) if line.strip()), "")


def _report(client: ReportsCalibrations, report: CalibrationReport) -> None:
    for number in range(_RETRIES):
        try:
            client.calibration(report)
        except (httpx.HTTPError, OSError) as error:
            _log.warning("the API did not take calibration %s: %s", report.id, error)
            if number + 1 < _RETRIES:
                time.sleep(max(_RETRY_SECONDS, asked_to_wait(error)))
        except HookeError as error:
            _log.warning("the API refuses calibration %s: %s", report.id, error)
            return
        else:
            return
