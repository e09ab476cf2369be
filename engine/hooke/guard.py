"""The guard of one rank: a small parent process that witnesses how the rank ended.

    python -m hooke.guard DIR [DIR...] -- command [argument...]
    python -m hooke.guard --tether PARENT -- command [argument...]

The first form starts `command` as a child, appends its output to DIR/rank.<rank>.log of the first DIR, passes
SIGTERM and SIGINT on, waits, leaves exit.<rank>.json (the fields of `hooke.events.RankExit`) in every DIR and
ends the way the child ended. mpirun cannot be believed about deaths: it names a wrong process, or reports
success; the earliest of these files is the cause. The child is killed if its guard dies, so neither outlives
the other. The second form becomes `command` itself, which gets SIGTERM when PARENT, its starter, dies.

Standard library only, and little of it: this runs before torch and MPI are imported, once per rank.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import FrameType
from typing import NoReturn

RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
"""Where MPICH, PMIx, Open MPI and Slurm say which rank a process is."""
FORWARDED = (signal.SIGTERM, signal.SIGINT)
CANNOT_EXECUTE = 127
"""Exit status when the command could not be started, as in a shell."""
PR_SET_PDEATHSIG = 1

_USAGE = "usage: python -m hooke.guard (DIR [DIR...] | --tether PARENT) -- command [argument...]"


def rank_of(environment: dict[str, str]) -> int:
    """Return the rank that the MPI launcher gave this process, or 0 where there is none."""
    for name in RANK_VARIABLES:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    return 0


def die_with_parent(number: int, parent: int) -> None:
    """Ask the kernel to send this process a signal when `parent` dies; exit if it is dead already."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:  # it died between the fork and the prctl: nobody would signal us any more
        os._exit(128 + number)


def _execute(command: list[str]) -> NoReturn:
    for number in (*FORWARDED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, and exec would inherit that
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    try:
        os.execvp(command[0], command)  # noqa: S606 - without a shell is the point
    except OSError as error:
        sys.stderr.write(f"hooke.guard: cannot start {command[0]!r}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(CANNOT_EXECUTE)


def _child(command: list[str], parent: int, log: str) -> NoReturn:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        die_with_parent(signal.SIGKILL, parent)
    except OSError as error:
        sys.stderr.write(f"hooke.guard: {error}\n")
        os._exit(CANNOT_EXECUTE)
    _execute(command)


def _wait(child: int) -> int:
    """Pass signals on until the child has ended; return its wait status."""

    def forward(number: int, _frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # stays a zombie: its number cannot be given away yet
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    return os.waitpid(child, 0)[1]


def exit_record(rank: int, child: int, code: int) -> str:
    """Return the JSON of a `hooke.events.RankExit` that happens now. `code` < 0 is a signal."""
    record = {
        "rank": rank,
        "host": os.uname().nodename,
        "pid": child,
        "code": code if code >= 0 else None,
        "signal": -code if code < 0 else None,
        "monotonic": time.monotonic(),
    }
    return json.dumps(record)


def write_exit(folder: str, rank: int, record: str) -> None:
    """Leave exit.<rank>.json in `folder`, complete and on disk, or not at all."""
    path = f"{folder}/exit.{rank}.json"
    draft = f"{path}.{os.getpid()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    os.write(file, record.encode() + b"\n")
    os.fsync(file)
    os.close(file)
    os.rename(draft, path)  # noqa: PTH104 - pathlib would cost half of this module's start-up


def _end_alike(code: int) -> NoReturn:
    import resource

    if code >= 0:
        os._exit(code)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the rank may leave a core; the guard's would replace it
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.kill(os.getpid(), -code)
    os._exit(128 - code)  # a signal whose default is not to kill


def guard(folders: list[str], command: list[str]) -> NoReturn:
    """Run `command` as this process's only child; never returns. See the module's docstring."""
    rank = rank_of(dict(os.environ))
    os.environ["HOOKE_RANK"] = str(rank)
    log = f"{folders[0]}/rank.{rank}.log"
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # a signal now waits until there is somebody to pass it to
    child = os.fork()
    if child == 0:
        _child(command, parent, log)
    code = os.waitstatus_to_exitcode(_wait(child))
    record = exit_record(rank, child, code)
    for folder in folders:
        try:
            write_exit(folder, rank, record)
        except OSError as error:  # a full disk must not hide how the rank ended
            sys.stderr.write(f"hooke.guard: rank {rank}: no exit record in {folder}: {error}\n")
    sys.stderr.flush()
    _end_alike(code)


def main(arguments: list[str]) -> NoReturn:
    """Parse the command line and become a guard, or a tethered command."""
    if "--" not in arguments:
        sys.exit(_USAGE)
    split = arguments.index("--")
    folders, command = arguments[:split], arguments[split + 1 :]
    if not folders or not command:
        sys.exit(_USAGE)
    if folders[0] == "--tether":
        die_with_parent(signal.SIGTERM, int(folders[1]))
        _execute(command)
    guard(folders, command)


if __name__ == "__main__":
    main(sys.argv[1:])
