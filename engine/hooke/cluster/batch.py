"""Watches the ranks of one launch in a batch job; the counterpart of `hooke.cluster.runner.RankRunner`."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from hooke.cluster.launchers import in_job
from hooke.cluster.launchers.base import Launch
from hooke.cluster.launchers.batch import BatchJob, BatchLauncher, View
from hooke.cluster.places import AttemptFolder, write_atomically
from hooke.cluster.runner import FAULT_GRACE
from hooke.cluster.verdict import Outside, faults
from hooke.cluster.watchdog import Watchdog
from hooke.cluster.witness import Witnessed
from hooke.spec.frozen import Frozen

PATIENCE = 90.0
"""Seconds that a killed job may take to leave the queue, Slurm's KillWait (30 s) included."""
_PAUSE = 0.2
_FILES = (in_job.STARTED, in_job.ENDED, in_job.LIMIT, in_job.ASKED)


class Launched(Frozen):
    """A job as its supervisor remembers it, for the next one: written before it is submitted."""

    ids: tuple[str, ...]
    """`<run>.<attempt>` of each attempt, in the order in which they run."""
    job: str = ""
    """The scheduler's name of it; empty: not known yet, so it is searched by its name."""
    ended: bool = False


def read_launched(folder: AttemptFolder) -> Launched | None:
    """Return the job that an earlier supervisor began to submit and did not see the end of."""
    with suppress(FileNotFoundError):
        found = Launched.model_validate_json(folder.launched.read_text())
        return None if found.ended else found
    return None


class BatchRunner:
    """The ranks of one launch, from the queue to the end of the job."""

    def __init__(
        self,
        launch: Launch,
        launcher: BatchLauncher,
        say: Callable[[str], None] | None = None,
        *,
        folder: AttemptFolder,
        found: Launched | None = None,
    ) -> None:
        """`folder`: that of the launch's first attempt. `found`: go on watching this job instead of a new one."""
        self._launch, self._folder, self._say = launch, folder, say or (lambda _: None)
        self._note = found or Launched(ids=launch.ids)
        self.cause = ""
        """Failure detected by this process, for which it ended the job."""
        self.cause_at = 0.0
        self.outside: Outside | None = None
        """The end that the scheduler made of the job, if it did."""
        self.waiting = ""
        """Why the ranks wait to be started, or where, in the scheduler's words."""
        self._view = View("waiting")
        self._asked_to_end = False
        self._failed_at: float | None = None
        self._write(self._note)
        if found is None:
            for name in _FILES:
                (folder.path / name).unlink(missing_ok=True)
            self._job: BatchJob = launcher.submit(launch, folder.path)
        else:
            self._say(f"found job {found.job or '(not yet known)'} of an earlier supervisor again")
            self._job = launcher.attach(launch, folder.path, found.job)

    @property
    def running(self) -> bool:
        """Whether the scheduler has started the ranks and has not paused them."""
        return self._view.phase == "running" and not self._view.paused

    def _write(self, note: Launched) -> None:
        self._note = note
        write_atomically(self._folder.launched, note.model_dump_json())

    def look(self, witness: Witnessed, watchdog: Watchdog | None) -> bool:
        """Read new records of the current attempt; return whether its job has not ended."""
        self._view = self._job.look()
        if self._job.id and self._job.id != self._note.job:
            self._write(self._note.model_copy(update={"job": self._job.id}))
            self._say(f"submitted: job {self._job.id}")
        if self._view.words != self.waiting:
            self.waiting = self._view.words
            self._say(self.waiting)
        exits = witness.exits() if self._launch.world == "mpi" else {}
        witness.look()
        if self._view.phase == "running":
            self._watch(bool(faults(exits, witness.done, witness.dropped)))
            if not self.cause and not self._view.paused and watchdog is not None and (why := watchdog.look()):
                self.cause = why
                self.kill(why)
        return self._view.phase != "ended"

    def _watch(self, failed: bool) -> None:
        """End a job whose ranks wait for one that has failed."""
        self._failed_at = (self._failed_at or time.monotonic()) if failed else None
        if self._failed_at is not None and time.monotonic() - self._failed_at > FAULT_GRACE:
            self._failed_at = None
            self.kill(f"the job is still running {FAULT_GRACE:g} s after a rank failed: it is killed")

    def signal(self, number: int, why: str = "") -> None:
        """Send a signal to every rank; SIGTERM removes a waiting job from the queue."""
        if why:
            self._say(why)
        self._asked_to_end |= number == signal.SIGTERM
        self._job.signal(number)

    def kill(self, why: str) -> None:
        """End the job at once. It has ended when `look` says so: a scheduler takes its time."""
        if not self._asked_to_end or self._view.phase != "waiting":
            self._job.kill()
        self._asked_to_end = True
        self._say(why)

    def finish(self) -> tuple[int | None, list[int]]:
        """Return the status of the job, which has ended; no process of it is on this host."""
        until = time.monotonic() + PATIENCE
        while self._view.phase != "ended" and time.monotonic() < until:
            time.sleep(_PAUSE)
            self._view = self._job.look()
        with suppress(OSError):  # a job that the scheduler took without saying so must not begin now
            in_job.claim(str(self._folder.path), "")
        status = self._written_status()
        self.outside = None if self._asked_to_end else self._view.outside
        if (self._folder.path / in_job.LIMIT).exists() and not self._asked_to_end:
            known = self._view.outside
            limit = known.why if known and known.how == "limit" else "the time limit of its job came near"
            self.outside = Outside("limit", limit)
        self._write(self._note.model_copy(update={"ended": True}))
        return (self._view.status if status is None else status), []

    def _written_status(self) -> int | None:
        with suppress(OSError, ValueError, KeyError):
            return int(json.loads((self._folder.path / in_job.ENDED).read_text())["status"])
        return None
