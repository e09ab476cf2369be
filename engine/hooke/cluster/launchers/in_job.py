"""Runs inside a batch job, on its first node.

    python -m hooke.cluster.launchers.in_job DIR [--asked] [--seconds S] -- command...
    python -m hooke.cluster.launchers.in_job DIR --first

It starts `command` (srun, mpirun, or the guard of a virtual world), waits, writes its status to
DIR/job.ended.json and ends with that status. A scheduler keeps what it knows of a job for minutes only; the files
stay.

A scheduler that answers late may have taken two jobs for one launch. The first to begin creates
DIR/job.started.json; one that finds the file of another says so and ends. `--first` does only this; its status is
NOT_FIRST then.

- SIGUSR2, the scheduler's warning before the time limit, or the end of S seconds: leaves DIR/job.limit and asks
  the ranks to end; under Slurm again and again, because it drops a signal for tasks that srun has not started yet.
- SIGTERM, SIGUSR1: passed on to mpirun. Tasks of srun get them from Slurm, and srun would end them at once.
- --asked, for schedulers that send no signals: a signal in DIR/job.asked.json is passed on; output goes to
  DIR/launcher.log; a job with a request before it begins ends at once.

Only a few modules of the standard library are imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import TextIO

LIMIT = "job.limit"
ENDED = "job.ended.json"
STARTED = "job.started.json"
"""{"job": the scheduler's number of the job that may begin, or empty, "host": its first one, "unix": when}."""
ASKED = "job.asked.json"
"""{"number": grows with every request, "signal": what to send}."""
LOG = "launcher.log"
AGAIN = 3.0
"""Seconds between two requests to the tasks of srun to end."""
NOT_FIRST = 3
"""Status of `--first` in a job that must not begin."""
LOOK = 0.5
"""Seconds between two looks for a request in a file."""
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
_AWAITED = (*_PASSED_ON, signal.SIGUSR2, signal.SIGCHLD)


def write(folder: str, name: str, content: dict[str, object]) -> None:
    """Write a JSON file atomically, and to the disk."""
    draft = f"{folder}/{name}.{os.getpid()}"
    with open(draft, "w") as file:  # noqa: PTH123 - pathlib would cost half of this module's start-up
        _fill(file, content)
    os.rename(draft, f"{folder}/{name}")  # noqa: PTH104 - as above


def _fill(file: TextIO, content: dict[str, object]) -> None:
    file.write(json.dumps(content) + "\n")
    file.flush()
    os.fsync(file.fileno())


def claim(folder: str, job: str) -> bool:
    """Return whether this job is the one that may begin: it creates STARTED, or has created it before.

    `job`: the scheduler's number; empty if it is not known, and for a supervisor, after which no job begins.
    """
    try:
        with open(f"{folder}/{STARTED}", "x") as file:  # noqa: PTH123 - as above
            _fill(file, {"job": job, "host": os.uname().nodename, "unix": time.time()})
    except FileExistsError:
        return bool(job) and begun(folder) == job
    return True


def begun(folder: str) -> str | None:
    """Return the job that has begun, empty if its number is not known; None: no job has."""
    try:
        with open(f"{folder}/{STARTED}") as file:  # noqa: PTH123 - as above
            return str(json.loads(file.read())["job"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):  # it is being written
        return ""


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)


class Job:
    """The command of one job, and what it is asked to do."""

    def __init__(self, folder: str, command: list[str], asked: bool, seconds: float) -> None:
        """`asked`: requests are files; `seconds`: after which the time limit is near."""
        self._folder, self._asked = folder, asked
        self._until = time.monotonic() + seconds
        self._by_slurm = os.path.basename(command[0]) == "srun"  # noqa: PTH119 - as above
        self._taken = 0
        """Number of the latest request in a file."""
        self._ending = False
        self._child = subprocess.Popen(command, preexec_fn=_unblock, stdin=subprocess.DEVNULL)  # noqa: PLW1509 - one thread

    def wait(self) -> int:
        """Pass requests on until the command has ended; return its status."""
        while self._child.poll() is None:
            number = self._next_signal() or (self._request() if self._asked else None)
            if number == signal.SIGUSR2 or (time.monotonic() > self._until and not self._ending):
                write(self._folder, LIMIT, {"unix": time.time()})
                number, self._ending = signal.SIGTERM, True
            if self._by_slurm and self._ending and number != signal.SIGCHLD:
                self._end_tasks()
            elif number == signal.SIGKILL:
                self._child.kill()
            elif number in _PASSED_ON and not self._by_slurm:
                ompi = number == signal.SIGTERM and os.environ.get("HOOKE_MPIRUN") == "openmpi"
                self._child.send_signal(signal.SIGUSR2 if ompi else number)  # the guards make SIGTERM of it
        return self._child.returncode

    def _next_signal(self) -> int | None:
        """Return the next awaited signal; None if it is time to look for something else."""
        pauses = [LOOK] if self._asked else []
        pauses += [AGAIN] if self._ending and self._by_slurm else []
        if self._until != float("inf") and not self._ending:
            pauses.append(max(0.0, self._until - time.monotonic()))
        if not pauses:
            return signal.sigwait(_AWAITED)
        found = signal.sigtimedwait(_AWAITED, min(pauses))
        return found.si_signo if found else None

    def _request(self) -> int | None:
        """Return the signal of a new request in a file, if there is one."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            with open(f"{self._folder}/{ASKED}") as file:  # noqa: PTH123 - as above
                found = json.loads(file.read())
            if found["number"] > self._taken:
                self._taken = found["number"]
                return int(found["signal"])
        return None

    def _end_tasks(self) -> None:
        """Ask Slurm to send SIGTERM to the tasks of this job; what fails is tried again later."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            command = ["scancel", "--signal=TERM", os.environ["SLURM_JOB_ID"]]
            subprocess.run(command, check=False, timeout=10 * AGAIN, preexec_fn=_unblock)  # noqa: PLW1509 - one thread


def _first(folder: str, job: str) -> bool:
    """Return whether this job may begin; say so if not."""
    if claim(folder, job):
        return True
    by = f"job {other} has begun before" if (other := begun(folder)) else "its launch has begun or ended before"
    sys.stdout.write(f"hooke: job {job or 'of this launch'} does not begin: {by}\n")
    sys.stdout.flush()
    return False


def _log_output(folder: str) -> None:
    """Write what this process and its children say to the launcher's log."""
    log = os.open(f"{folder}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)


def main(arguments: list[str]) -> int:
    """Run the command line after `--`; return its status, 128 + n for a signal."""
    job = os.environ.get("SLURM_JOB_ID", "")
    if "--" not in arguments:
        return 0 if _first(arguments[0], job) else NOT_FIRST
    split = arguments.index("--")
    (folder, *options), command = arguments[:split], arguments[split + 1 :]
    asked = "--asked" in options
    seconds = float(options[options.index("--seconds") + 1]) if "--seconds" in options else float("inf")
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    if asked:
        _log_output(folder)
        if os.path.exists(f"{folder}/{ASKED}"):  # noqa: PTH110 - as above
            return 0
    if not _first(folder, "" if asked else job):  # of PSI/J, which does not tell, or of a job around its own
        return 0
    status = Job(folder, command, asked, seconds).wait()
    write(folder, ENDED, {"status": status, "unix": time.time()})
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
