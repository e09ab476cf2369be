"""The guard of one rank: small processes above it that witness how it ended.

    python -m hooke.cluster.guard DIR [DIR...] -- command [argument...]
    python -m hooke.cluster.guard --tether PARENT -- command [argument...]

The first form starts `command`, appends its output to DIR/rank.<rank>.log of the first DIR, passes SIGTERM,
SIGINT and SIGUSR1 on, waits, leaves exit.<rank>.json (the fields of `hooke.spec.events.RankExit`) in every DIR and
ends the way the command ended. mpirun cannot be believed about deaths: it names a wrong process, or reports
success; the earliest of these files is the cause. The second form becomes `command` itself, which gets SIGTERM
when PARENT, its starter, dies.

A guard is two processes. mpirun knows the outer one, and kills it with all others as soon as any rank aborts:
often because it noticed that its neighbour was gone before the neighbour's guard had put that on disk. So the
writing is done by the inner one, the witness, in a session of its own. When the outer one is killed, the witness
kills the rank; it leaves a record only of an end that came by itself. The rank dies with its witness, and the
rank's own children with the rank.

Standard library only, and little of it: this runs before torch and MPI are imported, once per rank.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
"""Where MPICH, PMIx, Open MPI and Slurm say which rank a process is."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
ORPHANED = signal.SIGUSR2
"""What the kernel sends the witness when the outer process dies."""
AWAITED = (*FORWARDED, ORPHANED, signal.SIGCHLD)
"""What a guard takes one by one, all of it blocked at all other times: a handler would only be noted by the
interpreter, and one that came just before it began to wait would be noted until something else happened."""
PATIENCE = 120.0
"""Seconds that a rank has after SIGTERM: it stops together with the others, and one of them may hang. Whoever
asked may be gone by then, and nobody else would ever end it."""
CANNOT_EXECUTE = 127
"""Exit status when the command could not be started, as in a shell."""
PR_SET_PDEATHSIG = 1
PF_EXITING = 0x4
"""Flag in /proc/<pid>/stat of a process that is on its way out."""

_USAGE = "usage: python -m hooke.cluster.guard (DIR [DIR...] | --tether PARENT) -- command [argument...]"


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
    for number in (*FORWARDED, ORPHANED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, and exec would inherit that
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a request for a checkpoint ends no rank
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    try:
        os.execvp(command[0], command)  # noqa: S606 - without a shell is the point
    except OSError as error:
        sys.stderr.write(f"hooke.cluster.guard: cannot start {command[0]!r}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(CANNOT_EXECUTE)


def _child(command: list[str], parent: int, log: str) -> NoReturn:
    os.setsid()  # a group of its own, so that its children can be ended with it
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    try:
        die_with_parent(signal.SIGKILL, parent)
    except OSError as error:
        sys.stderr.write(f"hooke.cluster.guard: {error}\n")
        os._exit(CANNOT_EXECUTE)
    _execute(command)


def _wait(child: int, orphaned: Callable[[], None] | None = None) -> int:
    """Pass signals on until the child has ended; end what is left of its group; return its wait status.

    `orphaned` is called when the kernel says that the outer process died; only a witness has it. A witness kills
    the rank PATIENCE seconds after it has passed SIGTERM on.
    """
    until = float("inf")
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        number = _next_signal(until)
        if number in FORWARDED:
            os.kill(child, number)  # not yet waited for: its number cannot have been given away
            if number == signal.SIGTERM and orphaned:
                until = min(until, time.monotonic() + PATIENCE)
        elif number == ORPHANED and orphaned:
            orphaned()
        elif number is None:
            sys.stderr.write(f"hooke.cluster.guard: not ended {PATIENCE:g} s after SIGTERM: SIGKILL\n")
            sys.stderr.flush()
            os.kill(child, signal.SIGKILL)
            until = float("inf")
    try:
        os.killpg(child, signal.SIGKILL)  # what it left: one that keeps mpirun's pipes open keeps mpirun waiting
    except ProcessLookupError:
        return os.waitpid(child, 0)[1]  # it ended before it had a group
    return os.waitpid(child, 0)[1]


def _next_signal(until: float) -> int | None:
    """Return the next awaited signal, or None where none has come before `until` (monotonic)."""
    if until == float("inf"):
        return signal.sigwait(AWAITED)
    found = signal.sigtimedwait(AWAITED, max(0.0, until - time.monotonic()))
    return found.si_signo if found else None


def exit_record(rank: int, child: int, code: int) -> str:
    """Return the JSON of a `hooke.spec.events.RankExit` that happens now. `code` < 0 is a signal."""
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
    """Leave exit.<rank>.json in `folder`, complete or not at all; seen by others at once, then put on disk."""
    path = f"{folder}/exit.{rank}.json"
    draft = f"{path}.{os.getpid()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    os.write(file, record.encode() + b"\n")
    os.rename(draft, path)  # noqa: PTH104 - pathlib would cost half of this module's start-up
    os.fsync(file)
    os.close(file)


def _end_alike(code: int) -> NoReturn:
    import resource

    if code >= 0:
        os._exit(code)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the rank may leave a core; the guard's would replace it
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])  # and no other, which may have come meanwhile
    os.kill(os.getpid(), -code)
    os._exit(128 - code)  # a signal whose default is not to kill


def _is_dying(pid: int) -> bool:
    """Return whether a child has died or is about to: its neighbours may see that before its parent does."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - pathlib would cost half of this module's start-up
        fields = file.read().rpartition(")")[2].split()
    state, flags = fields[0], int(fields[6])
    return state in "ZX" or bool(flags & PF_EXITING)


def _witness(folders: list[str], rank: int, command: list[str], outer: int) -> NoReturn:
    os.setsid()  # mpirun may kill the outer process's whole group
    log = f"{folders[0]}/rank.{rank}.log"
    witness = os.getpid()
    abandoned = False

    def orphaned() -> None:
        nonlocal abandoned
        if not _is_dying(child):
            abandoned = True
            os.kill(child, signal.SIGKILL)

    die_with_parent(ORPHANED, outer)
    child = os.fork()
    if child == 0:
        _child(command, witness, log)
    code = os.waitstatus_to_exitcode(_wait(child, orphaned))
    record = exit_record(rank, child, code)
    for folder in folders if not abandoned else ():
        try:
            write_exit(folder, rank, record)
        except OSError as error:  # a full disk must not hide how the rank ended
            sys.stderr.write(f"hooke.cluster.guard: rank {rank}: no exit record in {folder}: {error}\n")
    sys.stderr.flush()
    _end_alike(code)


def guard(folders: list[str], command: list[str]) -> NoReturn:
    """Run `command` under a witness; never returns. See the module's docstring."""
    rank = rank_of(dict(os.environ))
    os.environ["HOOKE_RANK"] = str(rank)
    outer = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler
    witness = os.fork()
    if witness == 0:
        _witness(folders, rank, command, outer)
    _end_alike(os.waitstatus_to_exitcode(_wait(witness)))


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
