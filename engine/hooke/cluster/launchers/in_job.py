"""Runs inside a batch job, on its first node: `python -m hooke.cluster.launchers.in_job DIR -- command...`.

It starts `command` (srun, mpirun, or the guard of a virtual world), waits, writes its status to DIR/job.ended.json
and ends with that status. A scheduler keeps what it knows of a job for minutes only; the files stay.

- SIGUSR2, the scheduler's warning before the time limit: leaves DIR/job.limit and asks the ranks to end.
- SIGTERM, SIGUSR1: passed on to mpirun. Tasks of srun get them from Slurm, and srun would end them at once.

Only a few modules of the standard library are imported.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time

LIMIT = "job.limit"
ENDED = "job.ended.json"
STARTED = "job.started.json"
_AWAITED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD)


def write(folder: str, name: str, content: dict[str, object]) -> None:
    """Write a JSON file atomically, and to the disk."""
    draft = f"{folder}/{name}.{os.getpid()}"
    with open(draft, "w") as file:  # noqa: PTH123 - pathlib would cost half of this module's start-up
        file.write(json.dumps(content) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, f"{folder}/{name}")  # noqa: PTH104 - as above


def main(arguments: list[str]) -> int:
    """Run the command line after `--`; return its status, 128 + n for a signal."""
    folder, command = arguments[0], arguments[2:]
    by_slurm = os.path.basename(command[0]) == "srun"  # noqa: PTH119 - as above
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    write(folder, STARTED, {"host": os.uname().nodename, "unix": time.time()})
    unblock = functools.partial(signal.pthread_sigmask, signal.SIG_UNBLOCK, _AWAITED)
    child = subprocess.Popen(command, preexec_fn=unblock, stdin=subprocess.DEVNULL)  # noqa: PLW1509 - one thread
    while child.poll() is None:
        number = signal.sigwait(_AWAITED)
        if number == signal.SIGUSR2:
            write(folder, LIMIT, {"unix": time.time()})
            number = signal.SIGTERM
            if by_slurm:
                subprocess.run(["scancel", "--signal=TERM", os.environ["SLURM_JOB_ID"]], check=False)
        if number != signal.SIGCHLD and not by_slurm:
            ompi = number == signal.SIGTERM and os.environ.get("HOOKE_MPIRUN") == "openmpi"
            child.send_signal(signal.SIGUSR2 if ompi else number)  # the guards make SIGTERM of it
    status = child.returncode
    write(folder, ENDED, {"status": status, "unix": time.time()})
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
