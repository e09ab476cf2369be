"""Runs inside a batch job, on its first node.

    python -m hooke.cluster.launchers.in_job DIR [--asked] [--seconds S] -- command...

It starts `command` (srun, mpirun, or the guard of a virtual world), waits, writes its status to
DIR/job.ended.json and ends with that status. A scheduler keeps what it knows of a job for minutes only; the files
stay.

- SIGUSR2, the scheduler's warning before the time limit, or the end of S seconds: leaves DIR/job.limit and asks
  the ranks to end; under Slurm again and again, because it drops a signal for tasks that srun has not started yet.
- SIGTERM, SIGUSR1: passed on to mpirun. Tasks of srun get them from Slurm, and srun would end them at once.
- --asked, for schedulers that send no signals: a signal in DIR/job.asked.json is passed on; output goes to
  DIR/launcher.log; a job with a request before it begins, and the later one of two for a folder, end at once.

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

LIMIT = "job.limit"
ENDED = "job.ended.json"
STARTED = "job.started.json"
ASKED = "job.asked.json"
"""{"number": grows with every request, "signal": what to send}."""
LOG = "launcher.log"
AGAIN = 3.0
"""Seconds between two requests to the tasks of srun to end."""
LOOK = 0.5
"""Seconds between two looks for a request in a file."""
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
_AWAITED = (*_PASSED_ON, signal.SIGUSR2, signal.SIGCHLD)


def write(folder: str, name: str, content: dict[str, object]) -> None:
    """Write a JSON file atomically, and to the disk."""
    draft = f"{folder}/{name}.{os.getpid()}"
    with open(draft, "w") as file:  # noqa: PTH123 - pathlib would cost half of this module's start-up
        file.write(json.dumps(content) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, f"{folder}/{name}")  # noqa: PTH104 - as above


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


def _alone(folder: str) -> bool:
    """Write its output to the launcher's log; return whether it may begin: no other job has."""
    log = os.open(f"{folder}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    return not any(os.path.exists(f"{folder}/{name}") for name in (STARTED, ASKED))  # noqa: PTH110 - as above


def main(arguments: list[str]) -> int:
    """Run the command line after `--`; return its status, 128 + n for a signal."""
    split = arguments.index("--")
    (folder, *options), command = arguments[:split], arguments[split + 1 :]
    asked = "--asked" in options
    seconds = float(options[options.index("--seconds") + 1]) if "--seconds" in options else float("inf")
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    if asked and not _alone(folder):
        return 0
    write(folder, STARTED, {"host": os.uname().nodename, "unix": time.time()})
    status = Job(folder, command, asked, seconds).wait()
    write(folder, ENDED, {"status": status, "unix": time.time()})
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
