"""Runs inside a batch job, on its first node: `python -m hooke.cluster.launchers.in_job DIR -- command...`.

It starts `command` (srun, mpirun, or the guard of a virtual world), waits, writes its status to DIR/job.ended.json
and ends with that status. A scheduler keeps what it knows of a job for minutes only; the files stay.

- SIGUSR2, the scheduler's warning before the time limit: leaves DIR/job.limit and asks the ranks to end, again and
  again, because Slurm drops a signal for tasks that srun has not started yet.
- SIGTERM, SIGUSR1: passed on to mpirun. Tasks of srun get them from Slurm, and srun would end them at once.

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
AGAIN = 3.0
"""Seconds between two requests to the tasks of srun to end."""
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


def _next_signal(patience: float | None) -> int | None:
    """Return the next awaited signal; None if none arrives within `patience` seconds."""
    if patience is None:
        return signal.sigwait(_AWAITED)
    found = signal.sigtimedwait(_AWAITED, patience)
    return found.si_signo if found else None


def _end_tasks() -> None:
    """Ask Slurm to send SIGTERM to the tasks of this job; what fails is tried again later."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        command = ["scancel", "--signal=TERM", os.environ["SLURM_JOB_ID"]]
        subprocess.run(command, check=False, timeout=10 * AGAIN, preexec_fn=_unblock)  # noqa: PLW1509 - one thread


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)


def main(arguments: list[str]) -> int:
    """Run the command line after `--`; return its status, 128 + n for a signal."""
    folder, command = arguments[0], arguments[2:]
    by_slurm = os.path.basename(command[0]) == "srun"  # noqa: PTH119 - as above
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    write(folder, STARTED, {"host": os.uname().nodename, "unix": time.time()})
    child = subprocess.Popen(command, preexec_fn=_unblock, stdin=subprocess.DEVNULL)  # noqa: PLW1509 - one thread
    ending = False
    while child.poll() is None:
        number = _next_signal(AGAIN if ending and by_slurm else None)
        if number == signal.SIGUSR2:
            write(folder, LIMIT, {"unix": time.time()})
            number, ending = signal.SIGTERM, True
        if ending and by_slurm and number != signal.SIGCHLD:
            _end_tasks()
        if number in _PASSED_ON and not by_slurm:
            ompi = number == signal.SIGTERM and os.environ.get("HOOKE_MPIRUN") == "openmpi"
            child.send_signal(signal.SIGUSR2 if ompi else number)  # the guards make SIGTERM of it
    status = child.returncode
    write(folder, ENDED, {"status": status, "unix": time.time()})
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
