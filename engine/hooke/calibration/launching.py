"""One launch of a calibration's ranks under any launcher: from the command, or the queue, to the answer."""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from hooke.calibration.request import ANSWER, REQUEST, Answer, Request
from hooke.cluster.batch import BatchRunner
from hooke.cluster.launchers import in_job
from hooke.cluster.launchers.base import Launch, Launcher
from hooke.cluster.launchers.batch import BatchLauncher
from hooke.cluster.places import AttemptFolder
from hooke.cluster.runner import RankRunner
from hooke.cluster.tail import last_lines
from hooke.cluster.witness import Witness
from hooke.errors import CalibrationError
from hooke.spec.events import RankExit

PROGRAM = ("-m", "mpi4py", "-m", "hooke.calibration.rank")
_POLL = 0.1
_PER_SECOND = 10.0
"""Times the requested duration, plus `_START`, after which the ranks are killed."""
_START = 120.0
_LOG_LINES = 15
Say = Callable[[str], None]


def limit(request: Request) -> float:
    """Return after how many seconds the ranks of a request are killed, from their start on."""
    return _START + _PER_SECOND * (0 if request.only_start else request.seconds)


def launch(
    workers: int, request: Request, launcher: Launcher, place: Path | None, say: Say
) -> tuple[float, Answer]:
    """Return the seconds from the command to the last rank's readiness, and what rank 0 wrote.

    `place`: the folder in which the ranks get one, which all their hosts see; None: the temporary folder of this
    host. In a batch job the seconds count from its start, without the queue. Raises CalibrationError with what the
    scheduler or the ranks said, LaunchError if they cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="calibration-", dir=place, ignore_cleanup_errors=True) as name:
        folder = AttemptFolder(Path(name).resolve(), f"calibration-{uuid.uuid4().hex[:12]}", 1)
        (folder.path / REQUEST).write_text(request.model_dump_json())
        what = Launch("mpi", workers, (folder.path,), (folder.id,), PROGRAM)
        began = time.time()
        why = _run(what, launcher, folder, limit(request), say)
        try:
            answer = Answer.model_validate_json((folder.path / ANSWER).read_text())
        except (OSError, ValidationError) as error:
            raise CalibrationError(_failure(folder, workers, why, error)) from None
        return max(0.0, answer.ready - _began(folder, began)), answer


class _Guards:
    """What the guards tell of ranks without journals: one that ended with status 0 was done."""

    def __init__(self, folder: AttemptFolder, ranks: int) -> None:
        self._witness = Witness(folder, ranks)
        self.done: Collection[int] = ()
        self.dropped: Collection[int] = ()

    def exits(self) -> dict[int, RankExit]:
        found = self._witness.exits()
        self.done = [rank for rank, end in found.items() if end.code == 0]
        return found

    def look(self) -> None:
        """There is nothing else to read."""


def _run(what: Launch, launcher: Launcher, folder: AttemptFolder, seconds: float, say: Say) -> str:
    """Run the ranks to their end; return how it came about.

    `seconds`: most time from their start on; in a queue they may wait for as long as they have to.
    """
    runner = _runner(what, launcher, folder, say)
    guards, until, late = _Guards(folder, what.ranks), None, ""
    try:
        while runner.look(guards, None):
            now = time.monotonic()
            if runner.running:
                until = until or now + seconds
            if until is not None and now > until:
                late = f"did not end within {seconds:.0f} s"
                runner.kill(late)
                break
            time.sleep(_POLL)
    except BaseException:  # also Ctrl-C, and SIGTERM as an exception
        runner.kill("the calibration was ended")
        raise
    finally:
        status, _ = runner.finish()
    outside = runner.outside.why if runner.outside else ""
    return late or outside or runner.cause or f"ended with status {status}"


def _runner(what: Launch, launcher: Launcher, folder: AttemptFolder, say: Say) -> RankRunner | BatchRunner:
    def told(text: str) -> None:
        if text:
            say(text)

    if isinstance(launcher, BatchLauncher):
        return BatchRunner(what, launcher, told, folder=folder)
    # Ctrl-C reaches only this process, which ends the ranks
    return RankRunner(what, launcher, folder.launcher_log, told, own_session=True, folder=folder.path)


def _began(folder: AttemptFolder, otherwise: float) -> float:
    """Return when a batch job began; without one, `otherwise`."""
    with suppress(OSError, ValueError, KeyError):
        return float(json.loads((folder.path / in_job.STARTED).read_text())["unix"])
    return otherwise


def _failure(folder: AttemptFolder, workers: int, why: str, error: Exception) -> str:
    logs = [folder.launcher_log, *map(folder.rank_log, range(workers))]
    said = [line for log in logs if log.exists() for line in last_lines(log, _LOG_LINES)]
    return f"the {workers} ranks of the calibration: {why}: " + ("\n".join(map(str, said)) or str(error))
