"""Plays cases on 5, 4, ... 1 ranks of one mpirun, so that starting Python is paid once.

A case that fails on any rank ends the program there, because the ranks are no longer in step.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from hooke.comm.base import Comm
from mpi4py import MPI

SIZES = (5, 4, 3, 2, 1)
WORLD = MPI.COMM_WORLD

Play = Callable[[str, Callable[[Any], Any], Comm], list[Any]]


def first(size: int) -> MPI.Intracomm | None:
    """Return a communicator of the first ranks; None on the others."""
    part = WORLD.Split(0 if WORLD.Get_rank() < size else MPI.UNDEFINED, WORLD.Get_rank())
    return None if part == MPI.COMM_NULL else part


def play(world: MPI.Intracomm, name: str, run: Callable[[Any], Any], comm: Comm) -> list[Any]:
    """Run a case on every rank of `world`; return on rank 0 what each of them answered."""
    try:
        answer = run(comm)
    except BaseException:
        print(f"rank {comm.rank} of {comm.size} in {name}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        WORLD.Abort(7)
        raise
    return world.gather(answer) or []


def in_parts(body: Callable[[MPI.Intracomm], Any]) -> dict[int, Any]:
    """Return, on rank 0, what `body` returned for each number of ranks; the others sleep meanwhile."""
    found = {}
    for size in SIZES:
        part = first(size)
        if part is not None:
            found[size] = body(part)
            part.Free()
        done = WORLD.Ibarrier()
        while not done.Test():
            time.sleep(0.005)
    return found
