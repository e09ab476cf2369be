"""The output of a rank that runs several folders in turn, and the end of all ranks after an error of one."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path


def write_output_to(folder: Path) -> None:
    """From now on, append the output of this process to the folder's `rank.<rank>.log`.

    Does nothing unless a guard started the process (see `hooke.cluster.guard`, which names the rank).
    """
    rank = os.environ.get("HOOKE_RANK")
    if rank is None:
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    log = os.open(folder / f"rank.{rank}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.close(log)


def abort_all(status: int) -> None:
    """Abort all ranks: after an exception in one of them the others must not wait forever."""
    with contextlib.suppress(ImportError, AttributeError):
        if "mpi4py.MPI" in sys.modules:
            sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(status)


def end_at_once() -> None:
    """End this process with status 0: without a rank that is gone MPI cannot be finalized."""
    from hooke.comm.mpi.leaving import take_leave

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    take_leave()
    os._exit(0)
