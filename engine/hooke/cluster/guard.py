"""The guard of one rank: small parent processes that record how it ended.

    python -m hooke.cluster.guard DIR [DIR...] -- command [argument...]
    python -m hooke.cluster.guard --tether PARENT -- command [argument...]

The first form starts `command`, appends its output to DIR/rank.<rank>.log of the first DIR, forwards SIGTERM,
SIGINT and SIGUSR1, waits, writes exit.<rank>.json (the fields of `hooke.spec.events.RankExit`) to every DIR and
ends like the command, with its status or signal. mpirun's own report is not reliable: it may name a wrong process
or report success. The earliest of these files is the cause of a failure. The second form replaces itself by
`command`, which receives SIGTERM when PARENT, the process that started it, dies.

A guard consists of two processes. mpirun knows the outer one and kills it with all others as soon as any rank
aborts, often before the guard of the rank that failed first has written its record. The record is therefore
written by the inner process, the witness, in a separate session. When the outer process is killed, the witness
kills the rank, and writes a record only if the rank had ended by itself. The rank dies with its witness, and the
rank's own children with the rank. The witness also removes what a killed rank leaves in shared memory.

Where a run may go on without a worker (`on_bad_worker: drop`), the outer process of one that a signal has killed
waits for the end of the others (`outliving.py`): mpirun would else end them.

This module uses only a few modules of the standard library: it runs once per rank, before torch and MPI are
imported.
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
"""Environment variables in which MPICH, PMIx, Open MPI and Slurm pass the rank."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
ORPHANED = signal.SIGUSR2
"""Signal that the kernel sends to the witness when the outer process dies. Sent to the outer process, it means
SIGTERM: Open MPI's mpirun passes SIGUSR2 on to its ranks, but kills them on SIGTERM."""
ENDING = (signal.SIGTERM, signal.SIGINT, ORPHANED)
"""Signals that ask for the end. SIGUSR1 asks for a checkpoint: nothing to a guard whose rank has ended."""
AWAITED = (*FORWARDED, ORPHANED, signal.SIGCHLD)
"""Signals that a guard receives synchronously; they are blocked at all other times. A Python handler would run
only after the wait, so a signal that arrives just before the wait would be handled late."""
PATIENCE = 120.0
"""Seconds from SIGTERM to SIGKILL of a rank. Ranks stop collectively and one of them may hang, and the process
that requested the end may have died."""
CANNOT_EXECUTE = 127
"""Exit status when the command could not be started, as in a shell."""
PR_SET_PDEATHSIG = 1
SEGMENTS = "HOOKE_SEGMENTS"
"""Environment variable of a rank: the file in which it notes the shared memory of its MPI library
(`hooke.comm.mpi.segments`)."""
_SEGMENT = "/dev/shm/mpich_"  # noqa: S108 - where Linux keeps shared memory, not a file of ours
_LONGEST_NOTE = 1 << 20
PF_EXITING = 0x4
"""Flag in /proc/<pid>/stat of a process that is exiting."""

_USAGE = "usage: python -m hooke.cluster.guard (DIR [DIR...] | --tether PARENT) -- command [argument...]"


def rank_of(environment: dict[str, str]) -> int:
    """Return the rank that the MPI launcher assigned to this process, or 0 if there is none."""
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
    if os.getppid() != parent:  # it died between fork and prctl: the kernel would send no signal
        os._exit(128 + number)


def _execute(command: list[str]) -> NoReturn:
    for number in (*FORWARDED, ORPHANED, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, which exec would inherit
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # a request for a checkpoint must not end a rank
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    try:
        os.execvp(command[0], command)  # noqa: S606 - without a shell is the point
    except OSError as error:
        sys.stderr.write(f"hooke.cluster.guard: cannot start {command[0]!r}: {error.strerror}\n")
        sys.stderr.flush()
        os._exit(CANNOT_EXECUTE)


def _child(command: list[str], parent: int, log: str) -> NoReturn:
    os.setsid()  # a separate group, so that its children can be killed with it
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
    """Forward signals until the child has ended; kill the rest of its group; return its wait status.

    `orphaned` (of a witness) is called when the outer process has died. A witness kills the rank PATIENCE seconds
    after it has forwarded SIGTERM.
    """
    until = float("inf")
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        number = _next_signal(until)
        if number in FORWARDED:
            os.kill(child, number)  # not yet waited for: its pid cannot have been reused
            if number == signal.SIGTERM and orphaned:
                until = min(until, time.monotonic() + PATIENCE)
        elif number == ORPHANED and orphaned:
            orphaned()
        elif number == ORPHANED:
            os.kill(child, signal.SIGTERM)
        elif number is None:
            sys.stderr.write(f"hooke.cluster.guard: not ended {PATIENCE:g} s after SIGTERM: SIGKILL\n")
            sys.stderr.flush()
            os.kill(child, signal.SIGKILL)
            until = float("inf")
    try:
        os.killpg(child, signal.SIGKILL)  # remaining children would keep mpirun's pipes open, and mpirun waiting
    except ProcessLookupError:
        return os.waitpid(child, 0)[1]  # it ended before it had a group
    return os.waitpid(child, 0)[1]


def _next_signal(until: float) -> int | None:
    """Return the next awaited signal, or None if none arrives before `until` (monotonic)."""
    if until == float("inf"):
        return signal.sigwait(AWAITED)
    found = signal.sigtimedwait(AWAITED, max(0.0, until - time.monotonic()))
    return found.si_signo if found else None


def memory_kills() -> int:
    """Return how many processes the kernel has killed on this host for lack of memory, in all and in cgroups."""
    try:
        with open("/proc/vmstat") as file:  # noqa: PTH123 - pathlib would cost half of this module's start-up
            lines = file.read().partition("\noom_kill ")[2]
    except OSError:
        return 0
    return int(lines.partition("\n")[0] or 0)


def exit_record(rank: int, child: int, code: int, kills: int = 0) -> str:
    """Return the JSON of a `hooke.spec.events.RankExit` at the current time. `code` < 0 is a signal."""
    record = {
        "rank": rank,
        "host": os.uname().nodename,
        "pid": child,
        "code": code if code >= 0 else None,
        "signal": -code if code < 0 else None,
        "monotonic": time.monotonic(),
        "memory_kills": kills if code == -signal.SIGKILL else 0,
    }
    return json.dumps(record)


def write_exit(folder: str, rank: int, record: str) -> None:
    """Write exit.<rank>.json to `folder` atomically, then sync it to disk."""
    path = f"{folder}/exit.{rank}.json"
    draft = f"{path}.{os.getpid()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    os.write(file, record.encode() + b"\n")
    os.rename(draft, path)  # noqa: PTH104 - pathlib would cost half of this module's start-up
    os.fsync(file)
    os.close(file)


def remove_segments(note: str) -> None:
    """Remove what the MPI library of a rank that has ended has left in shared memory, by the rank's note.

    Other ranks of the job that still use it keep it until they end.
    """
    try:
        file = os.open(note, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a named pipe keeps nobody waiting
        names = os.read(file, _LONGEST_NOTE).decode(errors="replace").split()
        os.close(file)
        os.unlink(note)  # noqa: PTH108 - pathlib would cost half of this module's start-up
    except OSError:
        return  # it has none, as without MPICH
    for name in names:
        if name.startswith(_SEGMENT) and "/" not in name[len(_SEGMENT) :]:
            try:
                os.unlink(name)  # noqa: PTH108 - likewise
            except (OSError, ValueError):
                continue  # MPI_Finalize has removed it, or the guard of another rank; or it is no name


def _end_alike(code: int) -> NoReturn:
    import resource

    if code >= 0:
        os._exit(code)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the guard's core dump would replace that of the rank
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])  # and no other signal, which may have arrived meanwhile
    os.kill(os.getpid(), -code)
    os._exit(128 - code)  # a signal whose default action does not kill


def _is_dying(pid: int) -> bool:
    """Return whether a child has died or is exiting: other ranks may notice before its parent does."""
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - pathlib would cost half of this module's start-up
        fields = file.read().rpartition(")")[2].split()
    state, flags = fields[0], int(fields[6])
    return state in "ZX" or bool(flags & PF_EXITING)


def _witness(folders: list[str], rank: int, command: list[str], outer: int) -> NoReturn:
    os.setsid()  # mpirun may kill the outer process's whole group
    log = f"{folders[0]}/rank.{rank}.log"
    witness = os.getpid()
    abandoned, kills = False, memory_kills()

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
    record = exit_record(rank, child, code, memory_kills() - kills)
    for folder in folders if not abandoned else ():
        try:
            write_exit(folder, rank, record)
        except OSError as error:  # a full disk must not hide how the rank ended
            sys.stderr.write(f"hooke.cluster.guard: rank {rank}: no exit record in {folder}: {error}\n")
    remove_segments(os.environ[SEGMENTS])
    sys.stderr.flush()
    _end_alike(code)


def guard(folders: list[str], command: list[str]) -> NoReturn:
    """Run `command` under a witness; never returns. See the module docstring."""
    rank = rank_of(dict(os.environ))
    os.environ["HOOKE_RANK"] = str(rank)
    os.environ[SEGMENTS] = f"{os.path.abspath(folders[0])}/segments.{rank}"  # noqa: PTH100 - see above
    outer = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler
    witness = os.fork()
    if witness == 0:
        _witness(folders, rank, command, outer)
    code = os.waitstatus_to_exitcode(_wait(witness))
    if code < 0:
        from hooke.cluster.outliving import outlive, tolerated

        if tolerated(folders, rank) and outlive(folders[0], rank, ENDING):
            code = 0
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
