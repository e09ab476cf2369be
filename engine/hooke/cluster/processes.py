"""Finding and killing the processes of an attempt.

Hydra's proxy and every rank call setsid, so no process group contains an attempt. Its processes are identified by
HOOKE_ATTEMPT in their environment.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import psutil

from hooke.errors import LaunchError

PR_SET_CHILD_SUBREAPER = 36
_FAMILY = {"whole": False}
"""Whether all descendants of this process are of its attempts: of a supervisor those that have lost their parents
are children."""


def become_subreaper() -> None:
    """Become a child subreaper: a rank whose mpirun or proxy died becomes a child of this process, not of init.

    So does a process of users' code that has left its parents and its environment behind: `sweep` finds both.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise LaunchError(f"prctl(PR_SET_CHILD_SUBREAPER) failed: {os.strerror(ctypes.get_errno())}")
    _FAMILY["whole"] = True


def start_time(pid: int) -> int | None:
    """Return the start time of a living process in clock ticks since boot.

    With the pid it identifies the process.
    """
    fields = _stat(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def halted(pid: int) -> bool:
    """Return whether a signal (SIGSTOP, SIGTSTP) or a debugger has stopped a process: it does nothing now."""
    fields = _stat(pid)
    return fields is not None and fields[0] in "Tt"


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/<pid>/stat from the state on; None without such a process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()  # the name may hold anything


def lives(process: psutil.Process) -> bool:
    """Return whether it is still that process, and no zombie."""
    with suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def children(parent: int, name: str = "") -> list[psutil.Process]:
    """Return the living children of a process; with a `name`, those of that name."""
    found = []
    for pid in _child_ids(parent):
        with suppress(psutil.Error):
            child = psutil.Process(pid)
            if lives(child) and name in ("", child.name()):
                found.append(child)
    return found


def _child_ids(parent: int) -> list[int]:
    """Return the ids of the children of a process; the kernel's list of them, if it has one, takes least time."""
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{parent}/task").iterdir()]
    except OSError:
        with suppress(psutil.Error):
            return [child.pid for child in psutil.Process(parent).children()]
        return []
    return [int(pid) for of_thread in lists for pid in of_thread.split()]


def descendants(parent: int) -> set[int]:
    """Return the children of a process, their children, and so on."""
    with suppress(psutil.Error):
        return {each.pid for each in psutil.Process(parent).children(recursive=True)}
    return set()


def members(ids: Collection[str]) -> list[int]:
    """Return every living process whose HOOKE_ATTEMPT names one of these attempts."""
    wanted, found = set(ids), []
    for process in psutil.process_iter(["environ"]):
        named = (process.info["environ"] or {}).get("HOOKE_ATTEMPT", "")  # None: gone, or another user's
        if process.pid != os.getpid() and not wanted.isdisjoint(named.split(",")):
            found.append(process.pid)
    return found


def _family() -> list[int]:
    """Return the living descendants of this process, if it is the supervisor of a launch."""
    if not _FAMILY["whole"]:
        return []
    with suppress(psutil.Error):
        return [each.pid for each in psutil.Process().children(recursive=True) if lives(each)]
    return []


def stopped(ids: Collection[str]) -> list[str]:
    """Return a sentence for each process that starts ranks of these attempts and that a signal has stopped.

    These are mpirun, its daemons and guards; ranks themselves are left to the watchdog. A daemon that a launch
    agent has started has no HOOKE_ATTEMPT, but is the parent of guards that have.
    """
    found = {}
    for pid in members(ids):
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            starters = [process, process.parent()] if "HOOKE_RANK" not in process.environ() else []
            for each in starters:
                if each is not None and each.status() == psutil.STATUS_STOPPED:
                    found[each.pid] = f"{each.name()} (pid {each.pid}) is stopped by a signal"
    return [found[pid] for pid in sorted(found)]


def reap_orphans() -> None:
    """Wait for every child that has ended; call only when no child's status is needed any more."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def signal_all(pids: Collection[int], number: int) -> None:
    """Send a signal to each of these processes that still exists."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):  # it has ended; or it has become another account's
            os.kill(pid, number)


def sweep(ids: Collection[str], patience: float = 5.0, mercy: float = 1.0, *, family: bool = False) -> list[int]:
    """Kill all processes of these attempts until none is left; return those that remain after `patience` seconds.

    `family`: in a supervisor whose only descendants they are, also those that have left their environment behind.

    For the first `mercy` seconds it only waits, because guards may still be writing exit records after mpirun has
    ended. Two consecutive scans without a process are required, because a process may fork between being listed
    and being killed.
    """
    until = time.monotonic() + mercy
    while members(ids) and time.monotonic() < until:
        time.sleep(0.02)
    until = time.monotonic() + patience
    clean = 0
    while clean < 2:
        left = sorted({*members(ids), *(_family() if family else ())})
        clean = clean + 1 if not left else 0
        if left and time.monotonic() > until:
            return left
        signal_all(left, signal.SIGKILL)
        if left:
            time.sleep(0.02)
        reap_orphans()
    return []
